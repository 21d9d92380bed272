"""The cheapest path of at most so many hops, by A*.

Hart, Nilsson and Raphael (1968), "A formal basis for the heuristic determination of minimum cost paths", over states
(node, hops): with a bound on hops the cheapest way to a node may be too long to go on from, so a dearer, shorter way to it
is kept beside it. A way is dropped only when another one to the same node is neither dearer nor longer.

What a step costs depends on the strategy; every step costs at least 0:

    shortest    1
    semantic    d(v)
    pheromone   0.4 d(v) + 0.3 / (1 + w) + 0.3

where `v` is the node that the step enters, `d(v)` in 0..1 is the semantic distance from `v` to the goal, and `w` is the
weight of the trails on `v` and on the edge.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Literal

import numpy as np

from am_server.memory.graph_csr import Adjacency, Floats, Ints
from am_server.memory.graph_walk import FAR, Path, hop_distances

Strategy = Literal["pheromone", "shortest", "semantic"]

SEMANTIC, TRAIL, HOP = 0.4, 0.3, 0.3
"""How much of a step's cost each part makes up with the strategy `pheromone`."""


@dataclass(frozen=True, slots=True)
class Costs:
    """What steps cost."""

    entering: Floats
    """float64[nodes]: the cost of a step by the node that it enters."""
    edges: Mapping[int, float]
    """By edge number: the cost of a step along an edge that costs something else, because a trail lies on it."""


def step_costs(
    strategy: Strategy,
    distance: Floats | None,
    node_trail: Floats,
    edge_trail: Mapping[int, tuple[int, float]],
) -> Costs:
    """The costs of a strategy.

    distance: float64[nodes] in 0..1, the semantic distance of each node to the goal; None for `shortest`. node_trail:
    float64[nodes], the weight of each node's trail. edge_trail: by edge number, the node that it leads to and its trail's weight.
    """
    if strategy == "shortest" or distance is None:
        return Costs(np.ones(len(node_trail)), {})
    if strategy == "semantic":
        return Costs(distance, {})
    fixed = SEMANTIC * distance + HOP
    edges = {edge: float(fixed[node] + TRAIL / (1 + node_trail[node] + weight)) for edge, (node, weight) in edge_trail.items()}
    return Costs(fixed + TRAIL / (1 + node_trail), edges)


def cheapest_path(forward: Adjacency, backward: Adjacency, start: int, goal: int, max_hops: int, costs: Costs) -> Path | None:
    """The path of least total cost among those of at most `max_hops` hops, or None when there is none.

    forward, backward: the graph along and against its edges.
    """
    if start == goal:
        return Path([start], [], 0.0)
    to_goal = hop_distances(backward, goal, max_hops, until=start)
    if to_goal[start] == FAR:
        return None
    return _search(forward, start, goal, max_hops, costs, *lower_bounds(to_goal, int(to_goal[start]), costs))


def lower_bounds(to_goal: Ints, levels: int, costs: Costs) -> tuple[Ints, Floats]:
    """The heuristic: for each node its level, and for each level a lower bound of what is left to pay.

    to_goal: int32[nodes], hops to the goal, known up to `levels`. A node's level is its distance, or `levels + 1` when that
    is larger. A path to the goal enters each level below its own, and the cheapest step into each is a bound for that part.
    A step lowers the level by at most 1, so the bound falls by at most the step's cost: the heuristic is consistent.
    """
    level = np.minimum(to_goal, levels + 1)
    cheapest = np.full(levels + 2, min(costs.edges.values(), default=np.inf))
    np.minimum.at(cheapest, level, costs.entering)
    return level, np.concatenate([[0.0], np.cumsum(cheapest[:-1])])


def _search(
    forward: Adjacency, start: int, goal: int, max_hops: int, costs: Costs, level_of: Ints, bounds: Floats
) -> Path | None:
    level, bound, entering, special = level_of.tolist(), bounds.tolist(), costs.entering.tolist(), costs.edges
    node, edge, begin = forward.node, forward.edge, forward.start
    nodes, paid, hops, before, by = [start], [0.0], [0], [-1], [-1]  # one entry for each way found, in all five
    fewest: dict[int, int] = {}  # hops of the last way to a node that was taken up; those after it are dearer
    cheapest: dict[int, tuple[float, int]] = {}  # the best way to a node that was put into the queue
    queue = [(bound[level[start]], level[start], 0)]
    while queue:
        way = heappop(queue)[2]
        here, steps = nodes[way], hops[way] + 1
        if here == goal:
            return _retrace(way, nodes, before, by, paid[way])
        if fewest.get(here, FAR) < steps:
            continue
        fewest[here] = steps - 1
        entries = slice(begin[here], begin[here + 1])
        for there, number in zip(node[entries].tolist(), edge[entries].tolist(), strict=True):
            if level[there] > max_hops - steps or fewest.get(there, FAR) <= steps:
                continue
            total = paid[way] + (special.get(number, entering[there]) if special else entering[there])
            known = cheapest.get(there)
            if known is None or total < known[0]:
                cheapest[there] = (total, steps)
            elif known[1] <= steps:
                continue
            heappush(queue, (total + bound[level[there]], level[there], len(nodes)))
            nodes.append(there)
            paid.append(total)
            hops.append(steps)
            before.append(way)
            by.append(number)
    return None


def _retrace(way: int, nodes: list[int], before: list[int], by: list[int], cost: float) -> Path:
    path, edges = [nodes[way]], []
    while before[way] >= 0:
        edges.append(by[way])
        way = before[way]
        path.append(nodes[way])
    return Path(path[::-1], edges[::-1], cost)
