"""Pheromone trails: reinforcing what proved useful, and how strong a trail is now."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from am_server.errors import NotFound
from am_server.memory import trails
from am_server.memory.names import entity_uuid, is_edge_uuid, uuid_version
from am_server.store.port import SERVER_TIME, CommitResult, Document, Increment, Missing, update
from am_server.tools.call import Call
from am_server.tools.idempotency import commit_once
from am_server.tools.nodes import KEY_HELP, IdempotencyKey, Name
from am_server.tools.registry import ADD, READ, Arguments, tool

MAX_STRENGTH = 1e9

NodeType = Literal["episode", "entity", "edge"]
Target = tuple[NodeType, str]
"""What a trail lies on, and the path of its document."""


class DepositPheromone(Arguments):
    node_id: Name = Field(description="What to reinforce: an episode's id, an entity's name or id, or a triple's id.")
    strength: float = Field(1.0, gt=0, le=MAX_STRENGTH, description="How much to add to the weight; 1.0 is an ordinary use.")
    idempotency_key: IdempotencyKey = Field(None, description=KEY_HELP)


class DepositPheromoneResult(TypedDict):
    node_id: str
    new_weight: float
    node_type: NodeType


@tool(
    toolset="pheromone",
    title="Deposit pheromone",
    description="""Reinforce a memory that proved useful. Its weight rises by strength and then fades with time (to 37 % in 72
    hours); stronger trails move episodes up in searches with use_pheromone, keep them from consolidation, and guide
    memory_find_path. The episode or entity must exist.""",
    result=DepositPheromoneResult,
    hints=ADD,
    examples=[{"node_id": "Alice", "strength": 0.5}],
)
def memory_deposit_pheromone(call: Call, args: DepositPheromone) -> dict[str, Any]:
    for target in _targets(call, args.node_id):
        try:
            return _deposit(call, args, target)
        except Missing:
            continue
    raise _nothing()


def _deposit(call: Call, args: DepositPheromone, target: Target) -> dict[str, Any]:
    node_type, path = target
    amount = trails.deposit(args.strength, call.now)

    def response(result: CommitResult | None) -> dict[str, Any]:
        if result is None:
            document = call.store.get(path)
            if document is None or not _is_live(document):
                raise _nothing()
            total: Any = document.data.get("trail")
        else:
            total = result.increments[0]
            if node_type == "episode" and total == amount:
                # every episode has a trail from its first moment; this is the tombstone of one that was deleted
                call.store.commit([update(path, {"trail": None, "changed_at": SERVER_TIME})])
                raise _nothing()
        return {"node_id": args.node_id, "new_weight": trails.weight(total, call.now), "node_type": node_type}

    write = update(path, {"trail": Increment(amount), "changed_at": SERVER_TIME})
    return commit_once(call, args, "memory_deposit_pheromone", [write], response)


class GetPheromone(Arguments):
    node_id: Name = Field(description="An episode's id, an entity's name or id, or a triple's id.")


class GetPheromoneResult(TypedDict):
    node_id: str
    weight: NotRequired[float]
    node_type: NotRequired[NodeType]
    found: NotRequired[bool]


@tool(
    toolset="pheromone",
    title="Get a pheromone weight",
    description="""Tell how strong the trail on a memory is now. A new episode starts at 1, an entity at 0; deposits add to it
    and it fades with time. Answers found: false for what is not stored.""",
    result=GetPheromoneResult,
    hints=READ,
    examples=[{"node_id": "Alice"}],
)
def memory_get_pheromone(call: Call, args: GetPheromone) -> dict[str, Any]:
    for node_type, path in _targets(call, args.node_id):
        document = call.store.get(path)
        if document is not None and _is_live(document):
            total: Any = document.data.get("trail") or 0.0
            return {"node_id": args.node_id, "weight": trails.weight(total, call.now), "node_type": node_type, "found": True}
    return {"node_id": args.node_id, "found": False}


def _targets(call: Call, node_id: str) -> Iterator[Target]:
    """Where the trail of this node may lie, the likeliest first. Asks the store only for a name that is not found as it is."""
    version = uuid_version(node_id)
    if version == 4:
        yield "episode", call.path("episodes", node_id.lower())
    if version == 5:
        yield "edge" if is_edge_uuid(node_id) else "entity", call.path("graph", node_id.lower())
    yield "entity", call.path("graph", entity_uuid(node_id))
    graph = call.views.graph(call.caller.agent_uid)
    node = graph.find(node_id)
    if node is not None and graph.types[node] is not None:
        yield "entity", call.path("graph", entity_uuid(graph.nodes.names[node]))


def _is_live(document: Document) -> bool:
    return document.data.get("deleted_at") is None


def _nothing() -> NotFound:
    return NotFound(
        "nothing with this id or name is stored; store the entity first with memory_store_entity, or pass an episode's id"
    )
