"""Reading the knowledge graph: search, neighbours, traversal, paths."""

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from am_server.memory.names import entity_uuid
from am_server.tools.call import Call
from am_server.tools.nodes import MAX_LIMIT, Limit, Name, Node, Triple, shown_node, shown_triple
from am_server.tools.registry import READ, Arguments, tool

MAX_DEPTH = 100
MAX_HOPS = 32
MAX_NEIGHBOR_HOPS = 10
MAX_QUERY_CHARS = 20_000
SHOWN_FACTS = 3

Query = Annotated[str, Field(max_length=MAX_QUERY_CHARS)]
Direction = Literal["outgoing", "incoming", "both"]


# --- memory_query_graph


class QueryGraph(Arguments):
    query: Query = Field(
        description="Words to look for in the subjects, predicates and objects of triples, e.g. 'Alice employer'."
    )
    limit: Limit = Field(20, description=f"Most matched triples to return; at most {MAX_LIMIT}.")


class ScoredTriple(Triple):
    """A matched edge."""

    score: float


class QueryGraphResult(TypedDict):
    query: str
    edges: list[ScoredTriple]
    nodes: list[Node]
    context: list[Triple]
    count: int
    truncated: NotRequired[bool]


@tool(
    toolset="graph",
    title="Search the graph by keywords",
    description="""Find facts in the knowledge graph by keywords. Answers with the triples that hold words of the query, best
    first; with their nodes; and, as context, with further triples one hop around them. To find things by what they mean use
    memory_semantic_search; to follow links from a node you know use memory_traverse_graph.""",
    result=QueryGraphResult,
    hints=READ,
    examples=[{"query": "Acme", "limit": 10}],
)
def memory_query_graph(call: Call, args: QueryGraph) -> dict[str, Any]:
    from am_server.memory.graph_text import rank_edges, rank_named

    graph, limit = call.views.graph(call.caller.agent_uid), min(args.limit, MAX_LIMIT)
    ranked, scores = rank_edges(graph, args.query)
    best = ranked[:limit]
    ends = dict.fromkeys(node for edge in best for node in (int(graph.source[edge]), int(graph.target[edge])))
    nodes = list(dict.fromkeys([*ends, *rank_named(graph, args.query)[:limit]]))
    around = dict.fromkeys(edge for node in nodes for edge in graph.edges_of(node)[: 2 * limit] if not scores[edge])
    result: dict[str, Any] = {
        "query": args.query,
        "edges": [{**shown_triple(graph, edge), "score": round(float(scores[edge]), 4)} for edge in best],
        "nodes": [shown_node(graph, node) for node in nodes],
        "context": [shown_triple(graph, edge) for edge in list(around)[:limit]],
        "count": len(best),
    }
    if len(ranked) > limit or len(around) > limit:
        result["truncated"] = True
    return result


# --- memory_semantic_search


class SemanticSearch(Arguments):
    query: Query = Field(description="What to look for, in plain words: 'who repairs bicycles'.")
    limit: Limit = Field(10, description=f"Most entities to return; at most {MAX_LIMIT}.")


class FoundEntity(TypedDict):
    """An entity that was found; `type` is left out for a node that is known from triples only."""

    id: str
    entity_id: str
    type: NotRequired[str]
    description: NotRequired[str]


class SemanticMatch(TypedDict):
    """An entity, its score, and why it was found."""

    entity: FoundEntity
    score: float
    matched: list[Literal["name", "description", "type", "facts", "meaning"]]
    facts: NotRequired[list[Triple]]


class SemanticSearchResult(TypedDict):
    results: list[SemanticMatch]
    count: int


@tool(
    toolset="graph",
    title="Search entities by meaning",
    description="""Find entities by what is known about them: name, description, type and the facts around them, by words and
    by meaning. Best first; 'matched' says what the query hit, and 'facts' gives the triples that did. For events and
    conversations use memory_search_episodes.""",
    result=SemanticSearchResult,
    hints=READ,
    examples=[{"query": "who works at Acme", "limit": 5}],
)
def memory_semantic_search(call: Call, args: SemanticSearch) -> dict[str, Any]:
    from am_server.memory.graph_text import rank_nodes

    graph = call.views.graph(call.caller.agent_uid)
    found = rank_nodes(graph, args.query, call.views.embed_words, min(args.limit, MAX_LIMIT))
    results = []
    for match in found:
        shown = shown_node(graph, match.node)
        result: dict[str, Any] = {"entity": {"id": entity_uuid(shown["entity_id"]), **shown}, "score": round(match.score, 4)}
        result["matched"] = list(match.matched)
        if match.facts:
            result["facts"] = [shown_triple(graph, edge) for edge in match.facts[:SHOWN_FACTS]]
        results.append(result)
    return {"results": results, "count": len(results)}


# --- memory_get_neighbors


class GetNeighbors(Arguments):
    entity_id: Name = Field(description="Name or id of the entity to start from.")
    hops: int = Field(1, ge=1, description=f"How many links away to look; at most {MAX_NEIGHBOR_HOPS}.")
    direction: Direction = Field(
        "both", description="Follow links as stored (outgoing), backwards (incoming), or either way (both)."
    )
    limit: Limit = Field(100, description=f"Most neighbours to return; at most {MAX_LIMIT}.")


class Neighbor(Node):
    """A node, and how many hops away it is."""

    hops: int


class GetNeighborsResult(TypedDict):
    neighbors: list[Neighbor]
    count: int
    entity_id: str
    hops: int
    truncated: NotRequired[bool]


@tool(
    toolset="graph",
    title="Get neighbouring entities",
    description="""List the entities linked to one, nearest first, with type and description, each once, up to some hops away.
    Links count in both directions unless you say otherwise. For the links themselves use memory_get_relations or
    memory_graph_neighbors.""",
    result=GetNeighborsResult,
    hints=READ,
    examples=[{"entity_id": "Alice", "hops": 2}],
)
def memory_get_neighbors(call: Call, args: GetNeighbors) -> dict[str, Any]:
    from am_server.memory.graph_walk import breadth_first

    graph, hops = call.views.graph(call.caller.agent_uid), min(args.hops, MAX_NEIGHBOR_HOPS)
    node = graph.find(args.entity_id)
    result: dict[str, Any] = {"neighbors": [], "count": 0, "entity_id": args.entity_id, "hops": hops}
    if node is None:
        return result
    walk = breadth_first(graph.towards(args.direction), node, hops, min(args.limit, MAX_LIMIT) + 1)
    reached = list(zip(walk.nodes, walk.depths, strict=True))[1:]
    result["neighbors"] = [{**shown_node(graph, node), "hops": depth} for node, depth in reached]
    result["count"] = len(reached)
    if walk.truncated:
        result["truncated"] = True
    return result


# --- memory_find_path


class FindPath(Arguments):
    from_id: Name = Field(description="Name or id of the node to start from.")
    to_id: Name = Field(description="Name or id of the node to reach.")
    max_hops: int = Field(6, ge=1, description=f"Longest path to consider, in links; at most {MAX_HOPS}.")
    strategy: Literal["pheromone", "shortest", "semantic"] = Field(
        "pheromone",
        description="What makes a path good: pheromone (40 % near the goal in meaning, 30 % trodden trails, 30 % few links), "
        "shortest (fewest links), semantic (near the goal in meaning).",
    )


class FindPathResult(TypedDict):
    found: bool
    path: list[str]
    edges: list[Triple]
    hops: int
    from_id: str
    to_id: str
    strategy: str
    cost: NotRequired[float]


@tool(
    toolset="graph",
    title="Find the best path between two concepts",
    description="""Find how one concept leads to another along stored links: the best path by A*, which is optimal for the
    strategy's cost among all paths of at most max_hops. 'path' lists the nodes and 'edges' the links between them; found:
    false when there is no such path. Needs the builder tier or above; memory_traverse_graph and memory_graph_shortest_path
    work on every tier.""",
    result=FindPathResult,
    hints=READ,
    requires="a_star",
    examples=[{"from_id": "Alice", "to_id": "Acme"}],
)
def memory_find_path(call: Call, args: FindPath) -> dict[str, Any]:
    from am_server.memory.graph_paths import guided_path

    graph = call.views.graph(call.caller.agent_uid)
    start, goal = graph.find(args.from_id), graph.find(args.to_id)
    asked = {"from_id": args.from_id, "to_id": args.to_id, "strategy": args.strategy}
    path = None
    if start is not None and goal is not None:
        hops = min(args.max_hops, MAX_HOPS)
        path = guided_path(graph, start, goal, args.strategy, hops, call.now, call.views.embed_words)
    if path is None:
        return {"found": False, "path": [], "edges": [], "hops": 0, **asked}
    nodes = [graph.nodes.names[node] for node in path.nodes]
    edges = [shown_triple(graph, edge) for edge in path.edges]
    return {"found": True, "path": nodes, "edges": edges, "hops": len(edges), **asked, "cost": path.cost}


# --- memory_traverse_graph


class TraverseGraph(Arguments):
    start_id: Name = Field(description="Name or id of the node to start from.")
    algorithm: Literal["bfs", "dfs"] = Field(
        "bfs", description="bfs visits nearer nodes first; dfs follows each branch to its end first."
    )
    max_depth: int = Field(3, ge=1, description=f"How many links deep to go; at most {MAX_DEPTH}.")
    direction: Direction = Field(
        "outgoing", description="Follow links as stored (outgoing), backwards (incoming), or either way (both)."
    )
    limit: Limit = Field(100, description=f"Most nodes to visit; at most {MAX_LIMIT}.")


class Visited(TypedDict):
    """A node in the order of the visit, and the fewest links from the start by which it was reached."""

    entity_id: str
    depth: int
    type: NotRequired[str]


class TraverseGraphResult(TypedDict):
    visited: list[Visited]
    count: int
    start_id: str
    algorithm: str
    max_depth: int
    truncated: NotRequired[bool]


@tool(
    toolset="graph",
    title="Traverse the graph from a node",
    description="""Walk the knowledge graph outward from a node and list what is reached, in order, each node once, the start
    first. Use it to explore what a concept is connected to, on every tier. For one path between two nodes use
    memory_graph_shortest_path.""",
    result=TraverseGraphResult,
    hints=READ,
    examples=[{"start_id": "Alice", "max_depth": 2}],
)
def memory_traverse_graph(call: Call, args: TraverseGraph) -> dict[str, Any]:
    from am_server.memory.graph_walk import breadth_first, depth_first

    graph, depth = call.views.graph(call.caller.agent_uid), min(args.max_depth, MAX_DEPTH)
    asked = {"start_id": args.start_id, "algorithm": args.algorithm, "max_depth": depth}
    start = graph.find(args.start_id)
    if start is None:
        return {"visited": [], "count": 0, **asked}
    walker = breadth_first if args.algorithm == "bfs" else depth_first
    walk = walker(graph.towards(args.direction), start, depth, min(args.limit, MAX_LIMIT))
    visited = []
    for node, hops in zip(walk.nodes, walk.depths, strict=True):
        shown = shown_node(graph, node)
        shown.pop("description", None)
        visited.append({**shown, "depth": hops})
    result: dict[str, Any] = {"visited": visited, "count": len(visited), **asked}
    if walk.truncated:
        result["truncated"] = True
    return result
