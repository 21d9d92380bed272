"""The dense side of an agent's episodes: a vocabulary that widens queries, and a vector for each episode.

Vectors of the built-in word table are pooled from the index itself, in memory, 20 µs an episode: they are never stored.
Those of a sentence encoder cost time or money, so they are computed when somebody searches, a bounded number a search,
those that the search needs first, and kept in the object store (`vectors.py`).
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from am_server.embed.port import Embedder, EmbedderUnavailable
from am_server.errors import AmError
from am_server.memory.dense import ENCODED_CONTEXT, POOLED_CONTEXT, Vectors, pooled, quantise
from am_server.memory.expansion import Vocabulary
from am_server.memory.index import Index
from am_server.memory.recall import candidates
from am_server.memory.tokens import tokens
from am_server.memory.wordtable import WordTable
from am_server.views.vectors import Embedded, VectorCache

EMBED_AT_MOST = 64
"""Episodes that one search embeds."""

QUIET_SECONDS = 15
"""How long an embedder that failed is left alone: searches are lexical meanwhile, and do not wait for it."""

Floats = NDArray[np.float32]
ReadTexts = Callable[[Sequence[bytes]], Sequence[str | None]]


class Pooled:
    """Meaning by the word table alone. Whoever holds the index's lock may call."""

    def __init__(self, index: Index, table: WordTable) -> None:
        self._index = index
        self._pooled = 0
        self.vocabulary = Vocabulary(table)
        self.vectors = Vectors(index, table.dimension, POOLED_CONTEXT)

    def catch_up(self) -> None:
        """Take in the episodes that were added since."""
        self.vocabulary.update(self._index)
        first, last = self._pooled, self._index.count
        if first < last:
            self.vectors.put(np.arange(first, last), pooled(self._index, first, last, self.vocabulary.table))
            self._pooled = last

    @property
    def size(self) -> int:
        """Bytes in memory."""
        return self.vocabulary.nbytes + self.vectors.nbytes


class Encoded:
    """Meaning by a sentence encoder; the word table, where there is one, still widens queries."""

    def __init__(
        self, index: Index, lock: AbstractContextManager[Any], embedder: Embedder, cache: VectorCache, texts: ReadTexts
    ) -> None:
        """`lock` is the index's; `texts` reads episodes by their ids."""
        self._index = index
        self._lock = lock
        self._embedder = embedder
        self._cache = cache
        self._texts = texts
        self._busy = Lock()
        self._quiet_until = 0.0
        table = embedder.table
        self.vocabulary = None if table is None else Vocabulary(table)
        self.vectors = Vectors(index, embedder.dimension, ENCODED_CONTEXT)

    def prepare(self, query: str) -> Floats:
        """The query's vector, float32[d]; on the way the episodes that matter most to it are embedded, if they are not yet.

        Call it without the lock. Raises EmbedderUnavailable, for a while without asking the provider again.
        """
        if time.monotonic() < self._quiet_until:
            raise EmbedderUnavailable("the embedder did not answer a moment ago")
        try:
            return self._embed(query)
        except EmbedderUnavailable:
            self._quiet_until = time.monotonic() + QUIET_SECONDS
            raise

    @property
    def size(self) -> int:
        """Bytes in memory."""
        return self.vectors.nbytes + (self.vocabulary.nbytes if self.vocabulary else 0)

    def _embed(self, query: str) -> Floats:
        with self._lock:
            if self.vocabulary:
                self.vocabulary.update(self._index)
            asked, missing = without_names(query, self._index), len(self.vectors.missing()) > 0
            if not self._index.living:
                return np.zeros(self._embedder.dimension, np.float32)
        if not missing or not self._busy.acquire(blocking=False):
            return self._embedder.embed([asked]).reshape(
                -1
            )  # another thread is embedding; what is there is enough for this search
        try:
            self._take_in(self._cache.unseen())
            texts = self._wanted(query)
            vectors = self._embedder.embed([asked, *texts.values()])
            if texts:
                self._keep(list(texts), vectors[1:])
            return vectors[:1].reshape(-1)
        finally:
            self._busy.release()

    def _wanted(self, query: str) -> dict[bytes, str]:
        """Texts to embed by id: the best by words, then the newest."""
        with self._lock:
            missing = self.vectors.missing()
            best = candidates(self._index, query, 4 * EMBED_AT_MOST, self.vocabulary)
            first = best[np.isin(best, missing)]
            rest = missing[~np.isin(missing, first)][::-1]
            ids = [self._index.id_of(number) for number in np.concatenate([first, rest])[:EMBED_AT_MOST].tolist()]
        return {id: text for id, text in zip(ids, self._texts(ids), strict=True) if text is not None}

    def _keep(self, ids: Sequence[bytes], vectors: Floats) -> None:
        rows, scales = quantise(vectors)
        fresh = Embedded(np.frombuffer(b"".join(ids), np.uint8).reshape(-1, 16), rows, scales)
        self._take_in([fresh])
        try:
            self._cache.add(fresh, self._alive)
        except AmError as problem:  # they serve this instance, and the next one computes them again
            logging.getLogger("am_server").warning("embeddings were not stored: %s", type(problem).__name__)

    def _take_in(self, segments: Sequence[Embedded]) -> None:
        with self._lock:
            for segment in segments:
                numbers = self._index.find([row.tobytes() for row in segment.ids])
                here = numbers >= 0
                self.vectors.put_quantised(numbers[here], segment.rows[here], segment.scales[here])

    def _alive(self, ids: NDArray[np.uint8]) -> NDArray[np.bool_]:
        with self._lock:
            return self._index.find([row.tobytes() for row in ids]) >= 0


def without_names(query: str, index: Index) -> str:
    """A query without the words that name a speaker, which mislead an encoder; the query itself when nothing else is in it."""
    names = index.speakers_by_term().keys()
    words = [word for word in query.split() if not names & set(tokens(word))]
    return " ".join(words) or query
