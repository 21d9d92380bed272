"""Which rows a filter lets through, by SQL's three-valued logic.

A comparison with an absent metadata key, or with text that cannot be read as the number or time it is compared with,
is unknown: neither it nor its negation lets a row through.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from typing import Any

from am_server.rest import timestamps
from am_server.rest.filters import All, Compare, Field, Instant, IsNull, Node, Not, OneOf, Value
from am_server.rest.filters import Any as AnyOf

Row = Mapping[str, Any]
"""A value for each system field (text; `created_at` in microseconds), and `metadata`, a map of text to text."""

_OPERATORS: Mapping[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_NUMBER = re.compile(r"[+-]?\d{1,300}(\.\d{1,300})?", re.ASCII)


def matches(tree: Node | None, row: Row) -> bool:
    """Whether the row passes; without a filter every row does."""
    return tree is None or truth(tree, row) is True


def truth(node: Node, row: Row) -> bool | None:
    """True, False, or None for unknown."""
    if isinstance(node, All):
        return _all(truth(part, row) for part in node.parts)
    if isinstance(node, AnyOf):
        return _negated(_all(_negated(truth(part, row)) for part in node.parts))
    if isinstance(node, Not):
        return _negated(truth(node.part, row))
    held = _held(node.field, row)
    if isinstance(node, IsNull):
        return held is None
    if isinstance(node, OneOf):
        return _among(held, node.values)
    return _compared(held, node)


def _all(parts: Any) -> bool | None:
    unknown = False
    for part in parts:
        if part is False:
            return False
        unknown = unknown or part is None
    return None if unknown else True


def _negated(value: bool | None) -> bool | None:
    return None if value is None else not value


def _held(field: Field, row: Row) -> str | int | None:
    held: str | int | None = row["metadata"].get(field.key) if field.name == "metadata" else row[field.name]
    return held


def _compared(held: str | int | None, node: Compare) -> bool | None:
    left, right = _alike(held, node.value)
    return None if left is None else _OPERATORS[node.op](left, right)


def _among(held: str | int | None, values: frozenset[Value]) -> bool | None:
    example = next(iter(values))
    left, _ = _alike(held, example)
    if left is None:
        return None
    if isinstance(example, bool):
        return left in {str(value).lower() for value in values}
    return (Instant(left) if isinstance(example, Instant) else left) in values


def _alike(held: str | int | None, value: Value) -> tuple[Any, Any]:
    """What is held and what it is compared with, in one type; (None, …) when the first cannot be read as the second."""
    if held is None:
        return None, value
    if isinstance(value, Instant):
        return (held if isinstance(held, int) else _micros(held)), value.micros
    text = str(held)
    if isinstance(value, bool):
        return text.lower(), str(value).lower()
    if isinstance(value, str):
        return text, value
    return _number(text), value


def _micros(text: str) -> int | None:
    try:
        return timestamps.read(text)
    except ValueError:
        return None


def _number(text: str) -> int | float | None:
    if not _NUMBER.fullmatch(text):
        return None
    return float(text) if "." in text else int(text)
