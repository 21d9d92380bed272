"""The tools: each is declared once, beside its handler, and everything else is derived from that declaration.

`tools/list`, argument validation, dispatch, the tier and token gates and the reference documentation all read
`TOOLS`. Adding a tool touches one module, and `catalogue.py` when the module is new.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from am_server.tools.call import Call

Toolset = Literal["episodic", "entity", "graph", "procedural", "working", "pheromone", "shared", "utility"]
Requirement = Literal["a_star", "spaces"]
"""What a caller's tier must include. `spaces` also demands a space token."""


class Arguments(BaseModel):
    """The arguments of a tool. Unknown ones are ignored; see `arguments.parse` for what is forgiven."""

    model_config = ConfigDict(extra="ignore", frozen=True, populate_by_name=True, defer_build=True)


@dataclass(frozen=True, slots=True)
class Hints:
    """The MCP annotations; memory is a closed world, so `openWorldHint` is always false."""

    read_only: bool = False
    destructive: bool = False
    idempotent: bool = False


READ = Hints(read_only=True, idempotent=True)
ADD = Hints()
UPSERT = Hints(idempotent=True)
DESTROY = Hints(destructive=True, idempotent=True)


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool."""

    name: str
    toolset: Toolset
    title: str
    description: str
    arguments: type[Arguments]
    result: type[Any]
    """A TypedDict: the success payload, for the output schema and the documentation."""
    handler: Callable[[Call, Any], Mapping[str, Any]]
    hints: Hints
    requires: Requirement | None = None
    examples: Sequence[Mapping[str, Any]] = field(default=())
    """Arguments that a reader of the documentation can try; a test runs them in order on a fresh agent."""


TOOLS: dict[str, Tool] = {}


def tool(
    *,
    toolset: Toolset,
    title: str,
    description: str,
    result: type[Any],
    hints: Hints,
    requires: Requirement | None = None,
    examples: Sequence[Mapping[str, Any]] = (),
) -> Callable[[Callable[[Call, Any], Mapping[str, Any]]], Callable[[Call, Any], Mapping[str, Any]]]:
    """Declare a tool. The handler's name is the tool's name; its second parameter's annotation is the argument model."""

    def declare(handler: Callable[[Call, Any], Mapping[str, Any]]) -> Callable[[Call, Any], Mapping[str, Any]]:
        import typing

        model = typing.get_type_hints(handler)["args"]
        name = handler.__name__
        TOOLS[name] = Tool(name, toolset, title, " ".join(description.split()), model, result, handler, hints, requires, examples)
        return handler

    return declare
