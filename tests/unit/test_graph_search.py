"""Walks and paths against networkx, on random graphs with cycles, self-loops, parallel edges and separate parts."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import networkx as nx
import numpy as np
import pytest
from am_server.memory.graph_astar import Costs, cheapest_path, lower_bounds, step_costs
from am_server.memory.graph_csr import Adjacency, adjacency, both_ways
from am_server.memory.graph_walk import FAR, breadth_first, depth_first, edges_around, hop_distances, shortest_path
from hypothesis import given
from hypothesis import strategies as st

NODES = 9
Edges = list[tuple[int, int]]
EDGES = st.lists(st.tuples(st.integers(0, NODES - 1), st.integers(0, NODES - 1)), max_size=30)


def arrays(edges: Edges) -> tuple[np.ndarray, np.ndarray]:
    pairs = np.array(edges, np.int32).reshape(-1, 2)
    return np.ascontiguousarray(pairs[:, 0]), np.ascontiguousarray(pairs[:, 1])


def forward(edges: Edges, nodes: int = NODES) -> Adjacency:
    source, target = arrays(edges)
    return adjacency(nodes, source, target, np.ones(len(edges)))


def backward(edges: Edges, nodes: int = NODES) -> Adjacency:
    source, target = arrays(edges)
    return adjacency(nodes, target, source, np.ones(len(edges)))


def either_way(edges: Edges) -> Adjacency:
    source, target = arrays(edges)
    return both_ways(NODES, source, target, np.ones(len(edges)))


def reference(edges: Edges) -> nx.MultiDiGraph:
    graph = nx.MultiDiGraph()
    graph.add_nodes_from(range(NODES))
    graph.add_edges_from(edges)
    return graph


def is_a_way(edges: Edges, nodes: Sequence[int], numbers: Sequence[int], directed: bool = True) -> bool:
    steps = list(itertools.pairwise(nodes))
    back = [] if directed else [step[::-1] for step in steps]
    return all(edges[number] in ways for *ways, number in zip(steps, *([back] if back else []), numbers, strict=True))


# --- adjacency


def test_heavier_edges_come_first() -> None:
    source, target = arrays([(0, 1), (1, 0), (0, 2), (0, 3)])
    made = adjacency(4, source, target, np.array([1.0, 1.0, 5.0, 2.0]))
    assert made.start.tolist() == [0, 3, 4, 4, 4]
    assert made.node.tolist() == [2, 3, 1, 0]
    assert made.edge.tolist() == [2, 3, 0, 1]


def test_a_self_loop_is_one_entry_both_ways() -> None:
    made = either_way([(0, 0), (0, 1)])
    assert made.node[: made.start[1]].tolist() == [0, 1]
    assert made.node[made.start[1] : made.start[2]].tolist() == [0]


# --- walks


@given(EDGES, st.integers(0, NODES - 1), st.integers(1, NODES))
def test_both_walks_visit_what_lies_within_the_depth(edges: Edges, start: int, depth: int) -> None:
    within = nx.single_source_shortest_path_length(reference(edges), start, cutoff=depth)
    for walk in (breadth_first(forward(edges), start, depth, 1_000), depth_first(forward(edges), start, depth, 1_000)):
        assert dict(zip(walk.nodes, walk.depths, strict=True)) == within
        assert walk.nodes[0] == start
        assert not walk.truncated


@given(EDGES, st.integers(0, NODES - 1))
def test_breadth_first_visits_level_by_level(edges: Edges, start: int) -> None:
    depths = breadth_first(forward(edges), start, NODES, 1_000).depths
    assert list(depths) == sorted(depths)


@given(EDGES, st.integers(0, NODES - 1))
def test_depth_first_is_pre_order(edges: Edges, start: int) -> None:
    graph = nx.DiGraph()
    graph.add_nodes_from(range(NODES))
    graph.add_edges_from(edges)  # keeps the first of parallel edges, so neighbours stand in the same order
    order = list(nx.dfs_preorder_nodes(graph, start))
    assert list(depth_first(forward(edges), start, 1_000, 1_000).nodes) == order


def test_depth_first_expands_again_what_it_meets_by_a_shorter_way() -> None:
    long_way_first = [(0, 1), (1, 2), (2, 3), (0, 3), (3, 4)]  # 3 is met at depth 3, then at depth 1
    assert list(depth_first(forward(long_way_first), 0, 3, 10).nodes) == [0, 1, 2, 3, 4]


@given(EDGES, st.integers(0, NODES - 1), st.integers(1, 4), st.integers(1, NODES))
def test_a_walk_that_is_cut_says_so(edges: Edges, start: int, depth: int, limit: int) -> None:
    for walker in (breadth_first, depth_first):
        whole, cut = walker(forward(edges), start, depth, 1_000), walker(forward(edges), start, depth, limit)
        assert list(cut.nodes) == list(whole.nodes)[:limit]
        assert cut.truncated == (len(whole.nodes) > limit)


@given(EDGES, st.integers(0, NODES - 1), st.integers(1, 4))
def test_edges_around_a_node(edges: Edges, start: int, depth: int) -> None:
    near = nx.single_source_shortest_path_length(reference(edges), start, cutoff=depth - 1)
    found, truncated = edges_around(forward(edges), len(edges), start, depth, 1_000)
    assert sorted(found) == [number for number, (source, _) in enumerate(edges) if source in near]
    assert not truncated
    hops = [near[edges[number][0]] for number in found]
    assert hops == sorted(hops)


def test_edges_around_a_node_are_cut_at_the_limit() -> None:
    hub = [(0, spoke) for spoke in range(1, 9)]
    assert edges_around(forward(hub), len(hub), 0, 2, 3) == ([0, 1, 2], True)
    assert edges_around(forward(hub), len(hub), 0, 2, 8) == ([0, 1, 2, 3, 4, 5, 6, 7], False)


# --- paths


@given(EDGES, st.integers(0, NODES - 1), st.integers(0, NODES - 1), st.booleans())
def test_shortest_path_has_the_fewest_hops(edges: Edges, start: int, goal: int, directed: bool) -> None:
    graph = reference(edges) if directed else reference(edges).to_undirected()
    ways = (forward(edges), backward(edges)) if directed else (either_way(edges), either_way(edges))
    path = shortest_path(*ways, start, goal)
    if not nx.has_path(graph, start, goal):
        assert path is None
        return
    assert path is not None
    assert (path.nodes[0], path.nodes[-1]) == (start, goal)
    assert len(path.edges) == path.cost == nx.shortest_path_length(graph, start, goal)
    assert is_a_way(edges, path.nodes, path.edges, directed)


@given(EDGES, st.integers(0, NODES - 1), st.integers(0, 5))
def test_hop_distances(edges: Edges, start: int, most: int) -> None:
    wanted = nx.single_source_shortest_path_length(reference(edges), start, cutoff=most)
    assert hop_distances(forward(edges), start, most).tolist() == [wanted.get(node, FAR) for node in range(NODES)]


@given(EDGES, st.integers(0, NODES - 1), st.integers(0, NODES - 1))
def test_hop_distances_may_stop_at_a_node(edges: Edges, start: int, until: int) -> None:
    whole, part = hop_distances(forward(edges), start, NODES), hop_distances(forward(edges), start, NODES, until)
    known = part < FAR
    assert part[until] == whole[until]
    assert (part[known] == whole[known]).all()
    assert (whole[~known] > whole[until]).all() or whole[until] == FAR or until == start


def least_cost(edges: Edges, cost: Sequence[float], start: int, goal: int, max_hops: int) -> float:
    """By networkx's Dijkstra on one copy of the graph for each number of hops already made."""
    layers = nx.DiGraph()
    layers.add_node((start, 0))
    for hops in range(max_hops):
        for (source, target), price in zip(edges, cost, strict=True):
            step = ((source, hops), (target, hops + 1))
            if not layers.has_edge(*step) or layers.edges[step]["weight"] > price:
                layers.add_edge(*step, weight=price)
    ways = nx.single_source_dijkstra_path_length(layers, (start, 0))
    return min((price for (node, _), price in ways.items() if node == goal), default=np.inf)


PRICE = st.one_of(st.sampled_from([0.0, 0.3, 0.5, 1.0]), st.floats(0, 1))
COSTS = st.builds(
    lambda entering, edges: Costs(np.array(entering), edges),
    st.lists(PRICE, min_size=NODES, max_size=NODES),
    st.dictionaries(st.integers(0, 29), PRICE, max_size=5),
)


@given(EDGES, COSTS, st.integers(0, NODES - 1), st.integers(0, NODES - 1), st.integers(1, 8))
def test_a_star_is_optimal_within_the_hops(edges: Edges, costs: Costs, start: int, goal: int, max_hops: int) -> None:
    prices = [costs.edges.get(number, float(costs.entering[target])) for number, (_, target) in enumerate(edges)]
    path = cheapest_path(forward(edges), backward(edges), start, goal, max_hops, costs)
    wanted = least_cost(edges, prices, start, goal, max_hops)
    if path is None:
        assert wanted == np.inf
        return
    assert path.cost == pytest.approx(wanted, abs=1e-9)
    assert sum(prices[number] for number in path.edges) == pytest.approx(path.cost, abs=1e-9)
    assert len(path.edges) <= max_hops
    assert (path.nodes[0], path.nodes[-1]) == (start, goal)
    assert is_a_way(edges, path.nodes, path.edges)


@given(EDGES, COSTS, st.integers(0, NODES - 1), st.integers(0, 8))
def test_the_heuristic_is_consistent(edges: Edges, costs: Costs, goal: int, levels: int) -> None:
    level, bound = lower_bounds(hop_distances(backward(edges), goal, levels), levels, costs)
    assert bound[level[goal]] == 0
    for number, (source, target) in enumerate(edges):
        price = costs.edges.get(number, costs.entering[target])
        assert bound[level[source]] <= price + bound[level[target]] + 1e-12


def test_random_graphs_with_a_bound_that_does_not_bind() -> None:
    random = np.random.default_rng(7)
    for _ in range(5):
        edges = [(int(a), int(b)) for a, b in random.integers(0, 300, (1_500, 2))]
        entering = random.random(300)
        plain = nx.DiGraph()
        plain.add_nodes_from(range(300))
        plain.add_weighted_edges_from((a, b, entering[b]) for a, b in edges)
        for start, goal in random.integers(0, 300, (20, 2)):
            path = cheapest_path(forward(edges, 300), backward(edges, 300), int(start), int(goal), 300, Costs(entering, {}))
            if path is None:
                assert not nx.has_path(plain, start, goal)
            else:
                assert path.cost == pytest.approx(nx.dijkstra_path_length(plain, start, goal), abs=1e-9)


# --- costs


def test_what_a_step_costs() -> None:
    distance, trail = np.array([0.0, 0.5]), np.array([0.0, 2.0])
    assert step_costs("shortest", None, trail, {7: (1, 1.0)}).entering.tolist() == [1, 1]
    assert step_costs("semantic", distance, trail, {7: (1, 1.0)}).entering.tolist() == [0, 0.5]
    costs = step_costs("pheromone", distance, trail, {7: (1, 1.0)})
    assert costs.entering.tolist() == pytest.approx([0.3 + 0.3, 0.4 * 0.5 + 0.3 / 3 + 0.3])
    assert costs.edges == {7: pytest.approx(0.4 * 0.5 + 0.3 / 4 + 0.3)}
