"""Arguments as language models send them, turned into the model a handler takes.

Forgiven: null or the word "null" for an absent optional argument; "10" or 10.0 for the integer 10; JSON text for an
object or a list. Not forgiven: anything whose meaning would be a guess. Every refusal names the argument.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from pydantic import ValidationError

from am_server.errors import Invalid
from am_server.tools.registry import Arguments, Tool
from am_server.tools.schemas import input_schema

MAX_INTEGER = 2**53
"""Beyond this, JSON readers disagree about what an integer is."""

MAX_DEPTH = 64
"""Levels of objects and lists within one argument."""


def parse(tool: Tool, raw: Mapping[str, Any]) -> Arguments:
    """The tool's argument model. Raises Invalid naming the first argument that cannot be used."""
    types, required = _shape(tool.arguments)
    given: dict[str, Any] = {}
    for name, value in raw.items():
        kind = types.get(name)
        if kind is None:
            given[name] = value
        elif value is None or (value == "null" and name not in required):
            continue
        else:
            given[name] = _forgiven(name, value, kind)
    _check_text(given, types)
    try:
        return tool.arguments.model_validate(given)
    except ValidationError as problem:
        faults = problem.errors(include_url=False, include_input=False)
        name = str(faults[0]["loc"][0]) if faults[0]["loc"] else "arguments"
        raise Invalid(name, _reason(faults)) from None


@cache
def _shape(model: type[Arguments]) -> tuple[Mapping[str, str], frozenset[str]]:
    schema = input_schema(model)
    types = {name: str(prop.get("type", "any")) for name, prop in schema["properties"].items()}
    for name, info in model.model_fields.items():
        for alias in getattr(info.validation_alias, "choices", ()):
            types.setdefault(str(alias), types.get(name, "any"))
    return types, frozenset(schema.get("required", ()))


def _forgiven(name: str, value: Any, kind: str) -> Any:
    if kind in ("integer", "number"):
        return _number(name, value, whole=kind == "integer")
    if kind in ("object", "array") and isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            value = None
        if not isinstance(value, dict if kind == "object" else list):
            raise Invalid(name, f"expected {_ARTICLE[kind]}, or JSON text of one")
    return value


def _number(name: str, value: Any, whole: bool) -> int | float:
    expected = "expected a whole number" if whole else "expected a number"
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise Invalid(name, expected)
    try:
        number = float(value)
    except (ValueError, OverflowError):
        raise Invalid(name, expected) from None
    if number != number:
        raise Invalid(name, expected)
    if abs(number) > MAX_INTEGER:
        raise Invalid(name, f"{expected} of at most {MAX_INTEGER}")
    if whole:
        if number != int(number):
            raise Invalid(name, expected)
        return int(number)
    return number


def _check_text(given: Mapping[str, Any], types: Mapping[str, str]) -> None:
    for name, value in given.items():
        if name in types:
            try:
                (value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, allow_nan=False)).encode()
            except UnicodeEncodeError:
                raise Invalid(
                    name, "the text holds half of a surrogate pair, which is no character; send whole characters"
                ) from None
            except ValueError:
                raise Invalid(name, "a number is infinite or none at all") from None
            except RecursionError:
                raise Invalid(name, _TOO_DEEP) from None
            if isinstance(value, dict | list) and _deeper_than(MAX_DEPTH, value):
                raise Invalid(name, _TOO_DEEP)


def _deeper_than(levels: int, value: Any) -> bool:
    """Whether lists and objects nest beyond so many levels. What barely parses now may not parse at a deeper call later."""
    layer = [value]
    for _ in range(levels):
        layer = [
            inner
            for outer in layer
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, dict | list)
        ]
        if not layer:
            return False
    return True


_TOO_DEEP = f"nested too deeply; at most {MAX_DEPTH} levels of objects and lists"

_ARTICLE = {"object": "an object", "array": "a list"}

_EXPECTED = {
    "string_type": "text",
    "dict_type": "an object",
    "list_type": "a list",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
}

_BOUND = {
    "greater_than_equal": "at least {ge}",
    "greater_than": "more than {gt}",
    "less_than_equal": "at most {le}",
    "string_too_long": "at most {max_length} characters",
    "too_long": "at most {max_length} items",
}


def _reason(faults: Sequence[Any]) -> str:
    """What is wrong with the first argument that cannot be used, in words that need no knowledge of Python."""
    first = faults[0]
    kind, place = first["type"], first["loc"][1:2]
    where = f"item {place[0] + 1}: " if place and isinstance(place[0], int) else ""
    if kind == "missing":
        return "required field missing or invalid"
    if kind in _EXPECTED:
        alternatives = [fault["type"] for fault in faults if fault["loc"][:2] == first["loc"][:2]]
        return f"{where}expected {' or '.join(dict.fromkeys(_EXPECTED.get(other, 'something else') for other in alternatives))}"
    if kind == "string_too_short":
        return f"{where}must not be empty"
    if kind in _BOUND:
        return f"{where}must be {_BOUND[kind].format(**first['ctx'])}"
    text = first["msg"].removeprefix("Value error, ").replace("Input should be", "must be")
    return f"{where}{text[0].lower()}{text[1:]}"
