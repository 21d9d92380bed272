"""The OpenAPI document of the REST routes: `python -m infra.openapi` writes docs/openapi.json.

The /api/v2 part is made from the models that read the requests and type the answers.
"""

from __future__ import annotations

import json
from typing import Any

from am_server import __version__
from am_server.rest import answers, models
from am_server.rest.routes import ENDPOINTS, PREFIX, Endpoint
from pydantic import TypeAdapter

from infra import openapi_v1
from infra.gateway import ROOT

FILE = ROOT / "docs" / "openapi.json"

FAILURES = {
    400: "The body is not UTF-8.",
    401: "No key, or one that is unknown or revoked.",
    422: "The body cannot be used; the text names every field at fault.",
    429: "The quota is used up; Retry-After says when to ask again.",
    503: "The store is out of reach; the same request may succeed later.",
}
_IDEMPOTENCY_KEY = {
    "name": "Idempotency-Key",
    "in": "header",
    "schema": {"type": "string"},
    "description": "A retry with the same key and messages adds nothing and is given the first answer, for seven days.",
}


def document() -> dict[str, Any]:
    """The whole document."""
    schemas, refs = _schemas()
    paths = {PREFIX + endpoint.path: {"post": _operation(endpoint, refs)} for endpoint in ENDPOINTS}
    health = _get("getMemoriesHealth", "Whether this function answers", {"application/json": {"schema": refs[answers.Health]}})
    paths[f"{PREFIX}/health"] = {"get": {**health, "security": [{}]}}
    counters = {"text/plain": {"schema": {"type": "string"}}}
    paths[f"{PREFIX}/metrics"] = {"get": _get("getMetrics", "Counters of this instance for the caller's account", counters)}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "am-server",
            "version": __version__,
            "description": "Memory for AI agents. MCP is served by POST /mcp, which is JSON-RPC and not described here.",
        },
        "servers": [{"url": "http://127.0.0.1:8080", "description": "make run"}],
        "security": [{"key": []}, {"bearer": []}],
        "tags": [
            {"name": "memories", "description": "What MemMachine's clients ask for."},
            {"name": "keys", "description": "Accounts, agents and their keys."},
            {"name": "health"},
        ],
        "paths": {**openapi_v1.PATHS, **paths},
        "components": {
            "securitySchemes": {
                "key": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
                "bearer": {"type": "http", "scheme": "bearer", "description": "The same key as a bearer token."},
            },
            "schemas": {**openapi_v1.SCHEMAS, **schemas},
        },
    }


def text() -> str:
    """The document as its file holds it."""
    return json.dumps(document(), indent=1, ensure_ascii=False) + "\n"


def _schemas() -> tuple[dict[str, Any], dict[Any, dict[str, Any]]]:
    """Every schema by name, and for each type of a body or an answer the schema that stands for it."""
    types = [endpoint.body for endpoint in ENDPOINTS if endpoint.body is not models.Body]
    wanted: list[Any] = [*types, answers.Health, answers.Refusal]
    inputs = [(kind, "validation", TypeAdapter(kind)) for kind in dict.fromkeys(wanted)]
    outputs = [(endpoint.path, "serialization", TypeAdapter(endpoint.answer)) for endpoint in ENDPOINTS if endpoint.answer]
    made, definitions = TypeAdapter.json_schemas([*inputs, *outputs], ref_template="#/components/schemas/{model}")  # type: ignore[list-item]
    return definitions["$defs"], {key: schema for (key, _), schema in made.items()}


def _operation(endpoint: Endpoint, refs: dict[Any, dict[str, Any]]) -> dict[str, Any]:
    first, *others = (word for word in endpoint.summary.split() if word not in ("a", "the"))
    made: dict[str, Any] = {"operationId": first.lower() + "".join(map(str.capitalize, others)), "summary": endpoint.summary}
    made |= {"tags": ["memories"], "description": (endpoint.function.__doc__ or "").partition("\n")[0].partition(" Raises ")[0]}
    if endpoint.body is not models.Body:
        made["requestBody"] = {"required": True, "content": {"application/json": {"schema": refs[endpoint.body]}}}
    if endpoint.path == "/memories":
        made["parameters"] = [_IDEMPOTENCY_KEY]
    done: dict[str, Any] = {"description": "Done."}
    if endpoint.answer is not None:
        done["content"] = {"application/json": {"schema": refs[endpoint.path]}}
    made["responses"] = {str(endpoint.status): done, **_failures({**FAILURES, **endpoint.failures}, refs)}
    return made


def _failures(failures: dict[int, str], refs: dict[Any, dict[str, Any]]) -> dict[str, Any]:
    content = {"application/json": {"schema": refs[answers.Refusal]}}
    return {str(status): {"description": failures[status], "content": content} for status in sorted(failures)}


def _get(id: str, summary: str, content: dict[str, Any]) -> dict[str, Any]:
    responses = {"200": {"description": "Done.", "content": content}}
    return {"operationId": id, "summary": summary, "tags": ["health"], "responses": responses}


if __name__ == "__main__":
    FILE.parent.mkdir(exist_ok=True)
    FILE.write_text(text())
