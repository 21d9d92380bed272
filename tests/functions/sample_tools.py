"""Tools that exist only in these tests, one for each thing a call can meet."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NotRequired

from am_server.errors import Unavailable
from am_server.tools.call import Call
from am_server.tools.registry import READ, Arguments, Requirement, Tool, Toolset
from pydantic import Field
from typing_extensions import TypedDict


class Words(Arguments):
    text: str = Field(description="What to say.")
    times: int = Field(1, ge=1, description="How often.")


class Nothing(Arguments):
    pass


class Said(TypedDict):
    said: str
    agent_id: NotRequired[str]


def echo(call: Call, args: Words) -> dict[str, Any]:
    return {"said": args.text * args.times, "agent_id": call.caller.agent_id}


def fixed(call: Call, args: Nothing) -> dict[str, Any]:
    return {"said": "hello"}


def crash(call: Call, args: Words) -> dict[str, Any]:
    raise RuntimeError(args.text)


def unavailable(call: Call, args: Nothing) -> dict[str, Any]:
    raise Unavailable("the store did not answer; try again")


def not_a_number(call: Call, args: Nothing) -> dict[str, Any]:
    return {"said": math.nan}


def _tool(handler: Any, toolset: Toolset, arguments: type[Arguments], requires: Requirement | None = None) -> Tool:
    name = handler.__name__
    return Tool(name, toolset, f"The {name} tool", "For tests only.", arguments, Said, handler, READ, requires)


def sample_tools() -> Mapping[str, Tool]:
    """Name to tool."""
    tools = [
        _tool(echo, "working", Words),
        _tool(fixed, "utility", Nothing),
        _tool(crash, "utility", Words),
        _tool(unavailable, "utility", Nothing),
        _tool(not_a_number, "utility", Nothing),
    ]
    gated = [("find_star", "graph", "a_star"), ("share", "shared", "spaces")]
    for name, toolset, requires in gated:
        tools.append(Tool(name, toolset, name, "For tests only.", Words, Said, echo, READ, requires))  # type: ignore[arg-type]
    return {tool.name: tool for tool in tools}
