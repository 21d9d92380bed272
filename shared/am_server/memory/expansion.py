"""Widening a query: index terms that mean nearly what a word of the query means."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from am_server.memory.index import Index
from am_server.memory.postings import Postings, words_of
from am_server.memory.wordtable import MAX_PIECES, WordTable, unit

NEAREST = 10
MIN_COSINE = 0.35


class Vocabulary:
    """The words of one index as pieces of one word table: 24 bytes a word instead of a vector."""

    def __init__(self, table: WordTable) -> None:
        self.table = table
        self.hashes = np.zeros(0, np.uint64)
        """uint64[V], rising."""
        self._pieces = np.zeros((0, MAX_PIECES), np.uint16)
        """uint16[V, MAX_PIECES]: positions in `_used`, and its length where there is no piece."""
        self._norms = np.zeros(0, np.float32)
        self._used = np.zeros(0, np.int32)
        self._read: set[int] = set()

    @property
    def nbytes(self) -> int:
        """Bytes in memory."""
        return self.hashes.nbytes + self._pieces.nbytes + self._norms.nbytes + self._used.nbytes

    def update(self, index: Index) -> None:
        """Take in the words of parts not seen yet."""
        for part in index.parts:
            if part.serial not in self._read:
                self._take_in(part.postings)
        self._read = {part.serial for part in index.parts}

    def nearest(self, terms: Sequence[str]) -> list[tuple[NDArray[np.uint64], NDArray[np.float32]]]:
        """For each term the hashes and cosines of at most NEAREST others with a cosine of at least MIN_COSINE."""
        nothing = (np.zeros(0, np.uint64), np.zeros(0, np.float32))
        if not len(self.hashes) or not terms:
            return [nothing for _ in terms]
        wanted = unit(self.table.vectors(terms))
        by_piece = self.table.dots(wanted, self._used)
        cosines = by_piece[:, self._pieces[:, 0]]
        for pieces in self._pieces.T[1:]:
            having = np.flatnonzero(pieces < len(self._used))
            cosines[:, having] += by_piece[:, pieces[having]]
        cosines /= self._norms
        return [self._best(row) for row in cosines]

    def _best(self, cosines: NDArray[np.float32]) -> tuple[NDArray[np.uint64], NDArray[np.float32]]:
        near = np.flatnonzero(cosines >= MIN_COSINE)
        if len(near) > NEAREST + 1:  # the word itself is usually among them
            near = near[np.argpartition(-cosines[near], NEAREST)[: NEAREST + 1]]
        near = near[np.argsort(-cosines[near], kind="stable")]
        return self.hashes[near], cosines[near]

    def _take_in(self, postings: Postings) -> None:
        fresh = np.ones(len(postings.hashes), np.bool_)
        if len(self.hashes):
            at = np.searchsorted(self.hashes, postings.hashes) % len(self.hashes)
            fresh = self.hashes[at] != postings.hashes
        spelled = words_of(postings)
        new = [i for i in np.flatnonzero(fresh).tolist() if spelled[i]]
        pieces = self.table.pieces([spelled[i] for i in new])
        known = pieces[:, 0] >= 0
        pieces, hashes = pieces[known], postings.hashes[np.array(new, np.int64)[known]]
        norms = np.linalg.norm(self.table.means(pieces), axis=1) * (pieces >= 0).sum(axis=1)
        old = np.append(self._used, np.int32(-1))[self._pieces]
        self._used = np.union1d(self._used, pieces[pieces >= 0]).astype(np.int32)
        place = np.full(self.table.size + 1, len(self._used), np.uint16)
        place[self._used] = np.arange(len(self._used))
        order = np.argsort(np.concatenate([self.hashes, hashes]))
        self.hashes = np.concatenate([self.hashes, hashes])[order]
        self._pieces = place[np.concatenate([old, pieces])][order]
        self._norms = np.concatenate([self._norms, np.maximum(norms, np.float32(1e-6))])[order].astype(np.float32)


@dataclass(frozen=True, slots=True)
class Near:
    """A term that means nearly what a word of the query means."""

    term: int
    """Its hash."""
    cosine: float
    word: int
    """Which of the words."""


def widen(vocabulary: Vocabulary, terms: Sequence[str], asked: NDArray[np.uint64]) -> list[Near]:
    """The terms near these; none that is asked for already."""
    known = set(asked.tolist())
    return [
        Near(term, cosine, word)
        for word, (hashes, cosines) in enumerate(vocabulary.nearest(terms))
        for term, cosine in zip(hashes.tolist(), cosines.tolist(), strict=True)
        if term not in known
    ]
