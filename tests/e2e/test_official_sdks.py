"""The official SDKs connect, list and call."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from am_server.mcp.hello import INSTRUCTIONS
from am_server.tools.catalogue import load

from tests.e2e.installed import environment, node, node_modules, python_sdk

CLIENTS = Path(__file__).parent / "clients"


def run(*command, **variables):
    """What a client found, as a dictionary."""
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=60, env=environment(**variables))
    assert done.returncode == 0, done.stderr[-2_000:]
    return json.loads(done.stdout)


def check(found, version, unknown, instructions=INSTRUCTIONS):
    assert found == {
        "version": version,
        "instructions": instructions,
        "tools": list(load()),
        "stored": {"key": "k", "set": True},
        "found": {"found": True, "item": {"key": "k", "content": "from an SDK"}},
        "refused": [True, "validation error on 'key': required field missing or invalid"],
        "unknown": unknown,
    }


def test_python_1(base_url, new_key):
    found = run(python_sdk("1.30.0"), CLIENTS / "python_v1.py", f"{base_url}/mcp", new_key())
    check(found, "2025-11-25", -32601)


@pytest.mark.parametrize(
    ("mode", "version", "unknown"),
    [("auto", "2026-07-28", -32602), ("legacy", "2025-11-25", -32601), ("2026-07-28", "2026-07-28", -32602)],
)
def test_python_2(base_url, new_key, mode, version, unknown):
    found = run(python_sdk("2.3.0"), CLIENTS / "python_v2.py", f"{base_url}/mcp", new_key(), mode)
    # a client that is told the revision asks nothing before its first call, so it sees no instructions
    check(found, version, unknown, None if mode == version else INSTRUCTIONS)


@pytest.mark.parametrize(
    ("generation", "mode", "version", "unknown"),
    [(1, "", "2025-11-25", -32601), (2, "legacy", "2025-11-25", -32601), (2, "auto", "2026-07-28", -32602)],
)
def test_typescript(base_url, new_key, generation, mode, version, unknown):
    modules = node_modules()
    script = CLIENTS / "typescript.cjs"
    found = run(node(modules), script, f"{base_url}/mcp", new_key(), generation, mode, NODE_PATH=str(modules))
    check(found, version, unknown)
