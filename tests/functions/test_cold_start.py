"""Which modules a request leaves imported: what is not imported does not lengthen a cold start."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from am_server.edge.http import encode_json
from am_server.mcp import tools_list

from infra.gateway import ROOT

HEAVY = ["numpy", "google.cloud.firestore", "google.cloud.storage", "grpc", "boto3", "requests", "tokenizers", "Stemmer", "jwt"]

SCRIPT = """
import json, sys
import functions_framework
from werkzeug.test import Client
from am_server import wiring

app = Client(functions_framework.create_app(sys.argv[1], sys.argv[2], "http"))
key = None
for method, path, body in json.loads(sys.argv[3]):
    if body == "sign up":
        services = wiring.services()
        key = services.accounts.sign_up("agent", services.tiers["explorer"]).key
        continue
    headers = {"X-API-Key": key or "no key at all"}
    answer = app.open(path, method=method, headers=headers, json=body)
    result = (answer.json or {}).get("result", {})
    print("FOUND " + json.dumps([answer.status_code, result.get("isError", False), sorted(sys.modules)]))
"""


def after(tmp_path, function, requests, **settings):
    """For each request to a fresh process: its status, whether its tool failed, and the modules imported by then."""
    variables = {"PATH": "/usr/bin:/bin", "AM_DATA_DIR": str(tmp_path), "AM_KEY_PEPPER": "pepper", **settings}
    main = ROOT / "functions" / function / "main.py"
    command = [sys.executable, "-c", SCRIPT, function, str(main), json.dumps(requests)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=variables, cwd=ROOT)
    assert done.returncode == 0, done.stderr[-2_000:]
    found = [json.loads(line.removeprefix("FOUND ")) for line in done.stdout.splitlines() if line.startswith("FOUND ")]
    return [(status, failed, set(modules)) for status, failed, modules in found]


def rpc(method, **params):
    return ["POST", "/mcp", {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}]


def call(tool, **arguments):
    return rpc("tools/call", name=tool, arguments=arguments)


def test_health_imports_neither_stores_nor_models(tmp_path):
    [(status, _, modules)] = after(tmp_path, "health", [["GET", "/health", None]])
    assert status == 200
    assert not modules & {*HEAVY, "pydantic", "sqlite3", "am_server.tools.registry", "am_server.identity.accounts"}


@pytest.mark.parametrize("store", ["sqlite", "firestore"])
def test_a_refusal_imports_neither_stores_nor_models(tmp_path, store):
    [(status, _, modules)] = after(tmp_path, "mcp", [rpc("tools/list")], AM_STORE=store, GOOGLE_CLOUD_PROJECT="none")
    assert status == 401
    assert not modules & {*HEAVY, "pydantic", "sqlite3", "am_server.tools.registry"}


def test_what_the_first_calls_import(tmp_path):
    requests = [
        ["", "", "sign up"],
        rpc("initialize", protocolVersion="2025-11-25"),
        rpc("tools/list"),
        call("memory_set_working", key="k", content="v"),
        call("memory_get_working", key="k"),
        call("memory_graph_add_triple", subject="Ada", predicate="knows", object="Bob"),
        call("memory_store_entity", entity_id="Ada"),
    ]
    found = after(tmp_path, "mcp", requests)
    assert [(status, failed) for status, failed, _ in found] == [(200, False)] * 6
    initialized, listed, *written = (modules for _, _, modules in found)
    assert not initialized & {*HEAVY, "pydantic", "am_server.tools.registry"}
    for modules in (listed, *written):
        assert not modules & set(HEAVY)


def test_writing_an_episode_imports_no_numpy(tmp_path):
    [(status, failed, modules)] = after(
        tmp_path, "mcp", [["", "", "sign up"], call("memory_store_episode", content="It rained.")]
    )
    assert (status, failed) == (200, False)
    assert not modules & {"numpy", "google.cloud.firestore", "google.cloud.storage", "tokenizers"}


def test_a_packaged_list_is_taken_as_it_is(tmp_path, monkeypatch):
    derived = tools_list.derive()
    prebuilt = tmp_path / "tools.json"
    prebuilt.write_bytes(encode_json(derived))
    monkeypatch.setattr(tools_list, "PREBUILT", prebuilt)
    tools_list.published.cache_clear()
    assert tools_list.published() == derived
    tools_list.published.cache_clear()
