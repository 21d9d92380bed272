"""Scoring by meaning: one vector an episode, kept as bytes, and compared with a query in the episode's surroundings."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from am_server.memory.index import Index
from am_server.memory.postings import META, words_of
from am_server.memory.wordtable import WordTable, unit

POOLED_CONTEXT = (0.5, 0.3)
ENCODED_CONTEXT = (0.3, 0.3)
"""How much of its neighbours' vectors an episode counts: of the one before it in the session, and of the one after."""

_ROWS = 256
"""Bytes are turned into floats this many rows at a time, which stay in the processor's cache."""

Floats = NDArray[np.float32]
Numbers = NDArray[np.int64]


def quantise(vectors: Floats) -> tuple[NDArray[np.int8], Floats]:
    """int8[n, d] and float32[n]: vectors as bytes, each row with its own scale."""
    scales = np.abs(vectors).max(axis=1, initial=0) / np.float32(127)
    safe = np.where(scales > 0, scales, 1)
    return np.rint(vectors / safe[:, None]).astype(np.int8), scales.astype(np.float32)


class Vectors:
    """The vectors of one index under one model, by the numbers of its episodes. Not safe under threads, as the index.

    `context` is POOLED_CONTEXT for vectors of `pooled`, ENCODED_CONTEXT for those of a sentence encoder.
    """

    def __init__(self, index: Index, dimension: int, context: tuple[float, float]) -> None:
        self._index, self.dimension = index, dimension
        self._before, self._after = (np.float32(part) for part in context)
        self._rows = np.zeros((0, dimension), np.int8)
        self._scales = np.zeros(0, np.float32)
        """NaN where there is no vector."""
        self._lengths = np.zeros(0, np.float32)
        """Of each vector with its surroundings; NaN until computed."""

    @property
    def nbytes(self) -> int:
        """Bytes in memory."""
        return self._rows.nbytes + self._scales.nbytes + self._lengths.nbytes

    def put(self, numbers: Numbers, vectors: Floats) -> None:
        """Vectors for these episodes, float32[len(numbers), dimension], of unit length."""
        self.put_quantised(numbers, *quantise(vectors))

    def put_quantised(self, numbers: Numbers, rows: NDArray[np.int8], scales: Floats) -> None:
        """Vectors for these episodes as `quantise` makes them."""
        if not len(numbers):
            return
        self._grow()
        self._rows[numbers], self._scales[numbers] = rows, scales
        links = np.concatenate([self._index.previous[numbers], self._index.following[numbers]])
        self._lengths[numbers] = np.nan
        self._lengths[links[links < self._index.count]] = np.nan

    def get_quantised(self, numbers: Numbers) -> tuple[NDArray[np.int8], Floats]:
        """The vectors of these episodes as `quantise` made them; every one must be present."""
        return self._rows[numbers], self._scales[numbers]

    def present(self) -> NDArray[np.bool_]:
        """bool[index.count]: which episodes have a vector."""
        self._grow()
        return ~np.isnan(self._scales[: self._index.count])

    def missing(self) -> Numbers:
        """The numbers of living episodes without a vector."""
        return np.flatnonzero(self._index.alive & ~self.present())

    def coverage(self) -> float:
        """The share of living episodes that have a vector; 1 when there is none."""
        living = self._index.living
        return 1 - len(self.missing()) / living if living else 1.0

    def cosines(self, query: Floats) -> Floats:
        """float32[index.count]: of the query (float32[dimension], unit length) with each episode in its surroundings.

        0 for an episode without a vector of its own.
        """
        self._grow()
        self._measure()
        count = self._index.count
        dots = np.zeros(count + 1, np.float32)
        buffer = np.empty((_ROWS, self.dimension), np.float32)
        for start in range(0, count, _ROWS):
            rows = self._rows[start : min(start + _ROWS, count)]
            np.copyto(buffer[: len(rows)], rows)
            np.dot(buffer[: len(rows)], query, out=dots[start : start + len(rows)])
        dots[:count] *= np.nan_to_num(self._scales[:count])
        before, after = (np.minimum(link, count) for link in (self._index.previous, self._index.following))
        with_context = dots[:count] + self._before * dots[before] + self._after * dots[after]
        return np.asarray(np.nan_to_num(with_context / self._lengths[:count]), np.float32)

    def _measure(self) -> None:
        """Fill in the lengths that are unknown, or outdated because an episode has new neighbours."""
        self._lengths[self._index.take_relinked()] = np.nan
        count = self._index.count
        unknown = np.flatnonzero(np.isnan(self._lengths[:count]) & ~np.isnan(self._scales[:count]))
        for start in range(0, len(unknown), _ROWS):
            numbers = unknown[start : start + _ROWS]
            summed = self._floats(numbers)
            summed += self._before * self._floats(self._index.previous[numbers])
            summed += self._after * self._floats(self._index.following[numbers])
            self._lengths[numbers] = np.maximum(np.linalg.norm(summed, axis=1), np.float32(1e-6))

    def _floats(self, numbers: NDArray[np.integer]) -> Floats:
        """float32[len(numbers), dimension]; zeros where there is no vector or no such episode."""
        some = numbers < self._index.count
        at = np.where(some, numbers, 0)
        scales = np.where(some, np.nan_to_num(self._scales[at]), 0).astype(np.float32)
        rows: Floats = self._rows[at].astype(np.float32)
        return rows * scales[:, None]

    def _grow(self) -> None:
        have, size = len(self._scales), self._index.count
        if size > have:
            more = size - have if not have else max(size - have, 64, have // 16)
            nan = np.full(more, np.nan, np.float32)
            self._rows = np.concatenate([self._rows, np.zeros((more, self.dimension), np.int8)])
            self._scales, self._lengths = np.concatenate([self._scales, nan]), np.concatenate([self._lengths, nan])


def pooled(index: Index, first: int, last: int, table: WordTable) -> Floats:
    """float32[last - first, d]: what `wordtable.pool` makes of these episodes' texts, read off the inverted lists.

    No text is needed, and the cost is some 20 µs an episode.
    """
    out = np.zeros((last - first, table.dimension), np.float32)
    for part in index.parts:
        lo, hi = max(first, part.start), min(last, part.start + part.count)
        if lo < hi:
            postings = part.postings
            ordinals = postings.ordinals + np.int64(part.start)
            within = (ordinals >= lo) & (ordinals < hi) & ((postings.counts & np.uint8(META - 1)) > 0)
            terms, numbers = postings.term_of_entries()[within], ordinals[within]
            used, place = np.unique(terms, return_inverse=True)
            spelled = words_of(postings)
            vectors = table.vectors([spelled[term] for term in used.tolist()])
            order = np.argsort(numbers, kind="stable")
            _add_rows(out, numbers[order] - first, vectors, place[order])
    return unit(out)


def _add_rows(out: Floats, targets: Numbers, vectors: Floats, chosen: NDArray[np.int64]) -> None:
    """Add vectors[chosen[i]] to out[targets[i]]; targets rise.

    All first rows of the targets at once, then all second ones and so on: an addition may name a target only once.
    """
    starts = np.flatnonzero(np.diff(targets, prepend=-1))
    sizes = np.diff(starts, append=len(targets))
    turn = np.arange(len(targets)) - np.repeat(starts, sizes)
    order = np.argsort(turn, kind="stable")
    bounds = np.concatenate([[0], np.cumsum(np.bincount(turn))])
    for lo, hi in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        entries = order[lo:hi]
        out[targets[entries]] += vectors[chosen[entries]]
