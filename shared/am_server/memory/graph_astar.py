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

from heapq import heappop, heappush
from typing import Literal

import numpy as np

from am_server.memory.graph_csr import Adjacency, Floats, Ints
from am_server.memory.graph_walk import FAR, Path, hop_distances

Strategy = Literal["pheromone", "shortest", "semantic"]

SEMANTIC, TRAIL, HOP = 0.4, 0.3, 0.3
"""How much of a step's cost each part makes up with the strategy `pheromone`."""


def step_costs(strategy: Strategy, entered: Ints, distance: Floats | None, trail: Floats | None) -> Floats:
    """float64[steps]: what each step costs.

    entered: int32[steps], the node that a step enters. distance: float64[nodes] in 0..1, the semantic distance to the goal;
    not needed for `shortest`. trail: float64[steps], the weight of the trails that a step follows; for `pheromone` only.
    """
    if strategy == "shortest" or distance is None:
        return np.ones(len(entered))
    if strategy == "semantic" or trail is None:
        return distance[entered]
    return SEMANTIC * distance[entered] + TRAIL / (1.0 + trail) + HOP


def cheapest_path(forward: Adjacency, backward: Adjacency, start: int, goal: int, max_hops: int, cost: Floats) -> Path | None:
    """The path of least total cost among those of at most `max_hops` hops, or None when there is none.

    forward, backward: the graph along and against its edges. cost: float64[entries of `forward`], none below 0.
    """
    if start == goal:
        return Path([start], [], 0.0)
    to_goal = hop_distances(backward, goal, max_hops)
    if to_goal[start] > max_hops:
        return None
    bound = lower_bounds(forward, to_goal, hop_distances(forward, start, max_hops), max_hops, cost)
    return _search(forward, start, goal, max_hops, cost, to_goal, bound)


def lower_bounds(forward: Adjacency, to_goal: Ints, from_start: Ints, max_hops: int, cost: Floats) -> Floats:
    """float64[max_hops + 2]: at index `k`, a lower bound of what is left to pay at a node `k` hops from the goal.

    A path from there enters a node at each of the distances k-1, ..., 0, and the cheapest step into each distance is a bound
    for that part. A step lowers the distance by at most 1, so the bound falls by at most that step's cost: the heuristic is
    consistent, hence admissible. Only steps on some way from start to goal within `max_hops` count.
    """
    owners = np.repeat(np.arange(forward.nodes, dtype=np.int32), np.diff(forward.start))
    left = to_goal[forward.node]
    useful = np.flatnonzero(from_start[owners] + 1 + left <= max_hops)
    cheapest = np.full(max_hops + 1, np.inf)
    np.minimum.at(cheapest, left[useful], cost[useful])
    return np.concatenate([[0.0], np.cumsum(cheapest)])


def _search(forward: Adjacency, start: int, goal: int, max_hops: int, cost: Floats, to_goal: Ints, bound: Floats) -> Path | None:
    left, ahead = to_goal.tolist(), bound.tolist()
    node, edge, begin = forward.node, forward.edge, forward.start
    nodes, paid, hops, before, by = [start], [0.0], [0], [-1], [-1]  # one entry for each way found, in all five
    fewest: dict[int, int] = {}  # hops of the last way to a node that was taken up; those after it are dearer
    cheapest: dict[int, tuple[float, int]] = {}  # the best way to a node that was put into the queue
    queue = [(ahead[left[start]], left[start], 0)]
    while queue:
        _, _, way = heappop(queue)
        here, steps = nodes[way], hops[way] + 1
        if here == goal:
            return _retrace(way, nodes, before, by, paid[way])
        if fewest.get(here, FAR) < steps:
            continue
        fewest[here] = steps - 1
        entries = slice(begin[here], begin[here + 1])
        room = max_hops - steps
        spent = paid[way]
        for there, price, number in zip(node[entries].tolist(), cost[entries].tolist(), edge[entries].tolist(), strict=True):
            if left[there] > room or fewest.get(there, FAR) <= steps:
                continue
            total = spent + price
            known = cheapest.get(there)
            if known is not None and known[0] <= total:
                if known[1] <= steps:
                    continue
            else:
                cheapest[there] = (total, steps)
            heappush(queue, (total + ahead[left[there]], left[there], len(nodes)))
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
