"""Arguments for tools, made from their published input schemas."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

PATH_PIECES = (
    "/", "..", "../", "../..", "//", "\\", "%2e%2e", "%2F", "\x00", "\n", "__all__", "__", ".", "~", "*", "?", "#",
    "agents", "spaces", "keys", "accounts", "。。／", "\u202e", "\ufeff", " ", "'", '"', "$", "{", "}", "a", "é", "😀",
)  # fmt: skip
"""What an id may hold that means something to a path, a query or a shell."""

WRONG = (
    None, True, 0, -1, 2**63, 10**400, -0.0, 1e308, "", " ", "null", "NaN", "[]", "{}", "[" * 500, "x" * 70_000,
    "\ud800", "\x00", [], {}, [[]], {"": None}, [None], {"a": {"b": {"c": [1, {"d": []}]}}}, "1e999", "0x10",
    "2026-13-45T99:99:99Z", "9999-12-31T23:59:59-12:00", "00000000-0000-4000-8000-000000000000", "0" * 32,
)  # fmt: skip
"""Values of every type at the edges of what a client can send."""


def hostile_texts(*victims: str) -> SearchStrategy[str]:
    """Texts made of path characters, and ids that belong to somebody else."""
    pieces = st.lists(st.sampled_from((*PATH_PIECES, *victims)), min_size=1, max_size=6).map("".join)
    return st.one_of(pieces, st.sampled_from(victims)) if victims else pieces


def well_formed(schema: Mapping[str, Any], texts: SearchStrategy[str]) -> SearchStrategy[dict[str, Any]]:
    """Objects that fit an input schema; optional properties come and go."""
    properties, required = schema["properties"], schema.get("required", ())
    return st.fixed_dictionaries(
        {name: value(part, texts) for name, part in properties.items() if name in required},
        optional={name: value(part, texts) for name, part in properties.items() if name not in required},
    )


def anything(schema: Mapping[str, Any], texts: SearchStrategy[str]) -> SearchStrategy[dict[str, Any]]:
    """Objects with the properties of an input schema, whose values often fit and often do not."""
    odd = st.one_of(st.sampled_from(WRONG), texts, st.integers(), st.floats(allow_nan=False, allow_infinity=False))
    parts = {name: st.one_of(value(part, texts), value(part, texts), odd) for name, part in schema["properties"].items()}
    known = st.fixed_dictionaries({}, optional=parts)
    unknown = st.dictionaries(st.text(max_size=8), odd, max_size=2)
    return st.tuples(known, unknown).map(lambda both: {**both[1], **both[0]})


def value(schema: Mapping[str, Any], texts: SearchStrategy[str]) -> SearchStrategy[Any]:
    """Values that fit the schema of a property."""
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    if "const" in schema:
        return st.just(schema["const"])
    choices: Sequence[Mapping[str, Any]] = schema.get("anyOf") or schema.get("oneOf") or ()
    if choices:
        return st.one_of([value(choice, texts) for choice in choices])
    kind = schema.get("type")
    if kind == "string":
        times = st.datetimes().map(lambda moment: moment.isoformat() + "Z")
        return st.one_of(texts, texts, st.text(max_size=30), times)
    if kind == "integer":
        return st.one_of(st.integers(0, 12), st.integers(-(2**53), 2**53))
    if kind == "number":
        return st.one_of(st.floats(0, 10), st.floats(allow_nan=False, allow_infinity=False))
    if kind == "boolean":
        return st.booleans()
    if kind == "array":
        return st.lists(value(schema.get("items", {}), texts), max_size=4)
    if kind == "object" and schema.get("properties"):
        return well_formed(schema, texts)
    if kind == "object":
        return st.dictionaries(texts, st.one_of(texts, st.integers(), st.none(), st.lists(texts, max_size=2)), max_size=3)
    return st.one_of(texts, st.integers(), st.booleans())
