"""The official conformance suite passes, but for what its two lists name; an entry that passes fails the suite, too.

Each of its scenarios also checks every message on the wire against the revision's own JSON schema.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.e2e.installed import environment, node, node_modules

HERE = Path(__file__).parent / "conformance"

FULLY_PASSED = {
    "2025-11-25": ["server-initialize", "ping", "tools-list", "dns-rebinding-protection"],
    "2026-07-28": ["tools-list", "dns-rebinding-protection", "http-header-validation", "server-sse-multiple-streams"],
}


@pytest.fixture(scope="module")
def suite(base_url, new_key):
    """suite(*arguments) runs it against the service and returns what it prints."""
    modules = node_modules()
    variables = environment(CONFORMANCE_KEY=new_key(), NODE_OPTIONS=f"--require {HERE / 'api-key.cjs'}")
    command = [node(modules), modules / "@modelcontextprotocol/conformance/dist/index.js", "server", "--url", f"{base_url}/mcp"]

    def run(*arguments):
        done = subprocess.run([*command, *arguments], capture_output=True, text=True, timeout=100, env=variables)
        assert done.returncode == 0, (done.stdout + done.stderr)[-3_000:]
        return done.stdout

    return run


@pytest.mark.parametrize("revision", FULLY_PASSED)
def test_what_a_revision_requires(suite, revision):
    printed = suite("--requirements", revision, "--expected-failures", HERE / f"not-applicable-{revision}.yml")
    for scenario in FULLY_PASSED[revision]:
        [line] = [line for line in printed.splitlines() if line.startswith(f"✓ {scenario}:")]
        assert line.endswith(", 0 failed")
        assert " 0 passed" not in line


@pytest.mark.parametrize("scenario", ["server-initialize", "ping", "tools-list"])
def test_2025_06_18(suite, scenario):
    assert "0 failed" in suite("--scenario", scenario, "--spec-version", "2025-06-18")
