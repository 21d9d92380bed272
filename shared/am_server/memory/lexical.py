"""Scoring by words: saturated term weights over the index, with what an episode's surroundings say about it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from am_server.memory.index import Entries, Index
from am_server.memory.postings import META

K1 = 0.9
"""Saturation of a term's weight."""
B, LENGTH_FLOOR = 0.75, 30
"""Length normalisation, felt by texts of more than LENGTH_FLOOR content tokens (about 60 words) only; how long a short
turn is says nothing."""
BEFORE, AFTER = 0.5, 0.3
"""How much of its neighbours' words an episode counts: of the one before it in the session, and of the one after."""

Scores = NDArray[np.float32]


def idf(holding: NDArray[np.float64] | float, total: int) -> NDArray[np.float64]:
    """ln(1 + (N - df + .5) / (df + .5)): how rare a term is (Robertson and Spärck Jones, in the form Lucene uses)."""
    df = np.asarray(holding, np.float64)
    return np.log(1 + (total - df + 0.5) / (df + 0.5))


def saturate(frequency: Scores) -> Scores:
    """tf (k1 + 1) / (tf + k1) (Robertson et al., Okapi at TREC-3)."""
    return frequency * np.float32(K1 + 1) / (frequency + np.float32(K1))


def length_norm(length: NDArray[np.uint16]) -> Scores:
    """1 - b + b · max(length, floor) / floor, the divisor of a term's frequency (BM25F: Zaragoza et al., TREC-13)."""
    return (1 - B + B * np.maximum(length, LENGTH_FLOOR) / LENGTH_FLOOR).astype(np.float32)


class Scorer:
    """Adds up term scores over the episodes of an index."""

    def __init__(self, index: Index) -> None:
        n = index.count
        self._index = index
        self.scores: Scores = np.zeros(n, np.float32)
        # one place more than there are episodes: links to nobody end there
        self._frequency = np.zeros(n + 1, np.float32)
        self._total = index.living
        lengths = index.columns.length
        self._norm = length_norm(lengths) if n and lengths.max() > LENGTH_FLOOR else None

    def rarity(self, entries: Sequence[Entries]) -> NDArray[np.float64]:
        """float64[len(entries)]: the idf of each term."""
        return idf(np.array([len(numbers) for numbers, _ in entries], np.float64), self._total)

    def add(self, entries: Sequence[Entries], weights: NDArray[np.float64]) -> None:
        """Add weight times saturated frequency for each term; `weights` float64[len(entries)], its idf included."""
        for (numbers, counts), weight in zip(entries, weights.tolist(), strict=True):
            if len(numbers):
                self._add_term(numbers, counts, weight)

    def _add_term(self, numbers: NDArray[np.int64], counts: NDArray[np.uint8], weight: float) -> None:
        """Frequency in the text, in the metadata, and in the neighbours; then saturation over their sum."""
        n, frequency = len(self.scores), self._frequency
        own = (counts & np.uint8(META - 1)).astype(np.float32)
        if self._norm is not None:
            own /= self._norm[numbers]
        after = np.minimum(self._index.following[numbers], n)
        before = np.minimum(self._index.previous[numbers], n)
        frequency[numbers] += own + (counts >= META)
        frequency[after] += np.float32(BEFORE) * own
        frequency[before] += np.float32(AFTER) * own
        frequency[n] = 0
        touched = np.concatenate([numbers, after, before])
        touched = touched[touched < n]
        self.scores[touched] = self.scores[touched] + np.float32(weight) * saturate(frequency[touched])
        frequency[touched] = 0
