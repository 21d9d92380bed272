"""Retries: a write that carries an idempotency key happens once, however often it is sent.

The record of a key is created in the same commit as the writes it stands for, so that both exist or neither does, and
a write costs no extra round trip. A retry runs into the record and is given the first answer.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from am_server.errors import Conflict
from am_server.store.port import AlreadyExists, CommitResult, Document, Write, create, merge, update
from am_server.times import DAY, to_datetime
from am_server.tools.call import Call
from am_server.tools.registry import Arguments

KEPT = 7 * DAY
"""How long a key is remembered."""

Response = dict[str, Any]


def commit_once(
    call: Call,
    args: Arguments,
    tool_name: str,
    writes: Sequence[Write],
    response: Response | Callable[[CommitResult | None], Response],
) -> Response:
    """Commit the writes and return the response; a retry with the same `idempotency_key` only returns the first response.

    A response that depends on the commit (the new value of an increment) is given as a function of its result. It is
    called with None when an earlier call made the writes but was cut off before its response was noted: it then answers
    from what is stored. Raises Conflict when the key came with other arguments before, and what the store's commit raises.
    """
    key: str | None = getattr(args, "idempotency_key", None)
    if key is None:
        result = call.store.commit(writes)
        return response(result) if callable(response) else response
    path = call.path("requests", hashlib.sha256(json.dumps([tool_name, key]).encode()).hexdigest()[:40])
    record: dict[str, Any] = {"fingerprint": _fingerprint(args), "expires_at": to_datetime(call.now + KEPT)}
    if not callable(response):
        record["response"] = _text(response)
    try:
        result = call.store.commit([*writes, create(path, record)])
    except AlreadyExists:
        earlier = call.store.get(path)
        if earlier is None:
            raise
        if not _expired(earlier, call.now):
            return _first_answer(call, earlier, record, response)
        over = update(path, {"response": "", **record}, earlier.updated_at)
        result = call.store.commit([*writes, over])
    return _noted(call, path, response(result)) if callable(response) else response


def _first_answer(
    call: Call, earlier: Document, record: Mapping[str, Any], response: Response | Callable[[CommitResult | None], Response]
) -> Response:
    if earlier.data["fingerprint"] != record["fingerprint"]:
        raise Conflict("this idempotency_key was used with other arguments; send a new key for a new write")
    text = earlier.data.get("response")
    if isinstance(text, str) and text:
        answer: Response = json.loads(text)
        return answer
    return _noted(call, earlier.path, response(None)) if callable(response) else response


def _noted(call: Call, path: str, answer: Response) -> Response:
    call.store.commit([merge(path, {"response": _text(answer)})])
    return answer


def _fingerprint(args: Arguments) -> str:
    given = args.model_dump(mode="json", exclude={"idempotency_key"})
    return hashlib.sha256(json.dumps(given, sort_keys=True).encode()).hexdigest()


def _expired(record: Document, now: int) -> bool:
    expires_at = record.data.get("expires_at")
    return expires_at is not None and expires_at <= to_datetime(now)  # type: ignore[operator]


def _text(response: Mapping[str, Any]) -> str:
    return json.dumps(response, ensure_ascii=False, separators=(",", ":"))
