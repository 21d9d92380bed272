"""Every adapter of a port, each test in a place of its own."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from am_server.store.port import DocumentStore

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
