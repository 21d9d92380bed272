"""JSON-RPC 2.0: what a message is, and the two shapes of an answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
HEADER_MISMATCH = -32020
UNSUPPORTED_VERSION = -32022

Id = int | str


class Fault(Exception):
    """A request that gets a JSON-RPC error; `status` is the HTTP status when it stands alone."""

    def __init__(self, code: int, message: str, status: int = 200, data: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.status = status
        self.data = data


@dataclass(frozen=True, slots=True)
class Message:
    """A request, a notification, or a posted response."""

    method: str | None
    """None for a posted response."""
    id: Id | None
    """None for a notification."""
    params: Any = field(default_factory=dict)


def read_message(value: Any) -> Message:
    """The message that a JSON value is. Raises Fault."""
    if not isinstance(value, dict):
        raise _no_request("expected a JSON object with jsonrpc, id and method")
    if value.get("jsonrpc") != "2.0":
        raise _no_request('expected "jsonrpc": "2.0"')
    if "method" not in value:
        if "result" in value or "error" in value:
            return Message(None, None)
        raise _no_request("the method is missing")
    if not isinstance(value["method"], str):
        raise _no_request("the method must be a string")
    if "id" in value and id_of(value) is None:
        raise _no_request("the id must be a string or a whole number; a notification has none")
    params = value.get("params")
    return Message(value["method"], id_of(value), {} if params is None else params)


def id_of(value: Any) -> Id | None:
    """The id of a JSON value if it has one that may be echoed."""
    found = value.get("id") if isinstance(value, dict) else None
    return found if isinstance(found, int | str) and not isinstance(found, bool) else None


def result_of(id: Id | None, result: Mapping[str, Any]) -> dict[str, Any]:
    """A successful answer."""
    return {"jsonrpc": "2.0", "id": id, "result": result}


def error_of(id: Id | None, code: int, message: str, data: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """A failed answer. Without a usable id the member is left out: many clients drop an answer whose id is null."""
    error: dict[str, Any] = {"code": code, "message": message}
    if data:
        error["data"] = data
    return {"jsonrpc": "2.0", **({} if id is None else {"id": id}), "error": error}


def _no_request(reason: str) -> Fault:
    return Fault(INVALID_REQUEST, f"not a JSON-RPC request: {reason}", 400)
