"""Every adapter of a port, each test in a place of its own."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from am_server.store.port import DocumentStore

from tests.unit.calling import Agent, instance

Connect = Callable[[], DocumentStore]


@pytest.fixture(params=["sqlite", "firestore"])
def connect(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Connect]:
    """Opens the same store again, as another instance of the service would."""
    opened: list[DocumentStore] = []
    if request.param == "sqlite":
        from am_server.store.sqlite import SqliteStore

        def connect() -> DocumentStore:
            opened.append(SqliteStore(tmp_path / "store.sqlite"))
            return opened[-1]
    else:
        from am_server.store.firestore import FirestoreStore

        for name, value in request.getfixturevalue("firestore_environment").items():
            monkeypatch.setenv(name, value)
        project = f"demo-{uuid.uuid4()}"

        def connect() -> DocumentStore:
            opened.append(FirestoreStore(project, "(default)"))
            return opened[-1]

    yield connect
    for store in opened:
        store.close()


@pytest.fixture
def store(connect: Connect) -> DocumentStore:
    return connect()


@pytest.fixture(params=["sqlite", "firestore"])
def agent(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Agent]:
    """An agent of an instance of the service."""
    settings = {"AM_STORE": request.param}
    if request.param == "firestore":
        settings["GOOGLE_CLOUD_PROJECT"] = f"demo-{uuid.uuid4()}"
        for name, value in request.getfixturevalue("firestore_environment").items():
            monkeypatch.setenv(name, value)
    with instance(tmp_path, **settings) as services:
        yield Agent(services)
