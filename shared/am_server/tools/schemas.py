"""JSON schemas that every client accepts: object-rooted, flat, without `$ref` and without nulls."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from pydantic import BaseModel, TypeAdapter
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import core_schema

ERROR = {
    "type": "object",
    "description": "Present instead of everything else when the call failed.",
    "properties": {"code": {"type": "integer"}, "type": {"type": "string"}, "message": {"type": "string"}},
}


class _Plain(GenerateJsonSchema):
    """Optional means absent, never null; titles only repeat the names."""

    def nullable_schema(self, schema: core_schema.NullableSchema) -> dict[str, Any]:
        return self.generate_inner(schema["schema"])

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> dict[str, Any]:
        made = super().default_schema(schema)
        if made.get("default", ...) is None:
            del made["default"]
        return made


@cache
def input_schema(model: type[BaseModel]) -> dict[str, Any]:
    """The input schema of an argument model."""
    schema = _tidy(model.model_json_schema(schema_generator=_Plain))
    schema.pop("description", None)
    schema.setdefault("properties", {})
    return {"type": "object", **schema, "additionalProperties": True}


def output_schema(payload: type[Any]) -> dict[str, Any]:
    """The output schema of a result TypedDict: no root `required`, and `error` beside the success keys."""
    schema = _tidy(TypeAdapter(payload).json_schema(schema_generator=_Plain))
    return {"type": "object", "properties": {**schema.get("properties", {}), "error": ERROR}}


def _tidy(schema: Mapping[str, Any]) -> dict[str, Any]:
    definitions = schema.get("$defs", {})

    def walk(node: Any, is_properties: bool = False) -> Any:
        if isinstance(node, list):
            return [walk(item) for item in node]
        if not isinstance(node, dict):
            return node
        if "$ref" in node:
            target = definitions[node["$ref"].rpartition("/")[2]]
            return walk({**target, **{key: value for key, value in node.items() if key != "$ref"}})
        dropped = () if is_properties else ("title", "$defs")
        return {key: walk(value, key == "properties" and not is_properties) for key, value in node.items() if key not in dropped}

    return walk(dict(schema))  # type: ignore[no-any-return]
