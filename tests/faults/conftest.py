"""A service in this process whose store and bucket fail on command, over copies of one small memory."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from am_server import wiring
from am_server.objects.directory import DirectoryStore
from am_server.objects.metered import MeteredObjects
from am_server.store.metered import MeteredStore
from am_server.store.sqlite import SqliteStore

from infra.gateway import WsgiApp, gateway
from tests.faults.ports import FaultyObjects, FaultyStore
from tests.faults.world import SETTINGS, World, call
from tests.functions.caller import Caller


@dataclass
class Service:
    """A freshly started instance over a copy of the world."""

    folder: Path
    world: World
    caller: Caller
    store: FaultyStore
    objects: FaultyObjects
    services: wiring.Services

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """The result of a tool's call."""
        return call(self.caller, self.world.token, tool, self.world.arguments(arguments))

    def ok(self, tool: str, **arguments: Any) -> Any:
        """structuredContent of a call that must succeed."""
        result = self.call(tool, **arguments)
        assert not result["isError"], result["structuredContent"]
        return result["structuredContent"]

    def unavailable(self, tool: str, **arguments: Any) -> str:
        """The message of a call that must fail because something is out of reach."""
        result = self.call(tool, **arguments)
        assert result["isError"], result
        error = result["structuredContent"]["error"]
        assert (error["code"], error["type"]) == (-32008, "unavailable"), error
        return str(error["message"])

    def warm(self) -> Service:
        """Have the key and some quota at hand, so that a call's own way to the store is all there is."""
        self.ok("memory_get_working", key="none")
        return self


@pytest.fixture(scope="session")
def app() -> WsgiApp:
    return gateway()


@pytest.fixture(scope="session")
def world(app: WsgiApp, tmp_path_factory: pytest.TempPathFactory) -> World:
    folder = tmp_path_factory.mktemp("world")
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {**SETTINGS, "AM_DATA_DIR": str(folder)}.items():
            patch.setenv(name, value)
        wiring.services.cache_clear()
        services = wiring.services()
        made = World(folder, Caller(app, services.accounts.sign_up("agent", services.tiers["pro"]).key))
        services.quota.give_back()
        services.store.close()
        wiring.services.cache_clear()
    return made


@pytest.fixture
def start(app: WsgiApp, world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Service]]:
    """start() serves a fresh copy of the world, start(folder) that folder again, instead of what was started before."""
    started: list[Service] = []

    def start(folder: Path | None = None, **settings: str) -> Service:
        if folder is None:
            folder = tmp_path / f"copy-{len(started)}"
            shutil.copytree(world.folder, folder)
        for name, value in {"AM_EMBEDDER": "none", **SETTINGS, "AM_DATA_DIR": str(folder), **settings}.items():
            monkeypatch.setenv(name, value)
        wiring.services.cache_clear()
        services = wiring.services()
        store = FaultyStore(SqliteStore(folder / "am-server.sqlite"))
        objects = FaultyObjects(DirectoryStore(folder / "objects"))
        services.__dict__.update(store=MeteredStore(store), objects=MeteredObjects(objects))
        started.append(Service(folder, world, Caller(app, world.key), store, objects, services))
        return started[-1]

    yield start
    for service in started:
        service.store.close()
    wiring.services.cache_clear()


@pytest.fixture
def service(start: Callable[..., Service]) -> Service:
    return start().warm()
