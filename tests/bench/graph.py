"""Graph search in process, warm and cold, beside networkx on the same graph.

    python -m tests.bench.graph [--json FILE]

Ours are whole tool calls over the embedded store, the query for what is new included. networkx searches a graph that is
already in its memory, with the cost of every step looked up in a dictionary that was filled beforehand.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import networkx as nx
from am_server.memory.graph import Graph
from am_server.memory.graph_astar import step_costs
from am_server.memory.graph_text import semantic_distance
from am_server.memory.names import edge_uuid, entity_uuid
from am_server.memory.trails import deposit, weight
from am_server.store.metered import metering
from am_server.store.port import SERVER_TIME, Write, put
from am_server.wiring import Services

from tests.bench.client import quantiles, timed
from tests.unit.calling import Agent, instance

SIZES = ((10_000, 50_000), (20_000, 200_000))
QUERIES = 100
REFERENCE_QUERIES = 30
MAX_HOPS = 12
WORDS = (
    "river bridge engine garden winter signal copper market letter island forest window planet doctor silver harbour "
    "mirror castle violin pepper tunnel desert rocket temple candle museum lawyer coffee jacket orchid"
).split()
COMMIT = 2_000


def fill(services: Services, nodes: int, edges: int) -> list[tuple[int, int]]:
    """Store a random graph whose nodes are named with words; every tenth node has a trail. Returns its edges."""
    draw = random.Random(nodes)
    names = [f"{draw.choice(WORDS)} {draw.choice(WORDS)} {number}" for number in range(nodes)]
    pairs = list({(draw.randrange(nodes), draw.randrange(nodes)) for _ in range(edges)})
    now = services.clock.now()
    writes: list[Write] = []
    for number in range(0, nodes, 10):
        entity = {
            "kind": "entity",
            "entity_id": names[number],
            "trail": deposit(draw.random() * 5, now),
            "changed_at": SERVER_TIME,
        }
        writes.append(put(f"agents/a/graph/{entity_uuid(names[number])}", entity))
    for source, target in pairs:
        triple = {"subject": names[source], "predicate": "leads to", "object": names[target]}
        path = f"agents/a/graph/{edge_uuid(names[source], 'leads to', names[target])}"
        writes.append(put(path, {"kind": "edge", **triple, "changed_at": SERVER_TIME}))
    for start in range(0, len(writes), COMMIT):
        services.store.commit(writes[start : start + COMMIT])
    return pairs


def ours(services: Services, pairs: Sequence[tuple[str, str]]) -> dict[str, Callable[[int], Any]]:
    agent = Agent(services)

    def path(number: int, **options: Any) -> Any:
        start, goal = pairs[number % len(pairs)]
        return agent.call("memory_find_path", from_id=start, to_id=goal, max_hops=MAX_HOPS, **options)

    return {
        "bfs_depth_3": lambda n: agent.call("memory_traverse_graph", start_id=pairs[n % len(pairs)][0], limit=500),
        "shortest_path": lambda n: agent.call(
            "memory_graph_shortest_path", **dict(zip(("from", "to"), pairs[n % len(pairs)], strict=True))
        ),
        "a_star_pheromone": path,
        "a_star_semantic": lambda n: path(n, strategy="semantic"),
        "a_star_shortest": lambda n: path(n, strategy="shortest"),
        "query_graph": lambda n: agent.call("memory_query_graph", query=pairs[n % len(pairs)][0]),
        "semantic_search": lambda n: agent.call("memory_semantic_search", query=pairs[n % len(pairs)][0]),
    }


def reference(graph: Graph, pairs: Sequence[tuple[str, str]], services: Services) -> dict[str, Any]:
    """networkx: the time to build its graph, and its searches; A* also with hops to the goal as heuristic, found by networkx."""
    began = time.perf_counter()
    plain = nx.DiGraph()
    plain.add_nodes_from(range(graph.size))
    plain.add_edges_from(zip(graph.source.tolist(), graph.target.tolist(), strict=True))
    built = time.perf_counter() - began
    found: dict[str, Any] = {"build_ms": round(1000 * built, 1)}
    fade, embed = weight(1.0, services.clock.now()), services.views.embed_words
    walks, shortest, blind, guided = [], [], [], []
    for start_name, goal_name in pairs[:REFERENCE_QUERIES]:
        start, goal = graph.find(start_name), graph.find(goal_name)
        assert start is not None
        assert goal is not None
        cost = step_costs("pheromone", semantic_distance(graph, goal, embed), graph.trail * fade, {}).entering
        prices, least = cost.tolist(), float(cost.min())
        walks += timed(1, lambda _, s=start: nx.single_source_shortest_path_length(plain, s, cutoff=3))
        if nx.has_path(plain, start, goal):
            shortest += timed(1, lambda _, s=start, g=goal: nx.shortest_path(plain, s, g))
            price = lambda _u, v, _d, p=prices: p[v]  # noqa: E731
            blind += timed(1, lambda _, s=start, g=goal, w=price: nx.astar_path(plain, s, g, None, w))
            guided += timed(1, lambda _, s=start, g=goal, w=price, c=least: guided_path(plain, s, g, w, c))
    searches = {"bfs_depth_3": walks, "shortest_path": shortest, "a_star_pheromone": blind, "a_star_with_heuristic": guided}
    return {**found, **{name: quantiles(seconds) for name, seconds in searches.items()}}


def guided_path(plain: nx.DiGraph, start: int, goal: int, price: Callable[..., float], least: float) -> list[int]:
    """networkx's A* with the cheapest step times the hops to the goal as heuristic, as a user of networkx would write it."""
    hops = nx.single_source_shortest_path_length(plain.reverse(copy=False), goal)
    far = len(plain)
    path: list[int] = nx.astar_path(plain, start, goal, lambda node, _: least * hops.get(node, far), price)
    return path


def measure(nodes: int, edges: int, folder: Path, embedder: str) -> dict[str, Any]:
    with instance(folder, AM_EMBEDDER=embedder) as services:
        began = time.perf_counter()
        fill(services, nodes, edges)
        stored = time.perf_counter() - began
        graph = services.views.graph("a")
    draw = random.Random(1)
    names = graph.nodes.names[: graph.size]
    pairs = [(draw.choice(names), draw.choice(names)) for _ in range(QUERIES)]
    result: dict[str, Any] = {"edges": graph.edges, "nodes": graph.size, "stored_in_s": round(stored, 1), "cold": {}, "warm": {}}
    for name in ours(services, pairs):
        with instance(folder, AM_EMBEDDER=embedder) as fresh, metering() as meter:
            seconds = timed(1, ours(fresh, pairs)[name])
            result["cold"][name] = {"ms": round(1000 * seconds[0], 1), "reads": meter.reads, "rpcs": meter.rpcs}
    with instance(folder, AM_EMBEDDER=embedder) as warm:
        for name, job in ours(warm, pairs).items():
            job(0)
            result["warm"][name] = quantiles(timed(QUERIES, job))
        result["networkx"] = reference(warm.views.graph("a"), pairs, warm)
    times = result["networkx"]["a_star_pheromone"]["p50"] / result["warm"]["a_star_pheromone"]["p50"]
    result["a_star_times_faster_than_networkx"] = round(times, 1)
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--embedder", default="static", choices=("static", "none"))
    args = parser.parse_args()
    result = {}
    for nodes, edges in SIZES:
        with tempfile.TemporaryDirectory() as folder:
            result[f"{nodes} nodes, {edges} edges"] = measure(nodes, edges, Path(folder), args.embedder)
    text = json.dumps(result, indent=2)
    print(text)
    if args.json:
        args.json.write_text(text + "\n")


if __name__ == "__main__":
    main()
