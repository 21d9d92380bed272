"""What is deployed: each zip's requirements in an empty environment, served as the platform serves it, on the emulators."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from infra.emulators import Environment
from infra.packaged import install, served_function, served_packages, wait_for
from infra.packaging import build
from infra.smoke import smoke, tool

SECRETS = {
    "JWT_SECRET": "a secret for tests that is long enough for HMAC-SHA256",
    "AM_KEY_PEPPER": "a pepper for tests",
    "AM_ADMIN_TOKEN": "an admin token for tests",
}


@pytest.fixture(scope="module")
def settings(firestore_environment: Environment, gcs_environment: Environment) -> Environment:
    return {
        **gcs_environment,
        **firestore_environment,
        **SECRETS,
        "AM_SIGNUP_TIERS": "explorer,builder",
        "AM_SIGNUP_PER_HOUR": "0",
    }


@pytest.fixture(scope="module")
def base_url(settings: Environment, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with served_packages(tmp_path_factory.mktemp("packaged"), settings) as url:
        yield url


def ask(url: str, method: str = "GET", body: Any = None, **headers: str) -> tuple[int, Any]:
    """Status and decoded body; `_` in a header's name stands for a dash."""
    named = {"Content-Type": "application/json", **{name.replace("_", "-"): value for name, value in headers.items()}}
    data = None if body is None else json.dumps(body).encode()
    try:
        with urllib.request.urlopen(urllib.request.Request(url, data, named, method=method), timeout=30) as answer:
            return answer.status, json.loads(answer.read())
    except urllib.error.HTTPError as refusal:
        return refusal.code, json.loads(refusal.read())


def sign_up(base_url: str, agent_id: str, tier: str = "builder", **headers: str) -> tuple[int, Any]:
    return ask(f"{base_url}/v1/keys", "POST", {"agent_id": agent_id, "tier": tier}, **headers)


def test_the_packages_remember(base_url):
    said: list[str] = []
    smoke(base_url, said.append)
    assert [line.split("ms  ")[1] for line in said] == [
        "health",
        "create a key",
        "store an episode",
        "recall it",
        "count the call",
        "delete the agent's memory",
        "revoke the key",
    ]


def test_both_ways_of_giving_a_key_work_behind_the_gateway(base_url):
    key = sign_up(base_url, "gateway")[1]["key"]
    assert ask(f"{base_url}/v1/usage", X_API_Key=key)[0] == 200
    assert ask(f"{base_url}/v1/usage", Authorization=f"Bearer {key}")[0] == 200
    assert ask(f"{base_url}/v1/usage")[0] == 401  # the gateway's own token in Authorization opens nothing


def test_a_space_token_works_behind_the_gateway(base_url):
    key = sign_up(base_url, "owner")[1]["key"]
    status, minted = ask(f"{base_url}/v1/space-token", "POST", {}, X_API_Key=key)
    assert status in (200, 201)
    message = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "memory_list_shared_spaces", "arguments": {}},
    }
    status, answer = ask(f"{base_url}/mcp", "POST", message, X_API_Key=key, Authorization=f"Bearer {minted['token']}")
    assert (status, answer["result"].get("isError", False)) == (200, False)


def test_the_admin_token_works_behind_the_gateway(base_url):
    assert sign_up(base_url, "big", "enterprise")[0] == 403
    assert sign_up(base_url, "big", "enterprise", Authorization=f"Bearer {SECRETS['AM_ADMIN_TOKEN']}")[0] in (200, 201)


def test_a_graph_search_works(base_url):
    key = sign_up(base_url, "graph")[1]["key"]
    tool(base_url, key, "memory_graph_add_triple", subject="Alice", predicate="knows", object="Bob")
    found = tool(base_url, key, "memory_find_path", from_id="Alice", to_id="Bob")
    assert found["found"] is True


def test_the_rest_routes_work(base_url):
    key = sign_up(base_url, "rest")[1]["key"]
    where = {"org_id": "o", "project_id": "p"}
    messages = {**where, "messages": [{"content": "Alice rows in the harbour"}]}
    assert ask(f"{base_url}/api/v2/memories", "POST", messages, Authorization=f"Bearer {key}")[0] in (200, 201)
    status, found = ask(
        f"{base_url}/api/v2/memories/search", "POST", {**where, "query": "Who rows?"}, Authorization=f"Bearer {key}"
    )
    assert status == 200
    assert "Alice rows in the harbour" in json.dumps(found)


def test_health_reaches_store_and_bucket(base_url):
    assert ask(f"{base_url}/health?deep=1") == (
        200,
        {"service": "am-server", "status": "ok", "version": "0.1.0", "store": "ok", "objects": "ok"},
    )


def test_unknown_paths_are_answered_in_json(base_url):
    assert ask(f"{base_url}/.well-known/oauth-protected-resource")[0] == 404


def test_the_upkeep_runs(settings: Environment, tmp_path: Path) -> None:
    source = install(build(tmp_path / "dist")["maintenance"], tmp_path / "maintenance")
    with served_function("maintenance", source, settings) as port:
        wait_for("maintenance", port)
        status, report = ask(f"http://127.0.0.1:{port}/", "POST")
        assert (status, report["finished"], report.get("failed", 0)) == (200, True, 0)
        assert ask(f"http://127.0.0.1:{port}/")[0] == 405
