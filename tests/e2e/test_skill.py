"""The skill's two clients, as a user runs them against a started service."""

from __future__ import annotations

import importlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from infra.serving import served

ROOT = Path(__file__).parents[2]
SKILL = ROOT / "skills" / "agentverse-memory"
MEM = SKILL / "scripts" / "mem"
CLIENT = SKILL / "scripts" / "memory_client.py"

needs_shell_tools = pytest.mark.skipif(not (shutil.which("jq") and shutil.which("curl")), reason="mem needs curl and jq")


@pytest.fixture(scope="module")
def base_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with served(tmp_path_factory.mktemp("skill")) as url:
        yield url


def run(command: list[str], base_url: str, key: str = "") -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "AM_BASE_URL": base_url, "AM_API_KEY": key}
    return subprocess.run(command, capture_output=True, text=True, env=environment, cwd=ROOT, timeout=60, check=False)


class User:
    """Somebody with a key and the two clients."""

    def __init__(self, base_url: str, tier: str = "pro") -> None:
        self.base_url, self.key = base_url, ""
        self.key = self.client("create-key", "--agent-id", "my-agent", "--tier", tier)["key"]

    def client(self, *arguments: str) -> Any:
        done = run([sys.executable, str(CLIENT), *arguments], self.base_url, self.key)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def mem(self, *arguments: str) -> Any:
        done = run([str(MEM), *arguments], self.base_url, self.key)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)


@pytest.fixture(scope="module")
def user(base_url: str) -> User:
    return User(base_url)


def test_episodes(user):
    stored = user.client("store-episode", "--content", "Alice likes simple analogies", "--metadata", '{"speaker": "Alice"}')
    found = user.client("query-episodes", "--query", "analogies", "--limit", "5")
    assert found["results"][0]["episode"]["id"] == stored["id"]
    assert found["retrieval"] == "hybrid"
    assert user.client("query-episodes", "--query", "analogies", "--no-hybrid")["retrieval"] == "tfidf"
    assert user.client("query-episodes", "--query", "analogies", "--use-pheromone", "--max-content-chars", "9")["count"] == 1
    assert user.client("get-episodes", "--limit", "3")["count"] == 1
    assert user.client("search-timeline", "--start", "2000-01-01T00:00:00Z", "--end", "2100-01-01T00:00:00Z")["count"] == 1
    assert user.client("consolidate-episodes", "--before", "2000-01-01T00:00:00Z")["consolidated"] == 0


def test_graph(user):
    user.client("store-fact", "--subject", "Ada", "--predicate", "lives_in", "--object", "London")
    user.client("store-entity", "--name", "Ada", "--type", "person", "--description", "Wrote the first program")
    user.client("store-relation", "--from", "London", "--to", "England", "--predicate", "part_of", "--weight", "0.5")
    assert user.client("get-entity", "--name", "Ada")["entity"]["type"] == "person"
    assert user.client("list-entities", "--type", "person")["count"] == 1
    assert user.client("get-relations", "--name", "London")["count"] == 2
    assert user.client("graph-neighbors", "--node", "Ada", "--depth", "2")["count"] == 2
    assert user.client("get-neighbors", "--name", "Ada", "--hops", "1")["count"] == 1
    assert user.client("traverse-graph", "--start", "Ada", "--max-depth", "2")["count"] >= 2
    assert user.client("find-path", "--start", "Ada", "--end", "England", "--strategy", "shortest")["hops"] == 2
    assert user.client("shortest-path", "--start", "England", "--end", "Ada", "--undirected")["found"] is True
    assert "lives_in" in json.dumps(user.client("query-graph", "--query", "London"))
    assert user.client("semantic-search", "--query", "first program")["results"][0]["entity"]["entity_id"] == "Ada"
    assert user.client("deposit-pheromone", "--node", "Ada", "--strength", "2")["node_type"] == "entity"
    assert user.client("get-pheromone", "--node", "Ada")["weight"] == pytest.approx(2, rel=1e-3)


def test_procedures(user):
    made = user.client("store-procedure", "--name", "brew tea", "--steps", '["boil water"]', "--tags", "tea, kitchen")
    assert user.client("get-procedure", "--id", made["id"])["procedure"]["tags"] == ["tea", "kitchen"]
    assert user.client("match-procedure", "--task", "brew some tea")["count"] == 1
    user.client("update-procedure", "--name", "brew tea", "--steps", '["warm the pot"]')
    assert user.client("get-procedure", "--name", "brew tea")["procedure"]["steps"] == ["warm the pot"]


def test_working_memory(user):
    assert user.client("set-working", "--key", "task", "--value", '{"n": 1}', "--ttl", "60")["ttl_seconds"] == 60
    assert user.client("get-working", "--key", "task")["item"]["content"] == '{"n": 1}'
    assert user.client("list-working", "--prefix", "ta")["count"] == 1
    assert user.client("clear-working", "--key", "task")["removed"] is True


def test_shared_spaces(user):
    space = user.client("create-space", "--name", "lab")["space_id"]
    user.client("shared-store", "--space-id", space, "--name", "Ada", "--type", "person")
    assert user.client("shared-query", "--space-id", space)["results"][0]["name"] == "Ada"
    assert user.client("list-spaces")["count"] == 1


def test_every_tool_has_a_command_with_every_argument(monkeypatch):
    from am_server.tools.catalogue import load
    from am_server.tools.schemas import input_schema

    monkeypatch.syspath_prepend(str(CLIENT.parent))
    commands = {command.tool: command for command in importlib.import_module("memory_client").COMMANDS.values()}
    assert set(commands) == set(load())
    for name, tool in load().items():
        wanted = set(input_schema(tool.arguments)["properties"]) - {"properties"}  # which is another name for metadata
        assert {flag.argument for flag in commands[name].flags} == wanted, name


def test_erasure_needs_a_confirmation(base_url):
    user = User(base_url)
    user.client("set-working", "--key", "k", "--value", "v")
    refused = run([sys.executable, str(CLIENT), "delete-agent"], base_url, user.key)
    assert refused.returncode != 0
    assert user.client("stats")["memory"]["working_count"] == 1
    assert user.client("delete-agent", "--confirm")["deleted"] is True
    assert user.client("stats")["memory"]["working_count"] == 0


def test_errors_go_to_standard_error(user, base_url):
    for arguments, key, said in [
        (["get-working", "--key", "x"], "", "AM_API_KEY is not set"),
        (["get-working", "--key", "x"], "am_" + "x" * 43, "key"),
        (["store-episode", "--content", "   "], user.key, "content"),
        (["store-episode", "--content", "x", "--metadata", "{"], user.key, "--metadata"),
        (["store-episode"], user.key, "--content"),
        (["remember", "--content", "x"], user.key, "'remember'"),
    ]:
        done = run([sys.executable, str(CLIENT), *arguments], base_url, key)
        assert (done.returncode, done.stdout) == (1, "")
        assert said in done.stderr
        assert len(done.stderr.splitlines()) == 1
    nowhere = run([sys.executable, str(CLIENT), "health"], "http://127.0.0.1:9")
    assert (nowhere.returncode, "AM_BASE_URL" in nowhere.stderr) == (1, True)


def test_a_used_up_quota_is_told_in_one_line(tmp_path):
    limits = {"monthly_ops": 0, "agents": 1, "spaces": 0, "a_star": False, "hard_limit": True}
    with served(tmp_path, {"AM_TIERS": json.dumps({"pro": limits})}) as url:
        done = run([sys.executable, str(CLIENT), "list-working"], url, User(url).key)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("error: the 0 operations a month of tier 'pro' are used up; retry after ")
    assert len(done.stderr.splitlines()) == 1


@needs_shell_tools
def test_mem_everyday_commands(base_url):
    user = User(base_url, "explorer")
    user.mem("episode", 'User "prefers" dark mode', '{"tags": ["pref"]}')
    [hit] = user.mem("search", "dark mode")["results"]
    assert hit["episode"]["content"] == 'User "prefers" dark mode'
    assert hit["episode"]["metadata"] == {"tags": ["pref"]}
    assert user.mem("recent", "1")["count"] == 1
    user.mem("fact", "Ada", "lives in", "London")
    assert user.mem("facts", "London")["neighbors"][0]["subject"] == "Ada"
    user.mem("entity", "Ada", "A programmer")
    user.mem("set", "k", "a value", "60")
    assert user.mem("get", "k")["item"]["content"] == "a value"
    assert user.mem("clear", "k")["removed"] is True
    assert user.mem("call", "memory_get_stats")["memory"]["episode_count"] == 1
    assert user.mem("stats")["tier"] == "explorer"
    assert user.mem("key", "another")["agent_id"] == "another"


@needs_shell_tools
def test_mem_doctor(base_url, user):
    healthy = run([str(MEM), "doctor"], base_url, user.key)
    assert healthy.returncode == 0
    assert [line.split()[0] for line in healthy.stdout.splitlines()] == ["PASS"] * 5
    for url, key, first in [
        (base_url, "", "environment"),
        (base_url, "am_" + "x" * 43, "auth"),
        ("http://127.0.0.1:9", user.key, "endpoint"),
    ]:
        ill = run([str(MEM), "doctor"], url, key)
        faults = [line for line in ill.stdout.splitlines() if line.startswith("FAIL")]
        assert ill.returncode == 1
        assert faults[0].startswith(f"FAIL  {first}")


@needs_shell_tools
@pytest.mark.parametrize(
    "arguments", [["nonsense"], ["episode"], ["episode", "x", "{"], ["search", "x", "many"], ["call", "memory_nope"]]
)
def test_mem_errors(base_url, user, arguments):
    done = run([str(MEM), *arguments], base_url, user.key)
    assert done.returncode == 1
    assert done.stderr.startswith("error: ")


@needs_shell_tools
def test_mem_help_needs_nothing():
    done = run([str(MEM), "--help"], "http://127.0.0.1:9")
    assert done.returncode == 0
    assert "mem doctor" in done.stdout


def test_mem_passes_shellcheck():
    checker = Path(sys.executable).parent / "shellcheck"
    done = subprocess.run([str(checker), str(MEM)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
