"""The path between two nodes that a strategy prefers."""

from __future__ import annotations

import numpy as np

from am_server.memory.graph import Graph
from am_server.memory.graph_astar import Strategy, cheapest_path, step_costs
from am_server.memory.graph_text import semantic_distance
from am_server.memory.graph_walk import Path
from am_server.memory.node_texts import Embed
from am_server.memory.trails import weight


def guided_path(
    graph: Graph, start: int, goal: int, strategy: Strategy, max_hops: int, at: int, embed: Embed | None
) -> Path | None:
    """The cheapest path of at most `max_hops` hops along the edges; trails are weighed at the time `at`, in microseconds."""
    distance = None if strategy == "shortest" else semantic_distance(graph, goal, embed)
    fade = weight(1.0, at)
    trailed = np.flatnonzero(graph.edge_trail).tolist()
    on_edges = {edge: (int(graph.target[edge]), float(graph.edge_trail[edge] * fade)) for edge in trailed}
    costs = step_costs(strategy, distance, graph.trail * fade, on_edges)
    return cheapest_path(graph.outgoing, graph.incoming, start, goal, max_hops, costs)
