"""What the calls return. Keys that a server of a later version adds are kept as they come."""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict

Direction = Literal["outgoing", "incoming", "both"]
Algorithm = Literal["bfs", "dfs"]
Strategy = Literal["pheromone", "shortest", "semantic"]
Role = Literal["owner", "writer", "reader"]
Target = Literal["episode", "entity", "edge"]


class NewKey(TypedDict):
    agent_id: str
    key: str
    key_id: str
    tier: str
    monthly_op_limit: NotRequired[int]
    warning: str


class Chunk(TypedDict):
    index: int
    count: int
    of: str


class Episode(TypedDict):
    id: str
    content: str
    valid_at: str
    created_at: str
    metadata: NotRequired[dict[str, Any]]
    chunk: NotRequired[Chunk]


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


class Window(TypedDict):
    start: str
    end: str


class Timeline(Episodes):
    window: Window


class EpisodeHit(TypedDict):
    episode: Episode
    score: float
    ranks: NotRequired[dict[str, int]]


class EpisodeHits(TypedDict):
    results: list[EpisodeHit]
    count: int
    retrieval: Literal["hybrid", "tfidf"]
    degraded: NotRequired[str]
    coverage: NotRequired[float]


class Merged(TypedDict):
    summary_id: str
    sources: list[str]
    kept: NotRequired[list[str]]


class Consolidated(TypedDict):
    consolidated: int
    before: str
    note: str
    merged: NotRequired[list[Merged]]
    forgotten: NotRequired[list[str]]
    remaining: NotRequired[int]


class Entity(TypedDict):
    id: str
    entity_id: str
    type: str
    description: NotRequired[str]


class WholeEntity(Entity):
    metadata: NotRequired[dict[str, Any]]
    pheromone: NotRequired[float]
    updated_at: NotRequired[str]


class StoredEntity(TypedDict):
    id: str
    entity_id: str
    stored: Literal[True]
    triple_id: NotRequired[str]


class FoundEntity(TypedDict):
    found: bool
    entity: NotRequired[WholeEntity]
    entity_id: NotRequired[str]


class Entities(TypedDict):
    entities: list[Entity]
    count: int
    next_cursor: NotRequired[str]


class Triple(TypedDict):
    subject: str
    predicate: str
    object: str


class EntityHit(TypedDict):
    entity: Entity
    score: float
    matched: list[str]
    facts: NotRequired[list[Triple]]


class EntityHits(TypedDict):
    results: list[EntityHit]
    count: int


class StoredRelation(TypedDict):
    id: str
    from_id: str
    to_id: str
    predicate: str
    stored: Literal[True]


class Relation(TypedDict):
    id: str
    from_id: str
    to_id: str
    predicate: str
    weight: float


class Relations(TypedDict):
    relations: list[Relation]
    count: int
    entity_id: str
    next_cursor: NotRequired[str]


class StoredTriple(Triple):
    stored: Literal[True]
    triple_id: str


class TripleNeighbors(TypedDict):
    node: str
    depth: int
    direction: Direction
    neighbors: list[Triple]
    count: int
    truncated: NotRequired[bool]


class TripleHit(Triple):
    score: float


class Node(TypedDict):
    entity_id: str
    type: NotRequired[str]
    description: NotRequired[str]


class GraphMatches(TypedDict):
    query: str
    edges: list[TripleHit]
    nodes: list[Node]
    context: list[Triple]
    count: int
    truncated: NotRequired[bool]


ShortestPath = TypedDict(
    "ShortestPath",
    {"from": str, "to": str, "undirected": bool, "found": bool, "hops": int, "path": list[str], "edges": list[Triple]},
)


class Path(TypedDict):
    found: bool
    path: list[str]
    edges: list[Triple]
    hops: int
    from_id: str
    to_id: str
    strategy: Strategy
    cost: NotRequired[float]


class Neighbor(Node):
    hops: int


class Neighbors(TypedDict):
    neighbors: list[Neighbor]
    count: int
    entity_id: str
    hops: int
    truncated: NotRequired[bool]


class Visited(TypedDict):
    entity_id: str
    depth: int
    type: NotRequired[str]


class Traversal(TypedDict):
    visited: list[Visited]
    count: int
    start_id: str
    algorithm: Algorithm
    max_depth: int
    truncated: NotRequired[bool]


class StoredProcedure(TypedDict):
    id: str
    name: str
    stored: Literal[True]
    version: int


class Procedure(TypedDict):
    id: str
    name: str
    version: int
    newest: bool
    steps: list[str | dict[str, Any]]
    tags: list[str]
    preconditions: list[str]
    success_count: int
    failure_count: int
    success_rate: NotRequired[float]
    description: NotRequired[str]
    supersedes: NotRequired[str]
    reason: NotRequired[str]
    created_at: NotRequired[str]


class FoundProcedure(TypedDict):
    found: bool
    procedure: NotRequired[Procedure]
    procedure_id: NotRequired[str]
    name: NotRequired[str]


class ProcedureMatch(TypedDict):
    procedure: Procedure
    score: float


class ProcedureMatches(TypedDict):
    results: list[ProcedureMatch]
    count: int


class UpdatedProcedure(TypedDict):
    new_id: str
    old_procedure_id: str
    updated: Literal[True]
    version: int
    success_count: int
    failure_count: int


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
    key: NotRequired[str]


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
    node_type: Target


class Trail(TypedDict):
    node_id: str
    weight: NotRequired[float]
    node_type: NotRequired[Target]
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
    role: Role
    members: int
    status: Literal["joined"]


class SharedEntity(TypedDict):
    space_id: str
    entity_id: str
    name: str
    entity_type: str
    stored_by: str
    status: Literal["stored"]


class SharedHit(TypedDict):
    id: str
    name: str
    entity_type: str
    description: str
    score: NotRequired[float]


class SharedHits(TypedDict):
    space_id: str
    query: str
    count: int
    results: list[SharedHit]


class Space(TypedDict):
    space_id: str
    name: str
    owner_did: str
    my_role: Role
    member_count: int
    created_at: str


class Spaces(TypedDict):
    agent_did: str
    count: int
    spaces: list[Space]


class Counts(TypedDict):
    episode_count: int
    entity_count: int
    relation_count: int
    procedure_count: int
    working_count: int


class RateLimit(TypedDict):
    remaining: int
    reset: str


class Stats(TypedDict):
    agent_id: str
    tier: str
    monthly_ops_used: int
    monthly_op_limit: NotRequired[int]
    rate_limit: NotRequired[RateLimit]
    memory: Counts


class Erased(TypedDict):
    agent_id: str
    deleted: Literal[True]
    erased: dict[str, int]
    note: str
