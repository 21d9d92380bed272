"""Working memory: a scratchpad of named values that may expire."""

from __future__ import annotations

import hashlib
import json
from typing import Annotated, Any, NotRequired

from pydantic import AliasChoices, BeforeValidator, Field
from typing_extensions import TypedDict

from am_server.errors import Invalid
from am_server.store.port import Document, Query, Where, delete, put
from am_server.times import SECOND, show, to_datetime
from am_server.tools import cursors
from am_server.tools.call import Call
from am_server.tools.idempotency import commit_once
from am_server.tools.registry import DESTROY, READ, UPSERT, Arguments, tool

FOR_EVER = 2**62
"""`live_until` of an item that never expires."""

MAX_TTL_SECONDS = 10 * 366 * 86_400
MAX_VALUE_BYTES = 64 * 1024
MAX_KEY_CHARS = 1_024
MAX_PAGE = 1_000


def _text(value: Any) -> Any:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


Key = Annotated[str, Field(min_length=1, max_length=MAX_KEY_CHARS)]
Session = Annotated[str | None, Field(max_length=MAX_KEY_CHARS)]


class WorkingItem(TypedDict):
    """One item."""

    key: str
    content: str
    session_id: NotRequired[str]
    expires_at: NotRequired[str]


class SetWorking(Arguments):
    key: Key = Field(description="Name of the item, e.g. current_task. Writing it again replaces the value.")
    content: Annotated[str, BeforeValidator(_text)] = Field(
        validation_alias=AliasChoices("content", "value"), description="The value; anything but text is stored as JSON."
    )
    ttl_seconds: int | None = Field(
        None, ge=1, le=MAX_TTL_SECONDS, description="Seconds until the item expires; never when left out."
    )
    session_id: Session = Field(None, description="Session the item belongs to; items of different sessions do not collide.")
    idempotency_key: str | None = Field(
        None, description="Text of your choice, e.g. a UUID; a retry with the same key returns the first answer."
    )


class SetWorkingResult(TypedDict):
    key: str
    set: bool
    ttl_seconds: NotRequired[int]


@tool(
    toolset="working",
    title="Set a working-memory item",
    description="""Keep a value under a key for the task at hand: current step, draft, counter, plan. It replaces what the key
    held. Use ttl_seconds for anything that goes stale. For facts worth keeping beyond the task use memory_store_episode or
    memory_store_entity.""",
    result=SetWorkingResult,
    hints=UPSERT,
    examples=[{"key": "current_task", "content": {"task": "write report", "status": "in_progress"}, "ttl_seconds": 3600}],
)
def memory_set_working(call: Call, args: SetWorking) -> dict[str, Any]:
    if len(args.content.encode()) > MAX_VALUE_BYTES:
        raise Invalid("content", f"at most {MAX_VALUE_BYTES} bytes; store long text with memory_store_episode")
    item: dict[str, Any] = {"key": args.key, "value": args.content, "live_until": FOR_EVER}
    response: dict[str, Any] = {"key": args.key, "set": True}
    if args.session_id is not None:
        item["session_id"] = args.session_id
    if args.ttl_seconds is not None:
        item["live_until"] = call.now + args.ttl_seconds * SECOND
        item["expires_at"] = to_datetime(item["live_until"])
        response["ttl_seconds"] = args.ttl_seconds
    return commit_once(call, args, "memory_set_working", [put(_path(call, args.session_id, args.key), item)], response)


class GetWorking(Arguments):
    key: Key = Field(description="Name of the item.")
    session_id: Session = Field(
        None, description="Session the item was set in. Left out: the item without session, else any session's."
    )


class GetWorkingResult(TypedDict):
    found: bool
    item: NotRequired[WorkingItem]
    key: NotRequired[str]


@tool(
    toolset="working",
    title="Get a working-memory item",
    description="Read one working-memory item by its key. Answers found: false when it was never set, was cleared or expired.",
    result=GetWorkingResult,
    hints=READ,
    examples=[{"key": "current_task"}],
)
def memory_get_working(call: Call, args: GetWorking) -> dict[str, Any]:
    document = _find(call, args.session_id, args.key)
    if document is None:
        return {"found": False, "key": args.key}
    return {"found": True, "item": _shown(document)}


class ListWorking(Arguments):
    prefix: str | None = Field(None, description="Only keys that begin with this text.")
    session_id: Session = Field(None, description="Only items of this session.")
    limit: int = Field(MAX_PAGE, ge=1, description=f"Most items to return; at most {MAX_PAGE}.")
    cursor: str | None = Field(None, description="next_cursor of the page before.")


class ListWorkingResult(TypedDict):
    items: list[WorkingItem]
    count: int
    next_cursor: NotRequired[str]


@tool(
    toolset="working",
    title="List working memory",
    description="List every live working-memory item with its value, sorted by key; prefix and session_id narrow the list.",
    result=ListWorkingResult,
    hints=READ,
    examples=[{"prefix": "current_"}],
)
def memory_list_working(call: Call, args: ListWorking) -> dict[str, Any]:
    after, limit = cursors.decode(args.cursor, str), min(args.limit, MAX_PAGE)
    found = [(_order(item), item) for item in _live(call, args.prefix, args.session_id)]
    page = sorted((pair for pair in found if after is None or pair[0] > after), key=lambda pair: pair[0])
    items = [_shown(document) for _, document in page[:limit]]
    result: dict[str, Any] = {"items": items, "count": len(items)}
    if len(page) > limit:
        result["next_cursor"] = cursors.encode(*page[limit - 1][0])
    return result


class ClearWorking(Arguments):
    key: Key | None = Field(None, description="Key to delete. Left out, with no prefix and no session_id: everything is deleted.")
    prefix: str | None = Field(None, min_length=1, description="Delete every key that begins with this text.")
    session_id: Session = Field(
        None,
        description="Only the key of this session; every session's when left out. Without key: every item of this session.",
    )


class ClearWorkingResult(TypedDict):
    key: NotRequired[str]
    removed: NotRequired[bool]
    cleared: NotRequired[bool]
    keys_deleted: NotRequired[int]


@tool(
    toolset="working",
    title="Clear working memory",
    description="""Delete one working-memory item by key, all with a prefix, all of a session, or, without arguments, the whole
    working memory of this agent. Other kinds of memory stay.""",
    result=ClearWorkingResult,
    hints=DESTROY,
    examples=[{"key": "current_task"}],
)
def memory_clear_working(call: Call, args: ClearWorking) -> dict[str, Any]:
    if args.key is not None:
        found = _of_key(call, args.session_id, args.key)
        for start in range(0, len(found), 400):
            call.store.commit([delete(document.path) for document in found[start : start + 400]])
        return {"key": args.key, "removed": bool(found)}
    doomed = _live(call, args.prefix, args.session_id)
    if args.prefix is None and args.session_id is None:
        call.store.delete_tree(call.collection("working"))
    else:
        for start in range(0, len(doomed), 400):
            call.store.commit([delete(document.path) for document in doomed[start : start + 400]])
    return {"cleared": True, "keys_deleted": len(doomed)}


def _path(call: Call, session_id: str | None, key: str) -> str:
    digest = hashlib.sha256(json.dumps([session_id, key]).encode()).hexdigest()[:40]
    return call.path("working", digest)


def _live_until(document: Document) -> int:
    return int(document.data["live_until"])  # type: ignore[arg-type]


def _find(call: Call, session_id: str | None, key: str) -> Document | None:
    """The live item of a session; without one the item that has no session, else the newest of any."""
    document = call.store.get(_path(call, session_id, key))
    if document is not None and _live_until(document) > call.now:
        return document
    found = _of_key(call, None, key) if session_id is None else []
    return max(found, key=lambda document: document.updated_at, default=None)


def _of_key(call: Call, session_id: str | None, key: str) -> list[Document]:
    """The live items of this key in a session, or in all of them."""
    if session_id is None:
        found = call.store.query(Query(call.collection("working"), [Where("key", "==", key)]))
    else:
        document = call.store.get(_path(call, session_id, key))
        found = [] if document is None else [document]
    return [document for document in found if _live_until(document) > call.now]


def _live(call: Call, prefix: str | None, session_id: str | None) -> list[Document]:
    found = call.store.query(Query(call.collection("working"), [Where("live_until", ">", call.now)], order_by="live_until"))
    return [
        document
        for document in found
        if str(document.data["key"]).startswith(prefix or "") and session_id in (None, document.data.get("session_id"))
    ]


def _order(document: Document) -> tuple[str, str]:
    return str(document.data["key"]), str(document.data.get("session_id", ""))


def _shown(document: Document) -> dict[str, Any]:
    data = document.data
    item = {"key": data["key"], "content": data["value"]}
    if "session_id" in data:
        item["session_id"] = data["session_id"]
    if _live_until(document) != FOR_EVER:
        item["expires_at"] = show(_live_until(document))
    return item
