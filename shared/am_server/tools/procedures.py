"""Procedures: how something is done, in versions, with a record of how well it worked.

Each version is a document of its own and never changes. A further document, whose id follows from the procedure's name,
holds the newest version and the outcomes of all; it moves on by compare-and-set, so that no update is lost.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal, NotRequired

from pydantic import Field, model_validator
from typing_extensions import TypedDict

from am_server.errors import Invalid, NotFound
from am_server.identity.attempts import attempts
from am_server.memory.names import procedure_uuid, uuid_version
from am_server.store.port import SERVER_TIME, AlreadyExists, Changed, CommitResult, Document, Increment, Write, create, update
from am_server.times import show
from am_server.tools.call import Call
from am_server.tools.idempotency import commit_once
from am_server.tools.nodes import KEY_HELP, MAX_DESCRIPTION_BYTES, IdempotencyKey, Limit, Name
from am_server.tools.registry import ADD, READ, Arguments, tool

MAX_STEPS_BYTES = 64 * 1024
MAX_LIST_BYTES = 16 * 1024
MAX_MATCHES = 50

Step = str | dict[str, Any]
Steps = Annotated[list[Step], Field(max_length=1_000)]
STEPS_HELP = "Ordered steps: plain texts, or objects {action, tool?, expected_output?}."


class Procedure(TypedDict):
    """One version of a procedure. The counts are those of the procedure in all its versions."""

    id: str
    name: str
    version: int
    newest: bool
    description: NotRequired[str]
    steps: list[Step]
    tags: list[str]
    preconditions: list[str]
    success_count: int
    failure_count: int
    success_rate: NotRequired[float]
    supersedes: NotRequired[str]
    reason: NotRequired[str]
    created_at: NotRequired[str]


# --- memory_store_procedure


class StoreProcedure(Arguments):
    name: Name = Field(description="Name of the procedure, e.g. 'deploy service'. A name that exists gets a new version.")
    description: str | None = Field(None, description="What it is for and when to use it; memory_match_procedure searches it.")
    steps: Steps = Field(default_factory=list, description=STEPS_HELP)
    tags: list[str] = Field(default_factory=list, description="Words to find it by.")
    preconditions: list[str] = Field(default_factory=list, description="What must hold before it can be used.")
    idempotency_key: IdempotencyKey = Field(None, description=KEY_HELP)


class StoreProcedureResult(TypedDict):
    id: str
    name: str
    stored: Literal[True]
    version: int


@tool(
    toolset="procedural",
    title="Store a procedure",
    description="""Remember how something is done: a named sequence of steps that can be found again by task with
    memory_match_procedure. Storing a name again makes a new version with exactly what you pass; its outcomes are kept, and
    old versions stay readable by id. After using one, record how it went with memory_update_procedure.""",
    result=StoreProcedureResult,
    hints=ADD,
    examples=[
        {
            "name": "brew tea",
            "description": "Make a good pot of tea",
            "steps": ["boil water", "steep for 4 minutes"],
            "tags": ["kitchen"],
        }
    ],
)
def memory_store_procedure(call: Call, args: StoreProcedure) -> dict[str, Any]:
    content = {
        "name": args.name,
        "steps": _text("steps", args.steps, MAX_STEPS_BYTES),
        "tags": _text("tags", args.tags, MAX_LIST_BYTES),
        "preconditions": _text("preconditions", args.preconditions, MAX_LIST_BYTES),
    }
    if args.description:
        if len(args.description.encode()) > MAX_DESCRIPTION_BYTES:
            raise Invalid("description", f"at most {MAX_DESCRIPTION_BYTES} bytes")
        content["description"] = args.description

    def attempt(newest: Document | None) -> dict[str, Any]:
        id, version, writes = _next_version(call, newest, content)
        response = {"id": id, "name": args.name, "stored": True, "version": version}
        return commit_once(call, args, "memory_store_procedure", writes, response)

    try:
        return attempt(None)
    except AlreadyExists:
        return _until_not_overtaken(lambda: attempt(call.store.get(call.path("procedures", procedure_uuid(args.name)))))


def _text(field: str, value: list[Any], limit: int) -> str:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    if len(text.encode()) > limit:
        raise Invalid(field, f"at most {limit} bytes as JSON")
    return text


# --- memory_get_procedure


class Which(Arguments):
    """Which procedure is meant."""

    procedure_id: str | None = Field(None, description="Id of a version. One of procedure_id and name is required.")
    name: Name | None = Field(None, description="Name of the procedure; means its newest version.")

    @model_validator(mode="after")
    def _one_is_given(self) -> Which:
        if not self.procedure_id and not self.name:
            raise Invalid("procedure_id", "required field missing or invalid: pass procedure_id or name")
        return self


class GetProcedure(Which):
    pass


class GetProcedureResult(TypedDict):
    found: bool
    procedure: NotRequired[Procedure]
    procedure_id: NotRequired[str]
    name: NotRequired[str]


@tool(
    toolset="procedural",
    title="Get a procedure",
    description="""Read a procedure with its steps and how often it succeeded and failed: the newest version by name, or any
    version by its id. Answers found: false when there is none; memory_match_procedure finds procedures by task.""",
    result=GetProcedureResult,
    hints=READ,
    examples=[{"name": "brew tea"}],
)
def memory_get_procedure(call: Call, args: GetProcedure) -> dict[str, Any]:
    version, newest = _find(call, args)
    if newest is not None:
        return {"found": True, "procedure": _shown(version or newest, newest)}
    return {"found": False, **({"procedure_id": args.procedure_id} if args.procedure_id else {"name": args.name})}


# --- memory_match_procedure


class MatchProcedure(Arguments):
    task: str = Field(max_length=20_000, description="The task at hand, in plain words: 'roll out the new release'.")
    limit: Limit = Field(5, description=f"Most procedures to return; at most {MAX_MATCHES}.")


class ProcedureMatch(TypedDict):
    """A procedure that fits the task."""

    procedure: Procedure
    score: float


class MatchProcedureResult(TypedDict):
    results: list[ProcedureMatch]
    count: int


@tool(
    toolset="procedural",
    title="Find procedures for a task",
    description="""Find stored procedures that fit a task, best first. They are ranked by the words of their name, tags,
    description and steps, and those that succeeded more often come before those that failed. Look here before you work out
    how to do something.""",
    result=MatchProcedureResult,
    hints=READ,
    examples=[{"task": "make some tea"}],
)
def memory_match_procedure(call: Call, args: MatchProcedure) -> dict[str, Any]:
    results = []
    for found, score in call.views.procedures(call.caller.agent_uid).match(args.task, min(args.limit, MAX_MATCHES)):
        shown: dict[str, Any] = {"id": found.id, "name": found.name, "version": found.version, "newest": True}
        if found.description:
            shown["description"] = found.description
        shown |= {"steps": found.steps, "tags": found.tags, "preconditions": found.preconditions}
        results.append({"procedure": {**shown, **_record(found.successes, found.failures)}, "score": score})
    return {"results": results, "count": len(results)}


# --- memory_update_procedure


class UpdateProcedure(Which):
    steps: Steps | None = Field(None, description=f"New steps; they replace the old ones in a new version. {STEPS_HELP}")
    outcome: Literal["success", "failure"] | None = Field(
        None, description="How using the procedure went; counted, without a new version."
    )
    reason: str | None = Field(None, max_length=4_000, description="Why the steps change.")
    idempotency_key: IdempotencyKey = Field(None, description=KEY_HELP)


class UpdateProcedureResult(TypedDict):
    new_id: str
    old_procedure_id: str
    updated: Literal[True]
    version: int
    success_count: int
    failure_count: int


@tool(
    toolset="procedural",
    title="Update a procedure or record an outcome",
    description="""Change a procedure's steps, which makes a new version and keeps everything else, or record with outcome
    whether using it succeeded or failed, or both. Pass steps, outcome, or both. Recorded outcomes decide what
    memory_match_procedure prefers, so record one after each use. new_id is the newest version's id; without steps no version
    is made and it is the one there was.""",
    result=UpdateProcedureResult,
    hints=ADD,
    examples=[{"name": "brew tea", "outcome": "success"}, {"name": "brew tea", "steps": ["warm the pot", "boil water", "steep"]}],
)
def memory_update_procedure(call: Call, args: UpdateProcedure) -> dict[str, Any]:
    if args.steps is None and args.outcome is None:
        raise Invalid("steps", "required field missing or invalid: pass steps, outcome, or both")
    return _until_not_overtaken(lambda: _update(call, args))


def _update(call: Call, args: UpdateProcedure) -> dict[str, Any]:
    _, newest = _find(call, args)
    if newest is None:
        raise NotFound("no procedure has this id or name; store it first with memory_store_procedure")
    data: Any = newest.data
    counts = {name: int(data.get(name, 0)) for name in ("success_count", "failure_count")}
    old = args.procedure_id if args.procedure_id and uuid_version(args.procedure_id) else data["version_id"]
    response = {"new_id": data["version_id"], "old_procedure_id": old, "updated": True, "version": data["version"]}
    if args.steps is None:
        return _count_outcome(call, args, newest, {**response, **counts})
    content = {name: data[name] for name in ("name", "description", "tags", "preconditions") if name in data}
    content["steps"] = _text("steps", args.steps, MAX_STEPS_BYTES)
    if args.reason:
        content["reason"] = args.reason
    if args.outcome is not None:
        counts[f"{args.outcome}_count"] += 1
    response["new_id"], response["version"], writes = _next_version(call, newest, content, counts)
    return commit_once(call, args, "memory_update_procedure", writes, {**response, **counts})


def _count_outcome(call: Call, args: UpdateProcedure, newest: Document, before: dict[str, Any]) -> dict[str, Any]:
    count = f"{args.outcome}_count"

    def response(result: CommitResult | None) -> dict[str, Any]:
        # without a result the count was made by an earlier call, and `before` is from after it
        return before if result is None else {**before, count: int(result.increments[0] or 0)}

    write = update(newest.path, {count: Increment(1), "changed_at": SERVER_TIME})
    return commit_once(call, args, "memory_update_procedure", [write], response)


# --- documents


def _next_version(
    call: Call, newest: Document | None, content: Mapping[str, Any], counts: Mapping[str, int] | None = None
) -> tuple[str, int, list[Write]]:
    """The id, the number and the writes of a version with this content, the first or the one after `newest`."""
    data: Any = {} if newest is None else newest.data
    id, number = str(uuid.uuid4()), int(data.get("version", 0)) + 1
    version = {**content, "version": number, "created_at": call.now, "changed_at": SERVER_TIME}
    if newest is not None:
        version["supersedes"] = data["version_id"]
    pointer = {**version, "kind": "name", "version_id": id, **(counts or {})}
    name_path = call.path("procedures", procedure_uuid(content["name"]))
    if newest is None:
        move = create(name_path, pointer)
    else:
        cleared = {name: None for name in ("description", "reason") if name in data and name not in content}
        move = update(name_path, {**pointer, **cleared}, newest.updated_at)
    return id, number, [move, create(call.path("procedures", id), {**version, "kind": "version"})]


def _find(call: Call, which: Which) -> tuple[Document | None, Document | None]:
    """The version that was asked for by its id, and the newest version; None and None when there is no such procedure."""
    if which.procedure_id and uuid_version(which.procedure_id):
        version = call.store.get(call.path("procedures", which.procedure_id.lower()))
        if version is None or version.data.get("kind") != "version":
            return None, None
        return version, call.store.get(call.path("procedures", procedure_uuid(str(version.data["name"]))))
    return None, _newest(call, which.procedure_id or which.name or "")


def _newest(call: Call, name: str) -> Document | None:
    """The newest version of the procedure with this exact name, else with nearly this name."""
    document = call.store.get(call.path("procedures", procedure_uuid(name)))
    if document is None:
        near = call.views.procedures(call.caller.agent_uid).nearly(name)
        document = None if near is None else call.store.get(call.path("procedures", procedure_uuid(near)))
    return document


def _until_not_overtaken(attempt: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    for _ in attempts("the procedure is being changed by many at once; try again"):
        try:
            return attempt()
        except Changed:
            continue
    raise AssertionError("attempts() raises after the last one")


def _shown(version: Document, newest: Document) -> dict[str, Any]:
    data, pointer = dict[str, Any](version.data), dict[str, Any](newest.data)
    id = data.get("version_id", version.id)
    shown: dict[str, Any] = {"id": id, "name": data["name"], "version": data["version"], "newest": id == pointer["version_id"]}
    shown |= {name: data[name] for name in ("description", "supersedes", "reason") if data.get(name)}
    shown |= {name: json.loads(data[name]) for name in ("steps", "tags", "preconditions")}
    shown |= _record(int(pointer.get("success_count", 0)), int(pointer.get("failure_count", 0)))
    return {**shown, "created_at": show(data["created_at"])}


def _record(successes: int, failures: int) -> dict[str, Any]:
    """How well a procedure worked; a rate only when it was tried."""
    rate = {"success_rate": successes / (successes + failures)} if successes + failures else {}
    return {"success_count": successes, "failure_count": failures, **rate}
