"""A directed multigraph as arrays.

Nodes and edges are numbers from 0. An adjacency is the usual compressed sparse row form: the entries of node `v` are the
slice `start[v]:start[v + 1]` of `node` and `edge`. Heavier edges come first, so that an answer that is cut keeps them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int32]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Adjacency:
    """Which node each node leads to, and by which edge."""

    start: Ints
    """int32[nodes + 1]"""
    node: Ints
    """int32[entries]: the node at the other end."""
    edge: Ints
    """int32[entries]: the number of the edge."""

    @property
    def nodes(self) -> int:
        """How many nodes there are."""
        return len(self.start) - 1

    def entries(self, nodes: Ints) -> Ints:
        """The positions of all entries of these nodes, in the order of the nodes."""
        first = self.start[nodes]
        counts = self.start[nodes + 1] - first
        ends = np.cumsum(counts, dtype=np.int32)
        shifts = np.repeat(first - (ends - counts), counts)
        return np.add(shifts, np.arange(len(shifts)), dtype=np.int32)


def adjacency(nodes: int, begin: Ints, end: Ints, weight: Floats) -> Adjacency:
    """The adjacency of edges that lead from `begin[e]` to `end[e]`; int32[edges] each, weight float64[edges]."""
    if len(weight) and weight.min() != weight.max():
        heavy = np.argsort(-weight, kind="stable").astype(np.int32)
        order = heavy[np.argsort(begin[heavy], kind="stable")]
    else:
        order = np.argsort(begin, kind="stable").astype(np.int32)
    return Adjacency(_starts(nodes, begin), end[order], order.astype(np.int32))


def both_ways(nodes: int, source: Ints, target: Ints, weight: Floats) -> Adjacency:
    """The adjacency that ignores direction; a self-loop is one entry of its node."""
    back = np.flatnonzero(source != target).astype(np.int32)
    begin, end = np.concatenate([source, target[back]]), np.concatenate([target, source[back]])
    edge = np.concatenate([np.arange(len(source), dtype=np.int32), back])
    made = adjacency(nodes, begin, end, weight[edge])
    return Adjacency(made.start, made.node, edge[made.edge])


class FirstTime:
    """Remembers which numbers it has seen."""

    def __init__(self, size: int) -> None:
        self._seen = np.zeros(size, np.bool_)
        self._first = np.empty(size, np.int64)

    def __call__(self, numbers: Ints) -> NDArray[np.int64]:
        """The positions, in order, at which a number stands that was never seen before; each number counts once."""
        places = np.flatnonzero(~self._seen[numbers])
        fresh = numbers[places]
        self._first[fresh[::-1]] = places[::-1]  # of equal numbers the last assignment stays: the first place
        places = places[np.equal(self._first[fresh], places)]
        self._seen[numbers[places]] = True
        return places


def _starts(nodes: int, begin: Ints) -> Ints:
    start = np.zeros(nodes + 1, np.int32)
    np.cumsum(np.bincount(begin, minlength=nodes), out=start[1:])
    return start
