"""`am-server stdio`: the service for hosts that start a program, and memory in and out of files."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

COMMAND = str(Path(sys.executable).parent / "am-server")
META = "io.modelcontextprotocol/"


def environment(data_dir: Path, **more: str) -> dict[str, str]:
    return {**os.environ, "AM_DATA_DIR": str(data_dir), "PYTHONUNBUFFERED": "1", **more}


class Host:
    """A host that started the server as a program."""

    def __init__(self, data_dir: Path) -> None:
        self.process = subprocess.Popen(
            [COMMAND, "stdio"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(data_dir)
        )

    def say(self, text: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(text.encode() + b"\n")
        self.process.stdin.flush()

    def ask(self, method: str, params: Any = None, id: Any = 1) -> dict[str, Any]:
        self.say(json.dumps({"jsonrpc": "2.0", "id": id, "method": method, **({} if params is None else {"params": params})}))
        return self.line()

    def line(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        answer: dict[str, Any] = json.loads(self.process.stdout.readline())
        return answer

    def call(self, tool: str, **arguments: Any) -> Any:
        result = self.ask("tools/call", {"name": tool, "arguments": arguments})["result"]
        assert not result["isError"], result
        return result["structuredContent"]

    def end(self) -> tuple[int, bytes]:
        """Close the input; the exit status, and what was still to be read."""
        out, _ = self.process.communicate(timeout=20)
        return self.process.returncode, out


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Host]:
    started = Host(tmp_path)
    yield started
    started.process.kill()
    started.process.wait()


HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}


def test_a_session(host):
    assert host.ask("initialize", HELLO, id=0)["result"]["serverInfo"]["name"] == "am-server"
    host.say('{"jsonrpc":"2.0","method":"notifications/initialized"}')
    assert len(host.ask("tools/list")["result"]["tools"]) == 35
    stored = host.call("memory_store_episode", content="The heron\nstood in the pond 🍸")
    assert host.call("memory_search_episodes", query="heron")["results"][0]["episode"]["id"] == stored["id"]
    status, rest = host.end()
    assert (status, rest) == (0, b""), "nothing but answers goes to standard output"


def test_both_eras_and_faults(host):
    meta = {META + "protocolVersion": "2026-07-28", META + "clientCapabilities": {}}
    assert "2026-07-28" in host.ask("server/discover", {"_meta": meta})["result"]["supportedVersions"]
    stats = host.ask("tools/call", {"name": "memory_get_stats", "arguments": {}, "_meta": meta}, id="s")
    assert (stats["id"], stats["result"]["resultType"]) == ("s", "complete")
    host.say("{")
    assert host.line()["error"]["code"] == -32700
    host.say("")
    assert host.ask("nope/nope", id=7)["error"]["code"] == -32601


def test_the_memory_stays(tmp_path):
    first = Host(tmp_path)
    first.call("memory_set_working", key="k", content="kept")
    first.end()
    second = Host(tmp_path)
    assert second.call("memory_get_working", key="k")["item"]["content"] == "kept"
    second.end()


def test_the_first_answer_comes_quickly(tmp_path):
    Host(tmp_path).end()  # the files are on the disk's cache now, as on any day but the first
    began = time.monotonic()
    host = Host(tmp_path)
    host.ask("initialize", HELLO)
    elapsed = time.monotonic() - began
    host.end()
    assert elapsed < 5, "a generous bound: `make bench` measures"


# --- files


def command(data_dir: Path, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([COMMAND, *arguments], capture_output=True, text=True, env=environment(data_dir, **more), check=False)


def fill(host: Host) -> None:
    host.call("memory_store_episode", content="The heron 🍸", metadata={"n": [1, [2]]}, valid_at="2026-01-02T03:04:05.000006Z")
    host.call("memory_store_episode", content="word " * 2_000)
    host.call("memory_store_entity", entity_id="Ada", type="person", metadata={"age": 36})
    host.call("memory_store_relation", from_id="Ada", to_id="Engine", predicate="designed", weight=0.5)
    host.call("memory_deposit_pheromone", node_id="Ada", strength=3)
    host.call("memory_store_procedure", name="brew tea", steps=["boil", {"action": "pour"}])
    host.call("memory_update_procedure", name="brew tea", outcome="success")
    host.call("memory_set_working", key="k", content="v", ttl_seconds=3_600)


def everything(host: Host) -> Any:
    return [
        host.call("memory_get_episodes", limit=50)["episodes"],
        host.call("memory_get_entity", entity_id="Ada")["entity"]["metadata"],
        host.call("memory_get_relations", entity_id="Ada")["relations"],
        host.call("memory_get_procedure", name="brew tea")["procedure"],
        host.call("memory_list_working")["items"],
        host.call("memory_get_stats")["memory"],
        [result["episode"]["id"] for result in host.call("memory_search_episodes", query="heron")["results"]],
    ]


def test_export_and_import_lose_nothing(tmp_path):
    here, there, file = tmp_path / "here", tmp_path / "there", tmp_path / "memory.jsonl"
    host = Host(here)
    fill(host)
    known = everything(host)
    host.end()
    file.write_text(command(here, "export").stdout)

    first = json.loads(command(there, "import", str(file)).stdout)
    assert (first["created"] > 5, first["changed"], first["unchanged"]) == (True, 0, 0)
    second = json.loads(command(there, "import", str(file)).stdout)
    assert second == {"created": 0, "changed": 0, "unchanged": first["created"]}
    copy = Host(there)
    assert everything(copy) == known
    assert copy.call("memory_get_pheromone", node_id="Ada")["weight"] == pytest.approx(3, rel=1e-3)
    copy.end()
    assert command(there, "export").stdout.splitlines() == file.read_text().splitlines()


def test_what_was_erased_is_not_exported(tmp_path):
    host = Host(tmp_path)
    fill(host)
    host.call("memory_delete_agent", confirm=True)
    host.end()
    assert command(tmp_path, "export").stdout.splitlines() == ['{"format":"am-server/1"}']


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("nonsense", "line 1"),
        ('{"format":"other/9"}', "line 1"),
        ('{"format":"am-server/1"}\n{"collection":"keys","id":"x","fields":{}}', "line 2"),
        ('{"format":"am-server/1"}\n{"collection":"episodes","id":"a/b","fields":{}}', "line 2"),
        ('{"format":"am-server/1"}\n\n{"collection":"episodes","id":"a","fields":{"x":[1]}}', "line 3"),
    ],
)
def test_a_file_that_cannot_be_read(tmp_path, text, line):
    file = tmp_path / "bad.jsonl"
    file.write_text(text)
    done = command(tmp_path / "data", "import", str(file))
    assert done.returncode == 1
    assert line in done.stderr
    missing = command(tmp_path / "data", "import", str(tmp_path / "nowhere"))
    assert (missing.returncode, missing.stderr.startswith("error: ")) == (1, True)


def test_a_key_of_another_folder(tmp_path):
    done = command(tmp_path, "export", AM_API_KEY="am_" + "x" * 43)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.splitlines() == [
        f"error: the key in AM_API_KEY is none of {tmp_path}; name the folder of its service in AM_DATA_DIR, "
        "or unset AM_API_KEY to use that folder's local agent"
    ]


def test_the_reference_memory_servers_file(tmp_path):
    file = tmp_path / "memory.json"
    entries = [
        {"type": "entity", "name": "Ada", "entityType": "person", "observations": ["wrote the first program", "likes tea"]},
        {"type": "entity", "name": "Engine", "entityType": "machine", "observations": []},
        {"type": "relation", "from": "Ada", "to": "Engine", "relationType": "programmed"},
    ]
    file.write_text("\n".join(json.dumps(entry) for entry in entries))
    for _ in range(2):
        assert json.loads(command(tmp_path, "import-reference", str(file)).stdout) == {"entities": 2, "relations": 1}
    host = Host(tmp_path)
    ada = host.call("memory_get_entity", entity_id="Ada")["entity"]
    assert (ada["type"], ada["metadata"]) == ("person", {"observations": ["wrote the first program", "likes tea"]})
    assert host.call("memory_semantic_search", query="first program")["results"][0]["entity"]["entity_id"] == "Ada"
    assert host.call("memory_get_stats")["memory"]["relation_count"] == 1
    host.end()
