"""The Python SDK against a started service, and against servers that fail."""

from __future__ import annotations

import asyncio
import inspect
import json
import threading
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import agentverse_memory
import pytest
from agentverse_memory import (
    AsyncClient,
    AuthenticationError,
    Client,
    ForbiddenError,
    NotFoundError,
    RateLimitError,
    UnavailableError,
    ValidationError,
    operations,
)

from infra.serving import served

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def base_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with served(tmp_path_factory.mktemp("sdk")) as url:
        yield url


@pytest.fixture
def memory(base_url: str) -> Iterator[Client]:
    with Client(base_url=base_url) as client:
        client.create_key("my-agent", "pro")
        yield client


def test_one_of_each_kind(memory):
    stored = memory.store_episode("Alice prefers simple analogies", metadata={"speaker": "Alice"})
    assert memory.search_episodes("analogies")["results"][0]["episode"]["id"] == stored["id"]
    memory.store_entity("Ada", type="person")
    memory.add_triple("Ada", "lives_in", "London")
    assert memory.shortest_path("Ada", "London")["hops"] == 1
    memory.store_procedure("brew tea", steps=["boil water", {"action": "pour"}])
    assert memory.get_procedure(name="brew tea")["procedure"]["steps"] == ["boil water", {"action": "pour"}]
    memory.set_working("state", {"step": 1}, ttl_seconds=60)
    assert json.loads(memory.get_working("state")["item"]["content"]) == {"step": 1}
    assert memory.deposit_pheromone(stored["id"])["node_type"] == "episode"
    space = memory.create_shared_space("lab")["space_id"]
    memory.shared_store_entity(space, "Ada")
    assert memory.shared_query(space)["count"] == 1
    assert memory.get_stats()["memory"]["episode_count"] == 1
    assert memory.delete_agent(confirm=True)["deleted"] is True


def test_every_tool_is_a_method_of_both_clients():
    from am_server.tools.catalogue import load

    described = {}
    for name, make in inspect.getmembers(operations, inspect.isfunction):
        if not name.startswith("_") and name != "dataclass":
            required = [p.name for p in inspect.signature(make).parameters.values() if p.default is p.empty]
            described[make(**dict.fromkeys(required, "x")).tool] = name
    assert set(described) == set(load())
    for name in described.values():
        assert callable(getattr(Client, name))
        assert inspect.iscoroutinefunction(getattr(AsyncClient, name))


def test_pages_are_followed(memory):
    for number in range(7):
        memory.store_episode(f"note {number}")
        memory.store_entity(f"thing {number}")
    assert [episode["content"] for episode in memory.iter_episodes(page=3)] == [f"note {number}" for number in range(6, -1, -1)]
    assert {entity["entity_id"] for entity in memory.iter_entities(page=2)} == {f"thing {number}" for number in range(7)}


def test_the_asynchronous_client(base_url):
    async def work() -> list[str]:
        async with AsyncClient(base_url=base_url) as memory:
            await memory.create_key("my-agent")
            await asyncio.gather(*(memory.store_episode(f"note {number}") for number in range(5)))
            return [episode["content"] async for episode in memory.iter_episodes(page=2)]

    assert set(asyncio.run(work())) == {f"note {number}" for number in range(5)}


def test_errors_have_types(memory, base_url):
    with pytest.raises(ValidationError, match="content"):
        memory.store_episode("  ")
    with pytest.raises(NotFoundError):
        memory.deposit_pheromone("nobody")
    with pytest.raises(AuthenticationError):
        Client("am_" + "x" * 43, base_url).get_stats()
    with Client(base_url=base_url) as explorer:
        explorer.create_key("my-agent", "explorer")
        with pytest.raises(ForbiddenError, match="memory_traverse_graph"):
            explorer.find_path("a", "b")
        with pytest.raises(ForbiddenError):
            explorer.create_shared_space("lab")


class Scripted(BaseHTTPRequestHandler):
    """Answers with the statuses of `script` in turn, and notes the idempotency keys it sees.

    A negative status is the code of an error within a tool's result.
    """

    script: ClassVar[list[int]] = []
    seen: ClassVar[list[str]] = []

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.seen.append(body["params"]["arguments"]["idempotency_key"])
        status = self.script.pop(0)
        payload = {"error": {"code": status, "message": "busy"}} if status < 0 else {"stored": True}
        result = {"content": [{"type": "text", "text": "busy"}], "isError": status < 0, "structuredContent": payload}
        answer = {"error": {"code": -32008, "message": "busy"}} if status > 200 else {"jsonrpc": "2.0", "id": 1, "result": result}
        self.send_response({-32005: 429}.get(status, max(status, 200)))
        self.send_header("Retry-After", "0" if len(self.script) else "86400")
        self.end_headers()
        self.wfile.write(json.dumps(answer, separators=(",", ":")).encode())

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def scripted() -> Iterator[str]:
    Scripted.script, Scripted.seen = [], []
    server = ThreadingHTTPServer(("127.0.0.1", 0), Scripted)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_a_write_is_repeated_under_one_idempotency_key(scripted):
    Scripted.script += [503, 429, -32008, 502, 200]
    with pytest.raises(UnavailableError):
        Client("am_key", scripted).store_episode("x")  # three repetitions are enough
    Scripted.script, Scripted.seen = [-32008, -32005, 502, 200], []
    assert Client("am_key", scripted).store_episode("x")["stored"] is True
    assert len(Scripted.seen) == 4
    assert len(set(Scripted.seen)) == 1


def test_a_quota_that_ends_next_month_is_not_waited_for(scripted):
    Scripted.script += [-32005]
    with pytest.raises(RateLimitError) as refusal:
        Client("am_key", scripted).store_episode("x")
    assert refusal.value.retry_after == 86400


def test_a_server_that_is_not_there():
    with pytest.raises(UnavailableError, match=r"127\.0\.0\.1:9"):
        Client("am_key", "http://127.0.0.1:9").get_stats()


def test_the_wheel_holds_the_typed_package(tmp_path):
    import subprocess
    import sys

    command = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "-q", "-w", str(tmp_path)]
    subprocess.run([*command, str(ROOT / "shared" / "agentverse_memory")], check=True, capture_output=True)
    [wheel] = tmp_path.glob("agentverse_memory-*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {"agentverse_memory/__init__.py", "agentverse_memory/client.py", "agentverse_memory/py.typed"} <= names
    assert agentverse_memory.__version__ in wheel.name
