"""The tools as functions that describe a call; a client turns a description into an answer.

Each function's parameters are the tool's arguments; None leaves an argument out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar

from agentverse_memory import types

Result = TypeVar("Result")

Step = str | Mapping[str, Any]


@dataclass(frozen=True)
class Operation(Generic[Result]):
    """One call of a tool."""

    tool: str
    arguments: Mapping[str, Any]
    writes: bool = False
    """Whether it takes an idempotency key, without which it must not be sent twice."""
    shared: bool = False
    """Whether it needs a space token."""


def _repeatable(tool: str, **arguments: Any) -> Operation[Any]:
    return Operation(tool, _given(arguments))


def _write(tool: str, **arguments: Any) -> Operation[Any]:
    return Operation(tool, _given(arguments), writes=True)


def _shared(tool: str, writes: bool = False, **arguments: Any) -> Operation[Any]:
    return Operation(tool, _given(arguments), writes, shared=True)


def _given(arguments: Mapping[str, Any]) -> dict[str, Any]:
    return {name.removesuffix("_"): value for name, value in arguments.items() if value is not None}


def store_episode(
    content: str,
    *,
    metadata: Mapping[str, Any] | None = None,
    valid_at: str | None = None,
    chunk: bool | None = None,
    chunk_threshold: int | None = None,
    chunk_size: int | None = None,
    chunk_overlap: int | None = None,
    idempotency_key: str | None = None,
) -> Operation[types.StoredEpisode]:
    """Remember an event; `session_id` and `speaker` in the metadata make recall better."""
    return _write("memory_store_episode", **locals())


def get_episodes(limit: int | None = None, *, cursor: str | None = None) -> Operation[types.Episodes]:
    """The newest episodes."""
    return _repeatable("memory_get_episodes", **locals())


def search_episodes(
    query: str,
    *,
    limit: int | None = None,
    use_hybrid: bool | None = None,
    use_pheromone: bool | None = None,
    max_content_chars: int | None = None,
    session_id: str | None = None,
    speaker: str | None = None,
    metadata: Mapping[str, Any] | None = None,
    start_time: str | None = None,
    end_time: str | None = None,
    explain: bool | None = None,
) -> Operation[types.EpisodeHits]:
    """Episodes by meaning and words, best first."""
    return _repeatable("memory_search_episodes", **locals())


def search_timeline(
    start_time: str, end_time: str, *, limit: int | None = None, cursor: str | None = None
) -> Operation[types.Timeline]:
    """Episodes that were valid from `start_time` up to, not including, `end_time`."""
    return _repeatable("memory_search_timeline", **locals())


def consolidate_episodes(before_time: str | None = None, *, idempotency_key: str | None = None) -> Operation[types.Consolidated]:
    """Merge related old episodes and let go of those whose trail has faded."""
    return _write("memory_consolidate_episodes", **locals())


def store_entity(
    entity_id: str,
    *,
    type: str | None = None,
    description: str | None = None,
    predicate: str | None = None,
    object_value: str | None = None,
    metadata: Mapping[str, Any] | None = None,
    idempotency_key: str | None = None,
) -> Operation[types.StoredEntity]:
    """Store or update a named thing, and optionally one fact about it."""
    return _write("memory_store_entity", **locals())


def get_entity(entity_id: str) -> Operation[types.FoundEntity]:
    """An entity by name or id."""
    return _repeatable("memory_get_entity", **locals())


def list_entities(
    limit: int | None = None, *, type: str | None = None, prefix: str | None = None, cursor: str | None = None
) -> Operation[types.Entities]:
    """Entities by name."""
    return _repeatable("memory_list_entities", **locals())


def store_relation(
    from_id: str, to_id: str, predicate: str, *, weight: float | None = None, idempotency_key: str | None = None
) -> Operation[types.StoredRelation]:
    """Relate two entities; new names become entities."""
    return _write("memory_store_relation", **locals())


def get_relations(entity_id: str, *, limit: int | None = None, cursor: str | None = None) -> Operation[types.Relations]:
    """Everything that points from or to an entity."""
    return _repeatable("memory_get_relations", **locals())


def query_graph(query: str, *, limit: int | None = None) -> Operation[types.GraphMatches]:
    """Facts that hold the words of the query, and what surrounds them."""
    return _repeatable("memory_query_graph", **locals())


def semantic_search(query: str, *, limit: int | None = None) -> Operation[types.EntityHits]:
    """Entities by meaning and words, best first."""
    return _repeatable("memory_semantic_search", **locals())


def get_neighbors(
    entity_id: str, *, hops: int | None = None, direction: types.Direction | None = None, limit: int | None = None
) -> Operation[types.Neighbors]:
    """Entities around an entity."""
    return _repeatable("memory_get_neighbors", **locals())


def find_path(
    from_id: str,
    to_id: str,
    *,
    max_hops: int | None = None,
    strategy: types.Strategy | None = None,
) -> Operation[types.Path]:
    """The cheapest path by A*; builder tier and up."""
    return _repeatable("memory_find_path", **locals())


def traverse_graph(
    start_id: str,
    *,
    algorithm: types.Algorithm | None = None,
    max_depth: int | None = None,
    direction: types.Direction | None = None,
    limit: int | None = None,
) -> Operation[types.Traversal]:
    """What is reached from a node."""
    return _repeatable("memory_traverse_graph", **locals())


def add_triple(subject: str, predicate: str, object: str, *, idempotency_key: str | None = None) -> Operation[types.StoredTriple]:
    """Add a fact to the graph."""
    return _write("memory_graph_add_triple", **locals())


def graph_neighbors(
    node: str, *, depth: int | None = None, direction: types.Direction | None = None, limit: int | None = None
) -> Operation[types.TripleNeighbors]:
    """Facts around a node."""
    return _repeatable("memory_graph_neighbors", **locals())


def shortest_path(from_: str, to: str, *, undirected: bool | None = None) -> Operation[types.ShortestPath]:
    """A path of the fewest hops."""
    return _repeatable("memory_graph_shortest_path", **locals())


def store_procedure(
    name: str,
    *,
    description: str | None = None,
    steps: Sequence[Step] | None = None,
    tags: Sequence[str] | None = None,
    preconditions: Sequence[str] | None = None,
    idempotency_key: str | None = None,
) -> Operation[types.StoredProcedure]:
    """Store how something is done."""
    return _write("memory_store_procedure", **locals())


def get_procedure(procedure_id: str | None = None, *, name: str | None = None) -> Operation[types.FoundProcedure]:
    """A procedure by id, or the newest version by name."""
    return _repeatable("memory_get_procedure", **locals())


def match_procedure(task: str, *, limit: int | None = None) -> Operation[types.ProcedureMatches]:
    """Procedures that fit a task, the proven ones first."""
    return _repeatable("memory_match_procedure", **locals())


def update_procedure(
    procedure_id: str | None = None,
    *,
    name: str | None = None,
    steps: Sequence[Step] | None = None,
    outcome: Literal["success", "failure"] | None = None,
    reason: str | None = None,
    idempotency_key: str | None = None,
) -> Operation[types.UpdatedProcedure]:
    """A new version with other steps, or how a run went, or both."""
    return _write("memory_update_procedure", **locals())


def set_working(
    key: str,
    content: Any,
    *,
    ttl_seconds: int | None = None,
    session_id: str | None = None,
    idempotency_key: str | None = None,
) -> Operation[types.SetWorking]:
    """Keep a value for the task at hand; anything but text is stored as JSON."""
    return _write("memory_set_working", **locals())


def get_working(key: str, *, session_id: str | None = None) -> Operation[types.FoundWorking]:
    """A working-memory value."""
    return _repeatable("memory_get_working", **locals())


def list_working(
    *, prefix: str | None = None, session_id: str | None = None, limit: int | None = None, cursor: str | None = None
) -> Operation[types.WorkingItems]:
    """All live working-memory values."""
    return _repeatable("memory_list_working", **locals())


def clear_working(
    key: str | None = None, *, prefix: str | None = None, session_id: str | None = None
) -> Operation[types.ClearedWorking]:
    """Delete one value, those with a prefix, a session's, or all."""
    return _repeatable("memory_clear_working", **locals())


def deposit_pheromone(
    node_id: str, *, strength: float | None = None, idempotency_key: str | None = None
) -> Operation[types.Deposit]:
    """Reinforce an episode or entity."""
    return _write("memory_deposit_pheromone", **locals())


def get_pheromone(node_id: str) -> Operation[types.Trail]:
    """The trail weight of an episode or entity."""
    return _repeatable("memory_get_pheromone", **locals())


def create_shared_space(name: str, *, idempotency_key: str | None = None) -> Operation[types.CreatedSpace]:
    """Create a space that other agents can join."""
    return _shared("memory_create_shared_space", writes=True, **locals())


def join_shared_space(
    space_id: str, *, role: types.Role | None = None, idempotency_key: str | None = None
) -> Operation[types.JoinedSpace]:
    """Join a space to which an invitation or the own account gives access."""
    return _shared("memory_join_shared_space", writes=True, **locals())


def shared_store_entity(
    space_id: str,
    name: str,
    *,
    entity_type: str | None = None,
    description: str | None = None,
    idempotency_key: str | None = None,
) -> Operation[types.SharedEntity]:
    """Store an entity where all members see it."""
    return _shared("memory_shared_store_entity", writes=True, **locals())


def shared_query(space_id: str, query: str | None = None, *, limit: int | None = None) -> Operation[types.SharedHits]:
    """Search a space; without a query, list it."""
    return _shared("memory_shared_query", **locals())


def list_shared_spaces() -> Operation[types.Spaces]:
    """The spaces this agent belongs to."""
    return _shared("memory_list_shared_spaces")


def get_stats() -> Operation[types.Stats]:
    """What is stored and used."""
    return _repeatable("memory_get_stats")


def delete_agent(*, confirm: bool) -> Operation[types.Erased]:
    """Erase everything this agent remembers; it cannot be undone."""
    return _repeatable("memory_delete_agent", **locals())
