"""A table of vectors for pieces of words, and what it says about index terms and texts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from am_server.memory.tokens import content_terms, stems

MAX_PIECES = 6
"""A word of more pieces is a rare name or no word; the mean of its pieces says nothing about it."""

_ROWS = 256
"""Bytes are turned into floats this many rows at a time, which stay in the processor's cache."""

Floats = NDArray[np.float32]


class WordTable:
    """Vectors of index terms: the mean of the words that have this stem, or of the pieces a rarer word is made of.

    A term's vector depends on the term alone, so an episode's vector is the same whenever and wherever it is made.
    The table is given in half precision, which numpy is slow to compute with; rows are kept as bytes with one scale
    each, converted when first asked for. Safe under threads: converting a row twice gives the same bytes.
    """

    def __init__(
        self, table: NDArray[np.float16], lexicon: Mapping[str, Sequence[int]], split: Callable[[Sequence[str]], list[list[int]]]
    ) -> None:
        self._table, self._split = table, split
        self.lexicon = lexicon
        """The rows of the words that have each stem; stems of commoner words first."""
        self.size, self.dimension = table.shape
        self._rows = np.empty(table.shape, np.int8)
        self._scales = np.zeros(self.size, np.float32)

    def rows(self, pieces: NDArray[np.integer[Any]]) -> Floats:
        """float32[len(pieces), dimension]."""
        self._convert(pieces)
        rows: Floats = self._rows[pieces].astype(np.float32)
        rows *= self._scales[pieces][:, None]
        return rows

    def dots(self, vectors: Floats, pieces: NDArray[np.integer[Any]]) -> Floats:
        """float32[len(vectors), len(pieces)]: each vector (float32[m, dimension]) with each of these rows."""
        self._convert(pieces)
        out = np.empty((len(pieces), len(vectors)), np.float32)
        buffer = np.empty((_ROWS, self.dimension), np.float32)
        columns = np.ascontiguousarray(vectors.T)
        for start in range(0, len(pieces), _ROWS):
            chosen = pieces[start : start + _ROWS]
            np.copyto(buffer[: len(chosen)], self._rows[chosen])
            np.dot(buffer[: len(chosen)], columns, out=out[start : start + _ROWS])
        return np.ascontiguousarray((out * self._scales[pieces][:, None]).T)

    def pieces(self, terms: Sequence[str]) -> NDArray[np.int32]:
        """int32[len(terms), MAX_PIECES]: the rows whose mean is the term's vector, then -1; all -1 for no plain word."""
        out = np.full((len(terms), MAX_PIECES), -1, np.int32)
        rare = []
        for i, term in enumerate(terms):
            known = self.lexicon.get(term)
            if known:
                out[i, : len(known[:MAX_PIECES])] = known[:MAX_PIECES]
            elif term.isascii() and term.isalpha():
                rare.append(i)
        spellings = [spelling for i in rare for spelling in _spellings(terms[i])]
        split = self._split(spellings) if spellings else []
        for i, first, second in zip(rare, split[::2], split[1::2], strict=True):
            ids = min(first, second, key=len)
            if len(ids) <= MAX_PIECES:
                out[i, : len(ids)] = ids
        return out

    def vectors(self, terms: Sequence[str]) -> Floats:
        """float32[len(terms), dimension]: not normalised; zeros for what is no plain word."""
        return self.means(self.pieces(terms))

    def means(self, pieces: NDArray[np.int32]) -> Floats:
        """float32[n, dimension]: the mean of each row of `pieces`, without its -1."""
        total = np.zeros((len(pieces), self.dimension), np.float32)
        for column in pieces.T:
            known = column >= 0
            total[known] += self.rows(column[known])
        total /= np.maximum((pieces >= 0).sum(axis=1, keepdims=True), 1).astype(np.float32)
        return total

    def _convert(self, pieces: NDArray[np.integer[Any]]) -> None:
        missing = np.unique(pieces[self._scales[pieces] == 0])
        if len(missing):
            exact = self._table[missing].astype(np.float32)
            scales = np.maximum(np.abs(exact).max(axis=1), np.float32(1e-6)) / np.float32(127)
            self._rows[missing] = np.rint(exact / scales[:, None])
            self._scales[missing] = scales


def lexicon_of(vocabulary: Mapping[str, int]) -> dict[str, list[int]]:
    """The rows of whole words by their stems, commoner words first; for a vocabulary that marks word starts with ▁."""
    lower = {piece[1:]: row for piece, row in vocabulary.items() if re.fullmatch("▁[a-z]{2,}", piece)}
    upper = {piece[1:].lower(): row for piece, row in vocabulary.items() if re.fullmatch("▁[A-Z][a-z]+", piece)}
    words = sorted((upper | lower).items(), key=lambda item: item[1])  # rows follow how common a piece is
    lexicon: dict[str, list[int]] = {}
    for stem, (_, row) in zip(stems(word for word, _ in words), words, strict=True):
        lexicon.setdefault(stem, []).append(row)
    return lexicon


def pool(texts: Iterable[str], table: WordTable) -> Floats:
    """float32[n, dimension]: the mean of a text's distinct content terms (WordLlama's pooling), at unit length."""
    read = [content_terms(text) for text in texts]
    places: dict[str, int] = {}
    numbers = [[places.setdefault(term, len(places)) for term in terms] for terms in read]
    vectors = table.vectors(list(places))
    sums = [vectors[chosen].sum(axis=0) if chosen else np.zeros(table.dimension) for chosen in numbers]
    return unit(np.array(sums, np.float32).reshape(-1, table.dimension))


def unit(vectors: Floats) -> Floats:
    """Each row at length 1; zeros stay zeros."""
    norms = np.linalg.norm(vectors, axis=-1, keepdims=True)
    scaled: Floats = vectors / np.maximum(norms, np.float32(1e-12))
    return scaled.astype(np.float32)


def _spellings(stem: str) -> tuple[str, str]:
    """Two words a stem may come from: potteri is pottery; danc is dance."""
    return stem, stem[:-1] + "y" if stem.endswith("i") else stem + "e"
