"""tools/call: the gates a call passes, in order, and the two shapes of its result."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from am_server.edge.exchange import Exchange
from am_server.edge.http import encode_json
from am_server.errors import AmError, Forbidden, RateLimited, Unauthorized
from am_server.identity.caller import Caller, Tier
from am_server.mcp.jsonrpc import INVALID_PARAMS, Fault

if TYPE_CHECKING:
    from am_server.tools.registry import Requirement, Tool


def call_tool(exchange: Exchange, caller: Caller, params: Mapping[str, Any], unknown_tool: int) -> dict[str, Any]:
    """The result of a call; what goes wrong within the tool is told in it.

    unknown_tool   the JSON-RPC code for a name that is no tool's, on which the two eras differ

    Raises Fault, RateLimited.
    """
    tool = _tool(params, unknown_tool)
    arguments = params.get("arguments", {})
    if not isinstance(arguments, dict):
        raise Fault(INVALID_PARAMS, "arguments must be an object; leave it out for a tool that takes none")
    exchange.tool = tool.name
    try:
        return success(_run(exchange, caller, tool, arguments))
    except RateLimited:
        raise
    except AmError as error:
        exchange.fault = error.type
        if error.status >= 500:
            exchange.bug = error.__cause__
        return failure(error)
    except Exception as bug:
        return failure(exchange.unexpected(bug))


def success(payload: Mapping[str, Any]) -> dict[str, Any]:
    """The payload twice: structured, and as text for clients older than structured results."""
    return {"content": [{"type": "text", "text": encode_json(payload).decode()}], "structuredContent": payload, "isError": False}


def failure(error: AmError, facts: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """An error that the model reads; `facts` join its code, type and message."""
    return {
        "content": [{"type": "text", "text": error.message}],
        "structuredContent": {"error": {**error.as_dict(), **(facts or {})}},
        "isError": True,
    }


def _tool(params: Mapping[str, Any], unknown_tool: int) -> Tool:
    from am_server.tools.catalogue import load

    name = params.get("name")
    if not isinstance(name, str):
        raise Fault(INVALID_PARAMS, "name must be the name of a tool")
    tool = load().get(name)
    if tool is None:
        raise Fault(unknown_tool, f"Unknown tool: {name[:64]}. tools/list names the tools that exist")
    return tool


def _run(exchange: Exchange, caller: Caller, tool: Tool, raw: Mapping[str, Any]) -> Mapping[str, Any]:
    from am_server.tools.arguments import parse
    from am_server.tools.call import Call

    _check_access(tool, caller, exchange.services.tiers)
    arguments = parse(tool, raw)
    exchange.spend(caller)
    return tool.handler(Call(caller, exchange.services, exchange.services.clock.now()), arguments)


def _check_access(tool: Tool, caller: Caller, tiers: Mapping[str, Tier]) -> None:
    """The tier first, then the credential: who needs another tier is not sent for a token. Raises Forbidden, Unauthorized."""
    if tool.requires and not _includes(caller.tier, tool.requires):
        needed = next((tier.name for tier in tiers.values() if _includes(tier, tool.requires)), "a higher")
        raise Forbidden(f"forbidden: tier '{caller.tier.name}' cannot access '{needed}' feature {_FEATURES[tool.requires]}")
    if tool.requires == "spaces":
        if caller.token_fault:
            raise Unauthorized(
                f"unauthorized: {caller.token_fault}: get a new JWT from POST /v1/space-token, sent as Bearer token"
            )
        if caller.grant is None:
            raise Unauthorized(
                "unauthorized: Shared space operations require JWT authentication. "
                "Use 'Authorization: Bearer <jwt>' with a valid JWT token."
            )
    elif caller.key_id is None:
        raise Unauthorized("unauthorized: a space token opens shared-space tools only; send this agent's key as X-API-Key")


def _includes(tier: Tier, requirement: Requirement) -> bool:
    return tier.a_star if requirement == "a_star" else tier.spaces != 0


_FEATURES: Mapping[Requirement, str] = {
    "a_star": "A* pathfinding; use memory_traverse_graph or memory_graph_shortest_path, which every tier has",
    "spaces": "shared spaces; keep facts in this agent's own memory with memory_store_entity, or upgrade the tier",
}
