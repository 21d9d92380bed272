"""Walks through a graph: breadth first, depth first, the edges around a node, and the path of fewest hops.

Every walk ends on any graph and is bounded: by depth, and by how much of an answer is wanted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from am_server.memory.graph_csr import Adjacency, FirstTime, Ints

FAR = np.int32(2**29)
"""The hop distance of what cannot be reached."""


@dataclass(frozen=True, slots=True)
class Walk:
    """The nodes that a walk visited, in order, each once; the start comes first."""

    nodes: Sequence[int]
    depths: Sequence[int]
    """For each node, the fewest hops from the start that the walk found."""
    truncated: bool
    """Whether there were more nodes than the limit allowed."""


@dataclass(frozen=True, slots=True)
class Path:
    """A way through a graph: one node more than edges."""

    nodes: Sequence[int]
    edges: Sequence[int]
    cost: float


def breadth_first(graph: Adjacency, start: int, max_depth: int, limit: int) -> Walk:
    """Nearest nodes first, up to `max_depth` hops and `limit` nodes."""
    first_time = FirstTime(graph.nodes)
    frontier = np.array([start], np.int32)
    first_time(frontier)
    nodes, depths = [start], [0]
    for depth in range(1, max_depth + 1):
        positions = graph.entries(frontier)
        reached = graph.node[positions]
        frontier = reached[first_time(reached)]
        if not len(frontier):
            break
        room = limit - len(nodes)
        nodes += frontier[:room].tolist()
        depths += [depth] * min(room, len(frontier))
        if len(frontier) > room:
            return Walk(nodes, depths, True)
    return Walk(nodes, depths, False)


def depth_first(graph: Adjacency, start: int, max_depth: int, limit: int) -> Walk:
    """In true pre-order: a node, then all below its first neighbour, and so on, up to `max_depth` hops and `limit` nodes.

    A node that is met again by a shorter way is expanded again, because more lies within the depth from there; so the
    nodes are those that a breadth-first walk of the same depth visits.
    """
    shallowest = {start: 0}
    trail: list[Iterator[int]] = [iter(_neighbours(graph, start))]
    while trail:
        depth = len(trail)
        node = next(trail[-1], None) if depth <= max_depth else None
        if node is None:
            trail.pop()
        elif depth < shallowest.get(node, FAR):
            if len(shallowest) >= limit and node not in shallowest:
                return Walk(list(shallowest), list(shallowest.values()), True)
            shallowest[node] = depth
            trail.append(iter(_neighbours(graph, node)))
    return Walk(list(shallowest), list(shallowest.values()), False)


def _neighbours(graph: Adjacency, node: int) -> list[int]:
    nodes: list[int] = graph.node[graph.start[node] : graph.start[node + 1]].tolist()
    return nodes


def edges_around(graph: Adjacency, edges: int, start: int, depth: int, limit: int) -> tuple[list[int], bool]:
    """The edges on the ways of at most `depth` hops from a node, nearest first, each once; and whether the limit cut some.

    `edges` is how many the graph has.
    """
    first_node, first_edge = FirstTime(graph.nodes), FirstTime(edges)
    frontier = np.array([start], np.int32)
    first_node(frontier)
    found: list[int] = []
    for _ in range(depth):
        positions = graph.entries(frontier)
        numbers = graph.edge[positions]
        found += numbers[first_edge(numbers)].tolist()
        if len(found) > limit:
            return found[:limit], True
        reached = graph.node[positions]
        frontier = reached[first_node(reached)]
        if not len(frontier):
            break
    return found, False


def hop_distances(graph: Adjacency, start: int, max_hops: int, until: int | None = None) -> Ints:
    """int32[nodes]: the fewest hops from `start` to each node; FAR beyond `max_hops`, or beyond the node `until`."""
    distance = np.full(graph.nodes, FAR, np.int32)
    distance[start] = 0
    frontier = np.array([start], np.int32)
    if until == start:
        return distance
    for hops in range(1, max_hops + 1):
        reached = graph.node[graph.entries(frontier)]
        reached = reached[distance[reached] == FAR]
        distance[reached] = hops
        if not len(reached) or (until is not None and distance[until] == hops):
            break
        frontier = np.flatnonzero(distance == hops).astype(np.int32)
    return distance


def shortest_path(forward: Adjacency, backward: Adjacency, start: int, goal: int) -> Path | None:
    """A path of fewest hops, None when there is no way; from a node to itself it has no edge.

    forward, backward: the graph along and against its edges. The search goes out from both ends, always where fewer nodes
    wait, until the two meet (Pohl, "Bi-directional search", 1971).
    """
    ahead, behind = _Side(forward, start), _Side(backward, goal)
    middle = start
    while ahead.distance[middle] + behind.distance[middle] >= FAR:
        side, other = (ahead, behind) if len(ahead.frontier) <= len(behind.frontier) else (behind, ahead)
        if not len(side.frontier):
            return None
        side.advance()
        # until now no node was near both ends, so the first that is lies on a shortest way
        meeting = side.frontier[other.distance[side.frontier] < FAR]
        middle = int(meeting[0]) if len(meeting) else middle
    before, after = _trace(backward, ahead.distance, middle), _trace(forward, behind.distance, middle)
    edges = [*before[1][::-1], *after[1]]
    return Path([*before[0][::-1], middle, *after[0]], edges, float(len(edges)))


class _Side:
    """One of the two halves of a search from both ends."""

    def __init__(self, graph: Adjacency, start: int) -> None:
        self.graph = graph
        self.distance = np.full(graph.nodes, FAR, np.int32)
        self.distance[start] = 0
        self.frontier = np.array([start], np.int32)
        self.hops = 0

    def advance(self) -> None:
        self.hops += 1
        reached = self.graph.node[self.graph.entries(self.frontier)]
        reached = reached[self.distance[reached] == FAR]
        self.distance[reached] = self.hops
        self.frontier = np.unique(reached)


def _trace(graph: Adjacency, distance: Ints, start: int) -> tuple[list[int], list[int]]:
    """The nodes and edges of a way from `start`, which is not repeated, to where the distance is 0; heavier edges first."""
    nodes, edges, node = [], [], start
    for hops in range(int(distance[start]) - 1, -1, -1):
        here = slice(graph.start[node], graph.start[node + 1])
        entry = here.start + int(np.argmax(distance[graph.node[here]] == hops))
        node = int(graph.node[entry])
        nodes.append(node)
        edges.append(int(graph.edge[entry]))
    return nodes, edges
