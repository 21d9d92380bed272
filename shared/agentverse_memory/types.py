"""What the calls return. Keys that a server of a later version adds are kept as they come."""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict


class NewKey(TypedDict):
    agent_id: str
    key: str
    key_id: str
    tier: str
    monthly_op_limit: NotRequired[int]
    warning: str


class Episode(TypedDict):
    id: str
    content: str
    valid_at: str
    metadata: NotRequired[dict[str, Any]]


class StoredEpisode(TypedDict):
    stored: Literal[True]
    id: str
    ids: list[str]
    chunks: int
    agent_id: str


class Episodes(TypedDict):
    episodes: list[Episode]
    count: int
    next_cursor: NotRequired[str]


class EpisodeHit(TypedDict):
    episode: Episode
    score: float


class EpisodeHits(TypedDict):
    results: list[EpisodeHit]
    count: int
    retrieval: Literal["hybrid", "tfidf"]
    degraded: NotRequired[str]
    coverage: NotRequired[float]


class Consolidated(TypedDict):
    consolidated: int
    before: str
    note: str


class Entity(TypedDict):
    entity_id: str
    type: str
    description: NotRequired[str]
    metadata: NotRequired[dict[str, Any]]


class StoredEntity(TypedDict):
    id: str
    entity_id: str
    stored: Literal[True]


class FoundEntity(TypedDict):
    found: bool
    entity: NotRequired[Entity]


class Entities(TypedDict):
    entities: list[Entity]
    count: int
    next_cursor: NotRequired[str]


class EntityHit(TypedDict):
    entity: Entity
    score: float


class EntityHits(TypedDict):
    results: list[EntityHit]
    count: int


class StoredRelation(TypedDict):
    id: str
    from_id: str
    to_id: str
    predicate: str
    stored: Literal[True]


class Triple(TypedDict):
    subject: str
    predicate: str
    object: str


class StoredTriple(Triple):
    stored: Literal[True]
    triple_id: str


class Relations(TypedDict):
    relations: list[dict[str, Any]]
    count: int
    entity_id: str


class TripleNeighbors(TypedDict):
    node: str
    depth: int
    direction: str
    neighbors: list[Triple]
    count: int


class ShortestPath(TypedDict):
    found: bool
    hops: int
    path: list[Any]
    undirected: bool


class Path(TypedDict):
    path: list[Any]
    hops: int
    from_id: str
    to_id: str


class Neighbors(TypedDict):
    neighbors: list[Any]
    count: int
    entity_id: str
    hops: int


class Traversal(TypedDict):
    visited: list[Any]
    count: int
    start_id: str
    algorithm: str
    max_depth: int


class StoredProcedure(TypedDict):
    id: str
    name: str
    stored: Literal[True]


class Procedure(TypedDict):
    id: str
    name: str
    steps: list[Any]
    description: NotRequired[str]
    tags: NotRequired[list[str]]
    preconditions: NotRequired[list[str]]


class FoundProcedure(TypedDict):
    found: bool
    procedure: NotRequired[Procedure]


class ProcedureMatches(TypedDict):
    results: list[dict[str, Any]]
    count: int


class UpdatedProcedure(TypedDict):
    new_id: str
    old_procedure_id: str
    updated: Literal[True]


class SetWorking(TypedDict):
    key: str
    set: Literal[True]
    ttl_seconds: NotRequired[int]


class WorkingItem(TypedDict):
    key: str
    content: str
    session_id: NotRequired[str]
    expires_at: NotRequired[str]


class FoundWorking(TypedDict):
    found: bool
    item: NotRequired[WorkingItem]


class WorkingItems(TypedDict):
    items: list[WorkingItem]
    count: int
    next_cursor: NotRequired[str]


class ClearedWorking(TypedDict):
    key: NotRequired[str]
    removed: NotRequired[bool]
    cleared: NotRequired[bool]
    keys_deleted: NotRequired[int]


class Deposit(TypedDict):
    node_id: str
    new_weight: float
    node_type: Literal["episode", "entity"]


class Trail(TypedDict):
    node_id: str
    weight: NotRequired[float]
    node_type: NotRequired[Literal["episode", "entity"]]
    found: NotRequired[bool]


class CreatedSpace(TypedDict):
    space_id: str
    name: str
    owner_did: str
    members: int
    created_at: str
    status: Literal["created"]


class JoinedSpace(TypedDict):
    space_id: str
    agent_did: str
    role: str
    members: int
    status: Literal["joined"]


class SharedEntity(TypedDict):
    space_id: str
    entity_id: str
    name: str
    entity_type: str
    stored_by: str
    status: Literal["stored"]


class SharedHits(TypedDict):
    space_id: str
    query: str
    count: int
    results: list[dict[str, Any]]


class Spaces(TypedDict):
    agent_did: str
    count: int
    spaces: list[dict[str, Any]]


class Counts(TypedDict):
    episode_count: int
    entity_count: int
    relation_count: int
    procedure_count: int
    working_count: int


class Stats(TypedDict):
    agent_id: str
    tier: str
    monthly_ops_used: int
    monthly_op_limit: NotRequired[int]
    memory: Counts


class Erased(TypedDict):
    agent_id: str
    deleted: Literal[True]
    note: str
