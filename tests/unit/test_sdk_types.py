"""The SDK knows every argument and every key of an answer that the tools have."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Mapping
from typing import Any, NotRequired, get_args, get_origin, get_type_hints

import pytest
from agentverse_memory import operations
from am_server.tools.catalogue import load
from am_server.tools.schemas import input_schema, output_schema

SYNONYMS = {"memory_store_entity": {"properties"}}
"""Other names of arguments, which the SDK leaves out."""


def described() -> dict[str, Any]:
    """The function that describes a call of each tool."""
    found = {}
    for name, make in inspect.getmembers(operations, inspect.isfunction):
        if not name.startswith("_") and name != "dataclass":
            required = [p.name for p in inspect.signature(make).parameters.values() if p.default is p.empty]
            found[make(**dict.fromkeys(required, "x")).tool] = make
    return found


def unlike(kind: Any, schema: Mapping[str, Any], where: str) -> list[str]:
    """Where a type of the SDK and a schema of the service differ in their keys."""
    if get_origin(kind) is NotRequired:
        kind = get_args(kind)[0]
    if get_origin(kind) is list and schema.get("items", {}).get("type") == "object":
        return unlike(get_args(kind)[0], schema["items"], where + "[]")
    if not typing.is_typeddict(kind):
        return []
    hints, properties = get_type_hints(kind, include_extras=True), {n: p for n, p in schema["properties"].items() if n != "error"}
    found = [f"{where}: {set(hints) ^ set(properties)}"] if set(hints) != set(properties) else []
    needed = {name for name in schema.get("required", ()) if name in hints and name not in kind.__required_keys__}
    found += [f"{where}: {needed} must not be optional"] if needed else []
    return found + [
        line for name in hints if name in properties for line in unlike(hints[name], properties[name], f"{where}.{name}")
    ]


@pytest.mark.parametrize("tool", load())
def test_arguments(tool):
    named = {name.removesuffix("_") for name in inspect.signature(described()[tool]).parameters}
    assert named == set(input_schema(load()[tool].arguments)["properties"]) - SYNONYMS.get(tool, set())


@pytest.mark.parametrize("tool", load())
def test_answers(tool):
    [kind] = get_args(get_type_hints(described()[tool])["return"])
    assert typing.is_typeddict(kind)
    assert unlike(kind, output_schema(load()[tool].result), tool) == []
