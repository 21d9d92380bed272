"""Shared spaces: knowledge that several agents keep together, each in a role that the store remembers."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Annotated, Any, Literal, NotRequired
from uuid import uuid4

from pydantic import Field
from typing_extensions import TypedDict

from am_server.errors import Conflict, Forbidden, Invalid
from am_server.identity.attempts import attempts
from am_server.identity.caller import Caller
from am_server.identity.memberships import NOT_OPEN, founding, join, memberships, require_role
from am_server.memory.names import MAX_NAME_BYTES, entity_uuid, exact
from am_server.store.port import SERVER_TIME, AlreadyExists, Changed, Document, merge, put
from am_server.store.port import Field as Value
from am_server.times import show
from am_server.tools.call import Call
from am_server.tools.idempotency import commit_once
from am_server.tools.registry import ADD, READ, UPSERT, Arguments, tool
from am_server.views.erasure import ERASED

if TYPE_CHECKING:
    from am_server.memory.graph import Graph

MAX_DESCRIPTION_BYTES = 64 * 1024
MAX_RESULTS = 1_000

SpaceId = Annotated[str, Field(min_length=1, max_length=64, description="Id of the space; memory_list_shared_spaces tells it.")]
Name = Annotated[str, Field(min_length=1)]
RoleName = Literal["owner", "writer", "reader"]
OnceKey = Annotated[
    str | None, Field(description="Text of your choice, e.g. a UUID; a retry with the same key returns the first answer.")
]


# --- founding


class CreateSharedSpace(Arguments):
    name: str = Field(min_length=1, max_length=128, description="What the space is called, 1 to 128 characters.")
    idempotency_key: OnceKey = None


class CreateSharedSpaceResult(TypedDict):
    space_id: str
    name: str
    owner_did: str
    members: int
    created_at: str
    status: Literal["created"]


@tool(
    toolset="shared",
    title="Create a shared space",
    description="""Create a space in which several agents keep knowledge together; you become its owner. Get a new token from
    POST /v1/space-token afterwards: the present one does not name the new space yet. Agents of your own account may then join it;
    for others make an invitation with POST /v1/space-token {"invite": {"space_id", "role"}}.""",
    result=CreateSharedSpaceResult,
    hints=ADD,
    requires="spaces",
    examples=[{"name": "project-apollo"}],
)
def memory_create_shared_space(call: Call, args: CreateSharedSpace) -> dict[str, Any]:
    if not args.name.strip():
        raise Invalid("name", "must hold more than blanks")
    caller, space_id = call.caller, _space_id(call.caller, args.idempotency_key)
    account, path = f"accounts/{caller.account}", f"spaces/{space_id}"
    for _ in attempts("many spaces are being created in this account at the same time; try again"):
        found, *rest = call.store.get_many([account] if args.idempotency_key is None else [account, path])
        earlier = rest[0] if rest else None
        if earlier is not None:
            return _created_before(caller, earlier, args.name)
        assert found is not None, "an authenticated caller has an account"
        writes = founding(caller, found, space_id, args.name, call.now)
        if args.idempotency_key is not None:
            # an earlier space of this id may have been erased: its entities must not come back from anybody's view
            writes.append(put(f"{path}/graph/{ERASED}", {"kind": ERASED, "changed_at": SERVER_TIME}))
        try:
            call.store.commit(writes)
        except (Changed, AlreadyExists):
            continue
        return _created(space_id, args.name, caller.did, call.now)
    raise AssertionError("attempts() ends by raising")


def _space_id(caller: Caller, idempotency_key: str | None) -> str:
    """Random; with an idempotency key the same every time, so that a retry runs into the space that is there."""
    if idempotency_key is None:
        return uuid4().hex
    return hashlib.sha256(f"{caller.agent_uid}/{idempotency_key}".encode()).hexdigest()[:32]


def _created_before(caller: Caller, space: Document, name: str) -> dict[str, Any]:
    data = space.data
    if data["name"] != name or data["owner_uid"] != caller.agent_uid:
        raise Conflict("this idempotency_key was used with other arguments; send a new key for a new space")
    return _created(space.id, name, caller.did, int(data["created_at"]))  # type: ignore[arg-type]


def _created(space_id: str, name: str, did: str, created_at: int) -> dict[str, Any]:
    made = {"space_id": space_id, "name": name, "owner_did": did, "members": 1, "created_at": show(created_at)}
    return {**made, "status": "created"}


# --- joining


class JoinSharedSpace(Arguments):
    space_id: SpaceId
    role: RoleName | None = Field(
        None, description="At most the role you were invited as; when left out writer, or reader for whom that is the limit."
    )
    idempotency_key: OnceKey = None


class JoinSharedSpaceResult(TypedDict):
    space_id: str
    agent_did: str
    role: RoleName
    members: int
    status: Literal["joined"]


@tool(
    toolset="shared",
    title="Join a shared space",
    description="""Become a member of a space that your token names. Agents of the owner's account may join as they are; others
    first redeem an invitation with POST /v1/space-token {"redeem": "<invitation>"} and use the token they get. Joining again
    changes nothing, except that it raises your role when you were invited to a higher one and ask for it.""",
    result=JoinSharedSpaceResult,
    hints=UPSERT,
    requires="spaces",
)
def memory_join_shared_space(call: Call, args: JoinSharedSpace) -> dict[str, Any]:
    _check_open(call.caller, args.space_id)
    role, members = join(call.store, call.caller, args.space_id, args.role, call.now)
    return {"space_id": args.space_id, "agent_did": call.caller.did, "role": role, "members": members, "status": "joined"}


# --- what a space holds


class SharedStoreEntity(Arguments):
    space_id: SpaceId
    name: Name = Field(description="Name of the entity; storing the same name again replaces its type and description.")
    entity_type: str = Field("thing", min_length=1, description="What kind of thing it is, e.g. person, vendor, decision.")
    description: str = Field("", description="What the members should know about it.")
    idempotency_key: OnceKey = None


class SharedStoreEntityResult(TypedDict):
    space_id: str
    entity_id: str
    name: str
    entity_type: str
    stored_by: str
    status: Literal["stored"]


@tool(
    toolset="shared",
    title="Store an entity in a shared space",
    description="""Put a named entity into a shared space, where every member can find it with memory_shared_query. Takes the role
    writer or owner. For what only you should know use memory_store_entity.""",
    result=SharedStoreEntityResult,
    hints=UPSERT,
    requires="spaces",
)
def memory_shared_store_entity(call: Call, args: SharedStoreEntity) -> dict[str, Any]:
    for field, limit in (("name", MAX_NAME_BYTES), ("entity_type", MAX_NAME_BYTES), ("description", MAX_DESCRIPTION_BYTES)):
        if len(getattr(args, field).encode()) > limit:
            raise Invalid(field, f"at most {limit} bytes")
    if not args.name.strip():
        raise Invalid("name", "must hold more than blanks")
    _check_open(call.caller, args.space_id)
    require_role(call.store, call.caller.agent_uid, args.space_id, "writer")
    name, entity_id = exact(args.name), entity_uuid(args.name)
    entity: dict[str, Value] = {
        "kind": "entity",
        "entity_id": name,
        "type": args.entity_type,
        "description": args.description,
        "stored_by": call.caller.did,
        "changed_at": SERVER_TIME,
    }
    response = {
        "space_id": args.space_id,
        "entity_id": entity_id,
        "name": name,
        "entity_type": args.entity_type,
        "stored_by": call.caller.did,
        "status": "stored",
    }
    writes = [merge(f"spaces/{args.space_id}/graph/{entity_id}", entity)]
    return commit_once(call, args, "memory_shared_store_entity", writes, response)


class SharedQuery(Arguments):
    space_id: SpaceId
    query: str = Field("", description="What to look for, in words; everything is listed when it is empty.")
    limit: int = Field(10, ge=1, description=f"Most results to return; at most {MAX_RESULTS}.")


class SharedEntity(TypedDict):
    id: str
    name: str
    entity_type: str
    description: str
    score: NotRequired[float]


class SharedQueryResult(TypedDict):
    space_id: str
    query: str
    count: int
    results: list[SharedEntity]


@tool(
    toolset="shared",
    title="Query a shared space",
    description="""Find what the members of a shared space have stored: entities whose name, type or description hold the words of
    the query, the best first with a score; without a query all entities by name. Any member may ask.""",
    result=SharedQueryResult,
    hints=READ,
    requires="spaces",
)
def memory_shared_query(call: Call, args: SharedQuery) -> dict[str, Any]:
    _check_open(call.caller, args.space_id)
    require_role(call.store, call.caller.agent_uid, args.space_id, "reader")
    from am_server.memory.graph_text import rank_nodes

    graph, limit = call.views.space(args.space_id), min(args.limit, MAX_RESULTS)
    if args.query.strip():
        best = rank_nodes(graph, args.query, None, limit)
        results = [{**_entity(graph, match.node), "score": round(match.score, 6)} for match in best]
    else:
        results = [_entity(graph, node) for node in graph.entities[:limit]]
    return {"space_id": args.space_id, "query": args.query, "count": len(results), "results": results}


def _entity(graph: Graph, node: int) -> dict[str, Any]:
    name = graph.nodes.names[node]
    return {"id": entity_uuid(name), "name": name, "entity_type": graph.types[node], "description": graph.descriptions[node]}


class ListSharedSpaces(Arguments):
    pass


class SharedSpace(TypedDict):
    space_id: str
    name: str
    owner_did: str
    my_role: RoleName
    member_count: int
    created_at: str


class ListSharedSpacesResult(TypedDict):
    agent_did: str
    count: int
    spaces: list[SharedSpace]


@tool(
    toolset="shared",
    title="List my shared spaces",
    description="The shared spaces that you are a member of, with your role in each.",
    result=ListSharedSpacesResult,
    hints=READ,
    requires="spaces",
)
def memory_list_shared_spaces(call: Call, args: ListSharedSpaces) -> dict[str, Any]:
    spaces = [
        {
            "space_id": space.space_id,
            "name": space.name,
            "owner_did": space.owner_did,
            "my_role": space.role,
            "member_count": space.member_count,
            "created_at": show(space.created_at),
        }
        for space in memberships(call.store, call.caller.agent_uid)
    ]
    return {"agent_did": call.caller.did, "count": len(spaces), "spaces": spaces}


def _check_open(caller: Caller, space_id: str) -> None:
    """A token opens the spaces it names and no others; what is not among them never becomes part of a path."""
    if caller.grant is None or space_id not in caller.grant.spaces:
        raise Forbidden(NOT_OPEN)
