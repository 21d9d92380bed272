"""Entities and edges as arguments and as documents: what the entity, graph and trail tools have in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, NotRequired

from pydantic import AfterValidator, Field
from typing_extensions import TypedDict

from am_server.errors import NotFound
from am_server.memory.names import MAX_NAME_BYTES, edge_uuid, entity_uuid, exact, is_edge_uuid, uuid_version
from am_server.store.port import SERVER_TIME, Write, merge
from am_server.store.port import Field as StoredField
from am_server.tools.call import Call

if TYPE_CHECKING:
    from am_server.memory.graph import Graph

MAX_LIMIT = 500
"""The most items any graph answer holds; a larger limit means this one."""

MAX_DESCRIPTION_BYTES = 16 * 1024
SHOWN_DESCRIPTION_CHARS = 240
"""Lists show so much of a description; memory_get_entity shows all of it."""


def _name(text: str) -> str:
    if not text.strip():
        raise ValueError("must not be blank")
    if len(text.encode()) > MAX_NAME_BYTES:
        raise ValueError(f"at most {MAX_NAME_BYTES} bytes; keep long text in a description or an episode")
    return exact(text)


Name = Annotated[str, AfterValidator(_name)]
"""A name of up to 1 KB in the form in which it is kept."""

Limit = Annotated[int, Field(ge=1)]
IdempotencyKey = Annotated[str | None, Field(max_length=1_024)]
KEY_HELP = "Text of your choice, e.g. a UUID; a retry with the same key returns the first answer and changes nothing."


class Triple(TypedDict):
    """An edge: subject, predicate, object."""

    subject: str
    predicate: str
    object: str


class Node(TypedDict):
    """A node of the graph; `type` only when it was stored as an entity."""

    entity_id: str
    type: NotRequired[str]
    description: NotRequired[str]


def entity_write(call: Call, name: str, fields: Mapping[str, StoredField]) -> Write:
    """An upsert of the entity with this exact name; what it has beside these fields stays."""
    data = {"kind": "entity", "entity_id": name, **fields, "changed_at": SERVER_TIME}
    return merge(call.path("graph", entity_uuid(name)), data)


def edge_write(call: Call, triple: Sequence[str], fields: Mapping[str, StoredField]) -> tuple[str, Write]:
    """The id of the edge with these exact parts, and its upsert; what it has beside these fields stays."""
    subject, predicate, object_ = triple
    id = edge_uuid(subject, predicate, object_)
    data = {"kind": "edge", "subject": subject, "predicate": predicate, "object": object_, **fields, "changed_at": SERVER_TIME}
    return id, merge(call.path("graph", id), data)


def names_of(call: Call, ends: Mapping[str, str]) -> list[tuple[str, bool]]:
    """For each argument the exact name that it means, and whether it is known that an entity of that name is stored.

    Only the ids of entities are looked up, all at once; a name is taken as it is. Raises NotFound for the id of nothing.
    """
    ids = [end for end in ends.values() if uuid_version(end) == 5 and not is_edge_uuid(end)]
    paths = [call.path("graph", id) for end in ids for id in (end.lower(), entity_uuid(end))]
    stored = iter(call.store.get_many(paths) if paths else [])
    names = []
    for field, end in ends.items():
        if end not in ids:
            names.append((end, False))
            continue
        found = [document for document in (next(stored), next(stored)) if document is not None and "entity_id" in document.data]
        if not found:
            raise NotFound(f"{field}: no entity has this id; pass the entity's name, or store it first with memory_store_entity")
        names.append((str(found[0].data["entity_id"]), True))
    return names


def shown_node(graph: Graph, node: int) -> dict[str, Any]:
    """A node as lists show it."""
    shown: dict[str, Any] = {"entity_id": graph.nodes.names[node]}
    if graph.types[node] is not None:
        shown["type"] = graph.types[node] or "concept"
    if graph.descriptions[node]:
        shown["description"] = graph.descriptions[node][:SHOWN_DESCRIPTION_CHARS]
    return shown


def shown_triple(graph: Graph, edge: int) -> dict[str, Any]:
    """An edge as subject, predicate and object."""
    return dict(zip(("subject", "predicate", "object"), graph.triple(edge), strict=True))
