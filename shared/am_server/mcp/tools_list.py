"""tools/list: the published form of each tool, derived from its declaration."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, get_args

from am_server.edge.http import Request
from am_server.mcp.jsonrpc import INVALID_PARAMS, Fault

TOOLSETS_HEADER = "X-AM-Toolsets"
TOOLSETS_QUERY = "toolsets"


def list_tools(request: Request, params: Mapping[str, Any]) -> dict[str, Any]:
    """Every tool on one page, or those of the toolsets that the request names. Raises Fault."""
    if params.get("cursor") is not None:
        raise Fault(INVALID_PARAMS, "unknown cursor: the list has one page; ask without a cursor")
    wanted = wanted_toolsets(request)
    return {"tools": [shown for toolset, shown in _published() if not wanted or toolset in wanted]}


def wanted_toolsets(request: Request) -> frozenset[str]:
    """The toolsets named by the header, else by the query; empty means all. Raises Fault for one that does not exist."""
    from am_server.tools.registry import Toolset

    text = request.header(TOOLSETS_HEADER) or request.query.get(TOOLSETS_QUERY, "")
    wanted = frozenset(word.strip() for word in text.split(",") if word.strip())
    if not wanted <= set(get_args(Toolset)):
        raise Fault(INVALID_PARAMS, f"unknown toolset; choose among {', '.join(get_args(Toolset))}")
    return wanted


@cache
def _published() -> tuple[tuple[str, Mapping[str, Any]], ...]:
    """(toolset, entry of the list) for every tool, in catalogue order."""
    from am_server.tools.catalogue import load
    from am_server.tools.schemas import input_schema, output_schema

    return tuple(
        (
            tool.toolset,
            {
                "name": tool.name,
                "title": tool.title,
                "description": tool.description,
                "inputSchema": input_schema(tool.arguments),
                "outputSchema": output_schema(tool.result),
                "annotations": {
                    "title": tool.title,
                    "readOnlyHint": tool.hints.read_only,
                    "destructiveHint": tool.hints.destructive,
                    "idempotentHint": tool.hints.idempotent,
                    "openWorldHint": False,
                },
            },
        )
        for tool in load().values()
    )
