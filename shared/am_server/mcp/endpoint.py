"""POST /mcp."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from am_server.edge.exchange import Exchange
from am_server.edge.faults import WrongMediaType, WrongMethod
from am_server.edge.http import Request, Response, json_response, parse_json
from am_server.errors import AmError
from am_server.identity.caller import Caller
from am_server.mcp import eras
from am_server.mcp.jsonrpc import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    PARSE_ERROR,
    Fault,
    Message,
    error_of,
    id_of,
    read_message,
)
from am_server.mcp.methods import Reply, answer

MAX_BATCH = 50

ACCEPTED = Response(202)
"""For what expects no answer. An empty body: clients choke on `null` and `{}`."""


def respond(exchange: Exchange) -> Response:
    """Answer one message or a batch. Who does not say who they are learns nothing, not even which methods exist."""
    caller = exchange.authenticate()
    request = exchange.request
    if request.method != "POST":
        raise WrongMethod("POST")
    if (request.header("Content-Type") or "").partition(";")[0].strip().lower() != "application/json":
        raise WrongMediaType("send Content-Type: application/json")
    try:
        value = parse_json(request.body)
    except ValueError as problem:
        return json_response(400, error_of(None, PARSE_ERROR, f"parse error: {problem}"))
    if isinstance(value, list):
        return _batch(exchange, caller, value)
    reply = _reply(exchange, caller, value)
    return json_response(reply.status, reply.body, reply.headers) if reply else ACCEPTED


def render(error: AmError, request: Request) -> Response:
    """An error of the transport as JSON-RPC, with the id of the request if its body can be read."""
    try:
        id = id_of(parse_json(request.body))
    except ValueError:
        id = None
    return json_response(error.status, error_of(id, error.code, error.message, {"type": error.type}))


def _batch(exchange: Exchange, caller: Caller, values: Sequence[Any]) -> Response:
    request = exchange.request
    problem = None
    if request.header("MCP-Protocol-Version") not in (None, eras.BATCH_VERSION):
        problem = f"only revision {eras.BATCH_VERSION} has batches; send one request at a time"
    elif not values or len(values) > MAX_BATCH:
        problem = f"a batch holds 1 to {MAX_BATCH} messages"
    elif any(isinstance(value, dict) and eras.has_envelope(value.get("params")) for value in values):
        problem = f"a request of revision {eras.ENVELOPE_VERSION} cannot be part of a batch"
    if problem:
        return json_response(400, error_of(None, INVALID_REQUEST, problem))
    replies = [_reply(exchange, caller, value, in_batch=True) for value in values]
    answers = [reply.body for reply in replies if reply]
    return json_response(200, answers) if answers else ACCEPTED


def _reply(exchange: Exchange, caller: Caller, value: Any, in_batch: bool = False) -> Reply | None:
    """The answer to one message; None for a notification or a posted response."""
    try:
        message = read_message(value)
        if message.id is None:
            _check_unanswered(message, exchange.request)
            return None
        era = eras.era_of(message, exchange.request)
        if in_batch and message.method == "initialize":
            raise Fault(INVALID_REQUEST, "initialize cannot be part of a batch")
        if not isinstance(message.params, dict):
            raise Fault(INVALID_PARAMS, "params must be an object")
        return answer(exchange, caller, message, era)
    except Fault as fault:
        exchange.fault = f"JSON-RPC {fault.code}"
        return Reply(error_of(id_of(value), fault.code, fault.message, fault.data), fault.status)


def _check_unanswered(message: Message, request: Request) -> None:
    if message.method is None and request.header("MCP-Protocol-Version") == eras.ENVELOPE_VERSION:
        raise Fault(
            INVALID_REQUEST, f"revision {eras.ENVELOPE_VERSION} has no requests to clients, so no responses from them", 400
        )
    eras.check_version_header(request)
