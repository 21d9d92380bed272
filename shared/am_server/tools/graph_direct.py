"""The graph as plain triples: add one, look around a label, the shortest way between two."""

from __future__ import annotations

from typing import Any, Literal, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from am_server.tools.call import Call
from am_server.tools.idempotency import commit_once
from am_server.tools.nodes import KEY_HELP, MAX_LIMIT, IdempotencyKey, Limit, Name, Triple, edge_write, shown_triple
from am_server.tools.registry import READ, UPSERT, Arguments, tool

MAX_NEIGHBOR_DEPTH = 5


class AddTriple(Arguments):
    subject: Name = Field(description="What the fact is about, e.g. 'Alice'. Up to 1 KB.")
    predicate: Name = Field(description="The relation, e.g. 'prefers'. Up to 1 KB; reuse the predicates you have.")
    object: Name = Field(description="What the subject is related to, e.g. 'simple analogies'. Up to 1 KB.")
    idempotency_key: IdempotencyKey = Field(None, description=KEY_HELP)


class AddTripleResult(TypedDict):
    stored: Literal[True]
    triple_id: str
    subject: str
    predicate: str
    object: str


@tool(
    toolset="graph",
    title="Add a fact to the graph",
    description="""Remember one fact as a triple of subject, predicate and object: Alice, prefers, simple analogies. Subject
    and object are plain labels and need not be stored as entities. Adding the same triple again changes nothing. To describe
    an entity, with a type and properties, use memory_store_entity.""",
    result=AddTripleResult,
    hints=UPSERT,
    examples=[{"subject": "Alice", "predicate": "prefers", "object": "simple analogies"}],
)
def memory_graph_add_triple(call: Call, args: AddTriple) -> dict[str, Any]:
    triple = {"subject": args.subject, "predicate": args.predicate, "object": args.object}
    id, write = edge_write(call, list(triple.values()), {"origin": "triple"})
    return commit_once(call, args, "memory_graph_add_triple", [write], {"stored": True, "triple_id": id, **triple})


class GraphNeighbors(Arguments):
    node: Name = Field(description="Label of the node, i.e. the subject or object of a triple; an entity's id will do.")
    depth: int = Field(
        1, ge=1, description=f"How many links away to look, 1 to {MAX_NEIGHBOR_DEPTH}; more means {MAX_NEIGHBOR_DEPTH}."
    )
    direction: Literal["outgoing", "incoming", "both"] = Field(
        "outgoing", description="Triples that start at a node (outgoing), that end at it (incoming), or both."
    )
    limit: Limit = Field(200, description=f"Most triples to return; at most {MAX_LIMIT}.")


class GraphNeighborsResult(TypedDict):
    node: str
    depth: int
    direction: str
    count: int
    neighbors: list[Triple]
    truncated: NotRequired[bool]


@tool(
    toolset="graph",
    title="Get the triples around a node",
    description="""List the triples around a node, nearest first, each once: what is known about Alice (outgoing), who refers
    to Alice (incoming), or both. depth 2 and more follow the links onward. An unknown node has none. For entities instead of
    triples use memory_get_neighbors.""",
    result=GraphNeighborsResult,
    hints=READ,
    examples=[{"node": "Alice", "depth": 2, "direction": "both"}],
)
def memory_graph_neighbors(call: Call, args: GraphNeighbors) -> dict[str, Any]:
    from am_server.memory.graph_walk import edges_around

    graph, depth = call.views.graph(call.caller.agent_uid), min(args.depth, MAX_NEIGHBOR_DEPTH)
    node = graph.find(args.node)
    found: list[int] = []
    truncated = False
    if node is not None:
        limit = min(args.limit, MAX_LIMIT)
        found, truncated = edges_around(graph.towards(args.direction), graph.edges, node, depth, limit)
    result: dict[str, Any] = {"node": args.node, "depth": depth, "direction": args.direction, "count": len(found)}
    result["neighbors"] = [shown_triple(graph, edge) for edge in found]
    if truncated:
        result["truncated"] = True
    return result


class ShortestPath(Arguments):
    from_: Name = Field(alias="from", description="Label of the node to start from.")
    to: Name = Field(description="Label of the node to reach.")
    undirected: bool = Field(False, description="Follow triples in both directions instead of from subject to object only.")


class PathResult(TypedDict):
    to: str
    undirected: bool
    found: bool
    hops: int
    path: list[str]
    edges: list[Triple]


ShortestPathResult = TypedDict("ShortestPathResult", {**PathResult.__annotations__, "from": str})  # type: ignore[misc]


@tool(
    toolset="graph",
    title="Find the shortest path between two nodes",
    description="""Find a path of the fewest links from one node to another, on every tier. 'path' lists the nodes and 'edges'
    the triples between them; found: false when no path leads there. Set undirected when it does not matter which way the
    triples point.""",
    result=ShortestPathResult,
    hints=READ,
    examples=[{"from": "Alice", "to": "simple analogies"}],
)
def memory_graph_shortest_path(call: Call, args: ShortestPath) -> dict[str, Any]:
    from am_server.memory.graph_walk import shortest_path

    graph = call.views.graph(call.caller.agent_uid)
    start, goal = graph.find(args.from_), graph.find(args.to)
    asked = {"from": args.from_, "to": args.to, "undirected": args.undirected}
    path = None
    if start is not None and goal is not None:
        ways = (graph.either_way, graph.either_way) if args.undirected else (graph.outgoing, graph.incoming)
        path = shortest_path(*ways, start, goal)
    if path is None:
        return {**asked, "found": False, "hops": 0, "path": [], "edges": []}
    nodes = [graph.nodes.names[node] for node in path.nodes]
    edges = [shown_triple(graph, edge) for edge in path.edges]
    return {**asked, "found": True, "hops": len(edges), "path": nodes, "edges": edges}
