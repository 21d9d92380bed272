"""tools/list: the published form of each tool, derived from its declaration."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from am_server.edge.http import Request
from am_server.mcp.jsonrpc import INVALID_PARAMS, Fault

if TYPE_CHECKING:
    from am_server.tools.registry import Tool

TOOLSETS_HEADER = "X-AM-Toolsets"
TOOLSETS_QUERY = "toolsets"

PREBUILT = Path(__file__).with_name("tools.json")
"""What `derive` gives, as JSON. Only packages of functions have it: deriving makes each cold start 0.2 s longer."""


def list_tools(request: Request, params: Mapping[str, Any]) -> dict[str, Any]:
    """Every tool on one page, or those of the toolsets that the request names. Raises Fault."""
    if params.get("cursor") is not None:
        raise Fault(INVALID_PARAMS, "unknown cursor: the list has one page; ask without a cursor")
    wanted = wanted_toolsets(request)
    return {"tools": [shown for toolset, shown in published() if not wanted or toolset in wanted]}


def wanted_toolsets(request: Request) -> frozenset[str]:
    """The toolsets named by the header, else by the query; empty means all. Raises Fault for one that does not exist."""
    text = request.header(TOOLSETS_HEADER) or request.query.get(TOOLSETS_QUERY, "")
    wanted = frozenset(word.strip() for word in text.split(",") if word.strip())
    if wanted:
        known = dict.fromkeys(toolset for toolset, _ in published())
        if not wanted <= known.keys():
            raise Fault(INVALID_PARAMS, f"unknown toolset; choose among {', '.join(known)}")
    return wanted


@cache
def published() -> Sequence[tuple[str, Mapping[str, Any]]]:
    """(toolset, entry of the list) for every tool, in catalogue order."""
    if PREBUILT.exists():
        return [(toolset, entry) for toolset, entry in json.loads(PREBUILT.read_bytes())]
    return derive()


def derive() -> Sequence[tuple[str, Mapping[str, Any]]]:
    """What `published` gives, from the declarations of the tools."""
    from am_server.tools.catalogue import load

    return [(tool.toolset, _entry(tool)) for tool in load().values()]


def _entry(tool: Tool) -> Mapping[str, Any]:
    from am_server.tools.schemas import input_schema, output_schema

    return {
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
    }
