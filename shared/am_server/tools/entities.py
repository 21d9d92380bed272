"""Entities, facts about them, and typed relations between them."""

from __future__ import annotations

import json
from typing import Any, Literal, NotRequired, Self

from pydantic import Field, model_validator
from typing_extensions import TypedDict

from am_server.errors import Invalid
from am_server.memory import trails
from am_server.memory.names import edge_uuid, entity_uuid, folded, is_edge_uuid, uuid_version
from am_server.store.port import Document
from am_server.store.port import Field as StoredField
from am_server.times import show
from am_server.tools import cursors
from am_server.tools.call import Call
from am_server.tools.idempotency import commit_once
from am_server.tools.nodes import (
    KEY_HELP,
    MAX_DESCRIPTION_BYTES,
    MAX_LIMIT,
    IdempotencyKey,
    Limit,
    Name,
    edge_write,
    entity_write,
    names_of,
    shown_node,
)
from am_server.tools.registry import READ, UPSERT, Arguments, tool

MAX_METADATA_BYTES = 16 * 1024
MAX_TYPE_CHARS = 256


class Entity(TypedDict):
    """A stored entity."""

    id: str
    entity_id: str
    type: str
    description: NotRequired[str]
    metadata: NotRequired[dict[str, Any]]
    pheromone: NotRequired[float]
    updated_at: NotRequired[str]


class Relation(TypedDict):
    """A typed edge between two entities."""

    id: str
    from_id: str
    to_id: str
    predicate: str
    weight: float


# --- memory_store_entity


class StoreEntity(Arguments):
    entity_id: Name = Field(
        description="The entity's name, which is its identity: 'Alice', 'project apollo'. Up to 1 KB. Keep to one spelling."
    )
    type: str | None = Field(
        None,
        max_length=MAX_TYPE_CHARS,
        description="Kind of thing: person, company, project, place. 'concept' if it was never given.",
    )
    description: str | None = Field(
        None, description="What it is, in a sentence or two; searched by memory_semantic_search. Up to 16 KB."
    )
    predicate: Name | None = Field(None, description="Together with object_value: a fact to store at once, e.g. 'prefers'.")
    object_value: Name | None = Field(None, description="Together with predicate: the fact's object, e.g. 'simple analogies'.")
    properties: dict[str, Any] | None = Field(None, description="Another name for metadata.")
    metadata: dict[str, Any] | None = Field(
        None, description='Structured properties, e.g. {"age": 30}. Replaces what was stored before. Up to 16 KB as JSON.'
    )
    idempotency_key: IdempotencyKey = Field(None, description=KEY_HELP)

    @model_validator(mode="after")
    def _fact_is_whole(self) -> Self:
        if (self.predicate is None) != (self.object_value is None):
            raise Invalid("object_value" if self.object_value is None else "predicate", "predicate and object_value go together")
        return self


class StoreEntityResult(TypedDict):
    id: str
    entity_id: str
    stored: Literal[True]
    triple_id: NotRequired[str]


@tool(
    toolset="entity",
    title="Store an entity",
    description="""Remember a person, thing or concept by name, with a type, a description and properties; or update it:
    storing a name again replaces the fields you pass and keeps the others. predicate and object_value add one fact about it,
    which the graph tools see as an edge. For a link between two entities use memory_store_relation. Answers with the entity's
    id; every tool that asks for an entity takes the name or the id.""",
    result=StoreEntityResult,
    hints=UPSERT,
    examples=[
        {
            "entity_id": "Alice",
            "type": "person",
            "description": "Physicist who prefers simple analogies",
            "metadata": {"age": 30},
        },
        {"entity_id": "Alice", "predicate": "works_on", "object_value": "quantum computing"},
    ],
)
def memory_store_entity(call: Call, args: StoreEntity) -> dict[str, Any]:
    fields: dict[str, StoredField] = {"updated_at": call.now}
    if args.type is not None:
        fields["type"] = args.type
    if args.description is not None:
        if len(args.description.encode()) > MAX_DESCRIPTION_BYTES:
            raise Invalid("description", f"at most {MAX_DESCRIPTION_BYTES} bytes; store long text with memory_store_episode")
        fields["description"] = args.description
    metadata = args.properties if args.metadata is None else args.metadata
    if metadata is not None:
        fields["metadata"] = _metadata_text(metadata)
    writes = [entity_write(call, args.entity_id, fields)]
    response = {"id": entity_uuid(args.entity_id), "entity_id": args.entity_id, "stored": True}
    if args.predicate is not None and args.object_value is not None:
        response["triple_id"], write = edge_write(call, (args.entity_id, args.predicate, args.object_value), {"origin": "entity"})
        writes.append(write)
    return commit_once(call, args, "memory_store_entity", writes, response)


def _metadata_text(metadata: dict[str, Any]) -> str:
    text = json.dumps(metadata, ensure_ascii=False, separators=(",", ":"))
    if len(text.encode()) > MAX_METADATA_BYTES:
        raise Invalid("metadata", f"at most {MAX_METADATA_BYTES} bytes as JSON")
    return text


# --- memory_get_entity


class GetEntity(Arguments):
    entity_id: Name = Field(description="Name or id of the entity.")


class GetEntityResult(TypedDict):
    found: bool
    entity: NotRequired[Entity]
    entity_id: NotRequired[str]


@tool(
    toolset="entity",
    title="Get an entity",
    description="""Read one entity by its name or id: type, description, metadata and pheromone weight. A name that is not
    found exactly is looked for in other case and spacing. Answers found: false when there is none; memory_semantic_search
    finds entities by what they are about, memory_get_relations lists what they are linked to.""",
    result=GetEntityResult,
    hints=READ,
    examples=[{"entity_id": "Alice"}],
)
def memory_get_entity(call: Call, args: GetEntity) -> dict[str, Any]:
    document = find_entity(call, args.entity_id)
    if document is None:
        return {"found": False, "entity_id": args.entity_id}
    return {"found": True, "entity": _shown(call, document)}


def find_entity(call: Call, name_or_id: str) -> Document | None:
    """The document of an entity by its id, its exact name, or nearly its name. One round trip when it is there."""
    by_id = uuid_version(name_or_id) == 5 and not is_edge_uuid(name_or_id)
    document = call.store.get(call.path("graph", name_or_id.lower() if by_id else entity_uuid(name_or_id)))
    if document is not None and "entity_id" in document.data:
        return document
    graph = call.views.graph(call.caller.agent_uid)
    node = graph.find(name_or_id)
    if node is None or graph.types[node] is None:
        return None
    return call.store.get(call.path("graph", entity_uuid(graph.nodes.names[node])))


def _shown(call: Call, document: Document) -> dict[str, Any]:
    data: Any = document.data
    shown: dict[str, Any] = {"id": document.id, "entity_id": data["entity_id"], "type": data.get("type") or "concept"}
    if data.get("description"):
        shown["description"] = data["description"]
    if data.get("metadata"):
        shown["metadata"] = json.loads(data["metadata"])
    if data.get("trail"):
        shown["pheromone"] = trails.weight(data["trail"], call.now)
    if "updated_at" in data:
        shown["updated_at"] = show(data["updated_at"])
    return shown


# --- memory_list_entities


class ListEntities(Arguments):
    limit: Limit = Field(20, description=f"Most entities to return; at most {MAX_LIMIT}.")
    cursor: str | None = Field(None, description="next_cursor of the page before.")
    type: str | None = Field(None, description="Only entities of this type, in any case.")
    prefix: str | None = Field(None, description="Only names that begin with this text, in any case.")


class ListedEntity(TypedDict):
    """An entity without its metadata; a long description is cut."""

    id: str
    entity_id: str
    type: str
    description: NotRequired[str]


class ListEntitiesResult(TypedDict):
    entities: list[ListedEntity]
    count: int
    next_cursor: NotRequired[str]


@tool(
    toolset="entity",
    title="List entities",
    description="""List stored entities by name, optionally of one type or with a name prefix. When next_cursor comes back
    there are more: pass it as cursor. To find entities by what they are about use memory_semantic_search.""",
    result=ListEntitiesResult,
    hints=READ,
    examples=[{"type": "person", "limit": 50}],
)
def memory_list_entities(call: Call, args: ListEntities) -> dict[str, Any]:
    graph = call.views.graph(call.caller.agent_uid)
    begin, kind = folded(args.prefix or ""), (args.type or "").casefold()
    after = cursors.decode(args.cursor, str)
    limit, found = min(args.limit, MAX_LIMIT), []
    for node in graph.entities:
        place = graph.place(node)
        if (after is None or place > after) and place[0].startswith(begin):
            shown = {"id": entity_uuid(place[1]), **shown_node(graph, node)}
            if not kind or shown["type"].casefold() == kind:
                found.append(shown)
        if len(found) > limit:
            break
    result: dict[str, Any] = {"entities": found[:limit], "count": len(found[:limit])}
    if len(found) > limit:
        last = found[limit - 1]["entity_id"]
        result["next_cursor"] = cursors.encode(folded(last), last)
    return result


# --- memory_store_relation


class StoreRelation(Arguments):
    from_id: Name = Field(
        description="Name or id of the entity that the relation starts from. A new name is stored as an entity."
    )
    to_id: Name = Field(description="Name or id of the entity that the relation leads to. A new name is stored as an entity.")
    predicate: Name = Field(
        description="What the first is to the second, e.g. works_at, knows, part_of. Reuse the predicates you have."
    )
    weight: float | None = Field(
        None,
        ge=0,
        allow_inf_nan=False,
        description="Strength of the relation, 1.0 if it was never given; stronger ones come first in answers.",
    )
    idempotency_key: IdempotencyKey = Field(None, description=KEY_HELP)


class StoreRelationResult(TypedDict):
    id: str
    from_id: str
    to_id: str
    predicate: str
    stored: Literal[True]


@tool(
    toolset="entity",
    title="Relate two entities",
    description="""Remember that one entity stands in a relation to another: Alice works_at Acme. Both ends may be names or
    ids; new names become entities by themselves. The same relation stored twice is one. It is an edge of the graph:
    memory_get_relations, memory_traverse_graph and memory_find_path follow it.""",
    result=StoreRelationResult,
    hints=UPSERT,
    examples=[{"from_id": "Alice", "to_id": "Acme", "predicate": "works_at"}],
)
def memory_store_relation(call: Call, args: StoreRelation) -> dict[str, Any]:
    ends = names_of(call, {"from_id": args.from_id, "to_id": args.to_id})
    fields: dict[str, StoredField] = {"origin": "relation"}
    if args.weight is not None:
        fields["weight"] = args.weight
    id, write = edge_write(call, (ends[0][0], args.predicate, ends[1][0]), fields)
    new_names = dict.fromkeys(name for name, stored in ends if not stored)
    writes = [*(entity_write(call, name, {}) for name in new_names), write]
    response = {"id": id, "from_id": args.from_id, "to_id": args.to_id, "predicate": args.predicate, "stored": True}
    return commit_once(call, args, "memory_store_relation", writes, response)


# --- memory_get_relations


class GetRelations(Arguments):
    entity_id: Name = Field(description="Name or id of the entity.")
    limit: Limit = Field(100, description=f"Most relations to return; at most {MAX_LIMIT}.")
    cursor: str | None = Field(None, description="next_cursor of the page before.")


class GetRelationsResult(TypedDict):
    relations: list[Relation]
    count: int
    entity_id: str
    next_cursor: NotRequired[str]


@tool(
    toolset="entity",
    title="Get an entity's relations",
    description="""List everything an entity is linked to, in both directions, with the predicate and the weight of each link:
    relations, facts and triples alike. An unknown entity has none. When next_cursor comes back there are more: pass it as
    cursor.""",
    result=GetRelationsResult,
    hints=READ,
    examples=[{"entity_id": "Alice"}],
)
def memory_get_relations(call: Call, args: GetRelations) -> dict[str, Any]:
    graph = call.views.graph(call.caller.agent_uid)
    node = graph.find(args.entity_id)
    edges = [] if node is None else graph.edges_of(node)
    after, limit = cursors.decode(args.cursor, str), min(args.limit, MAX_LIMIT)
    relations: list[dict[str, Any]] = []
    for edge in edges:
        subject, predicate, object_ = graph.triple(edge)
        id, weight = edge_uuid(subject, predicate, object_), float(graph.weight[edge])
        if after is None or (predicate, id) > after:
            relations.append({"id": id, "from_id": subject, "to_id": object_, "predicate": predicate, "weight": weight})
    relations.sort(key=lambda relation: (relation["predicate"], relation["id"]))
    result: dict[str, Any] = {"relations": relations[:limit], "count": len(relations[:limit]), "entity_id": args.entity_id}
    if len(relations) > limit:
        result["next_cursor"] = cursors.encode(relations[limit - 1]["predicate"], relations[limit - 1]["id"])
    return result
