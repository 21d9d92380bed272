"""One ranking out of several."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

RRF_K = 60

Scores = NDArray[np.float32]


def over_maximum(scores: Scores) -> Scores:
    """Scores divided by the largest, so that the best is 1; all zeros stay zeros."""
    best = scores.max(initial=0)
    return scores / best if best > 0 else scores


def above_mean(cosines: Scores, among: NDArray[np.bool_]) -> Scores:
    """max(0, (cos - mean) / (max - mean)) over the episodes in `among`; 0 for the others.

    Cosines of dense vectors crowd together far from zero; what counts is how much an episode stands out.
    """
    out = np.zeros_like(cosines)
    values = cosines[among]
    if len(values):
        mean = values.mean()
        spread = values.max() - mean
        if spread > 1e-6:
            out[among] = np.maximum(0, (values - mean) / spread)
    return out


def ranks(scores: Scores) -> NDArray[np.int32]:
    """int32[n]: 1 for the best, earlier places first among equals; 0 for scores of zero and less, which are no match."""
    found = np.flatnonzero(scores > 0)
    order = found[np.argsort(-scores[found], kind="stable")]
    out = np.zeros(len(scores), np.int32)
    out[order] = np.arange(1, len(order) + 1)
    return out


def reciprocal_ranks(legs: Sequence[Scores]) -> Scores:
    """Sum of 1 / (k + rank) over the legs that found an episode (Cormack, Clarke and Büttcher, SIGIR 2009)."""
    total = np.zeros(len(legs[0]), np.float32)
    for leg in legs:
        rank = ranks(leg)
        total += np.where(rank > 0, np.float32(1) / (RRF_K + rank), 0).astype(np.float32)
    return total
