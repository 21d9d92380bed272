"""The methods of each era, and what one of them answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from am_server.edge.exchange import Exchange
from am_server.errors import RateLimited
from am_server.identity.caller import Caller
from am_server.mcp import eras, tools_call
from am_server.mcp.hello import SERVER_INFO, discover, initialize
from am_server.mcp.jsonrpc import INVALID_PARAMS, METHOD_NOT_FOUND, Fault, Message, result_of
from am_server.mcp.tools_list import list_tools, wanted_toolsets


@dataclass(frozen=True, slots=True)
class Reply:
    """What one message gets, and the HTTP status and headers when it stands alone."""

    body: Mapping[str, Any]
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


def answer(exchange: Exchange, caller: Caller, message: Message, era: eras.Era) -> Reply:
    """Run the method that a request names. Raises Fault."""
    run = _METHODS[era].get(str(message.method))
    if run is None:
        raise Fault(METHOD_NOT_FOUND, "method not found", 404 if era == "envelope" else 200)
    try:
        reply = Reply(run(exchange, caller, message.params))
    except RateLimited as error:
        # the result tells the model, the status and the headers tell its client
        exchange.fault = error.type
        told = tools_call.failure(error, {"retry_after": error.retry_after, **_limits(exchange)})
        reply = Reply(told, 429, {"Retry-After": str(error.retry_after)})
    result = {**reply.body, **_COMPLETE} if era == "envelope" else reply.body
    return Reply(result_of(message.id, result), reply.status, reply.headers)


def _limits(exchange: Exchange) -> dict[str, int]:
    rate = exchange.rate_limit()
    facts = {"limit": rate.limit, "remaining": rate.remaining, "reset": rate.reset} if rate else {}
    return {name: number for name, number in facts.items() if number is not None}


Method = Callable[[Exchange, Caller, Mapping[str, Any]], Mapping[str, Any]]

_COMPLETE = {"resultType": "complete", "_meta": {f"{eras.META}serverInfo": SERVER_INFO}}

_DISCOVER_HOLDS_MS = 3_600_000
_LIST_HOLDS_MS = 300_000
"""Clients keep the list this long, also after a new version is deployed."""


def _list_with_ttl(exchange: Exchange, _caller: Caller, params: Mapping[str, Any]) -> dict[str, Any]:
    scope = "private" if wanted_toolsets(exchange.request) else "public"
    return {**list_tools(exchange.request, params), "ttlMs": _LIST_HOLDS_MS, "cacheScope": scope}


_METHODS: Mapping[eras.Era, Mapping[str, Method]] = {
    "handshake": {
        "initialize": lambda _exchange, _caller, params: initialize(params),
        "ping": lambda _exchange, _caller, _params: {},
        "tools/list": lambda exchange, _caller, params: list_tools(exchange.request, params),
        "tools/call": lambda exchange, caller, params: tools_call.call_tool(exchange, caller, params, METHOD_NOT_FOUND),
    },
    "envelope": {
        "server/discover": lambda _exchange, _caller, _params: {
            **discover(), "ttlMs": _DISCOVER_HOLDS_MS, "cacheScope": "public"
        },
        "tools/list": _list_with_ttl,
        "tools/call": lambda exchange, caller, params: tools_call.call_tool(exchange, caller, params, INVALID_PARAMS),
    },
}  # fmt: skip
