"""docs/openapi.json is current, valid, and true of real answers."""

from __future__ import annotations

import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from openapi_spec_validator import validate

from infra import openapi
from infra.gateway import ROOT
from tests.functions.rest_api import Api


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    made: dict[str, Any] = json.loads(openapi.FILE.read_text())
    return made


def test_it_is_current_and_valid(document):
    assert openapi.FILE.read_text() == openapi.text(), "run `python -m infra.openapi`"
    validate(document)


def test_every_function_that_is_routed_is_described(document):
    routed = {route["path"].removesuffix("/**") for route in json.loads((ROOT / "infra" / "routes.json").read_text())}
    undescribed = {path for path in routed if not any(described.startswith(path) for described in document["paths"])}
    assert undescribed <= {"/mcp", "/mcp/"}


def check(document, answer, path, method="post"):
    """The answer has a described status and fits its schema."""
    described = document["paths"][path][method]["responses"]
    assert str(answer.status_code) in described, f"{method} {path} answered {answer.status_code}"
    content = described[str(answer.status_code)].get("content")
    assert bool(content) == bool(answer.data)
    if content and "application/json" in content:
        schema = {**content["application/json"]["schema"], "components": document["components"]}
        Draft202012Validator(schema).validate(answer.json)
    return answer


def test_memories_answer_as_described(document, agent):
    api = Api(agent())

    def post(path, **body):
        return check(document, api.post(path, **body), f"/api/v2{path}")

    post("/projects/get")
    post("/projects", config={"backend": "event", "properties_schema": {"n": "int"}})
    post("/projects", config={})
    post("/projects/get")
    message = {"content": "Tea is hot.", "metadata": {"a": "b"}, "timestamp": 1_700_000_000}
    [added] = post("/memories", messages=[message]).json["results"]
    post("/memories", messages=[message] * 2_501)
    post("/memories")
    for path in ("/memories/search", "/memories/list"):
        post(path, query="tea", filter="m.a = 'b'")
        post(path, query="tea", filter="m.a =")
    post("/memories/semantic/delete", semantic_id=f"{added['uid']}:0")
    post("/memories/semantic/delete")
    post("/memories/episodic/delete", episodic_id=added["uid"])
    post("/memory/episodic/config/get")
    post("/projects/episode_count/get")
    post("/projects/list")
    post("/projects/delete")
    post("/projects/delete")
    for path in ("/api/v2/health", "/api/v2/metrics"):
        check(document, api.caller.send("GET", path), path, "get")


def test_keys_answer_as_described(document, agent, nobody):
    caller = agent("builder")
    check(document, nobody.post({"agent_id": "x"}, path="/v1/keys"), "/v1/keys")
    check(document, nobody.post({}, path="/v1/keys"), "/v1/keys")
    check(document, nobody.send("GET", "/v1/keys"), "/v1/keys", "get")
    made = check(document, caller.post({"agent_id": "second"}, path="/v1/keys"), "/v1/keys").json
    check(document, caller.send("GET", "/v1/keys"), "/v1/keys", "get")
    check(document, caller.send("DELETE", f"/v1/keys/{made['key_id']}"), "/v1/keys/{key_id}", "delete")
    check(document, caller.send("GET", "/v1/keys"), "/v1/keys", "get")
    check(document, caller.send("GET", "/v1/usage"), "/v1/usage", "get")
    check(document, caller.post({}, path="/v1/space-token"), "/v1/space-token")
    check(document, caller.post({"expires_in": 1}, path="/v1/space-token"), "/v1/space-token")
    check(document, agent().post({}, path="/v1/space-token"), "/v1/space-token")
    check(document, nobody.send("GET", "/health"), "/health", "get")
