"""What only the SQLite file must stand: kills, full disks, other processes, damage, other versions."""

from __future__ import annotations

import multiprocessing
import os
import random
import resource
import signal
import sqlite3
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from am_server.store import sqlite_file
from am_server.store.indexes import INDEXED
from am_server.store.port import Increment, Query, StoreUnavailable, Where, merge, put
from am_server.store.sqlite import SqliteStore

WRITE_FOR_EVER = """
import sys
from pathlib import Path
from am_server.store.port import Increment, create, merge
from am_server.store.sqlite import SqliteStore

store, run = SqliteStore(Path(sys.argv[1])), sys.argv[2]
n = 0
while True:
    store.commit([create(f"agents/a/working/{run}-{n}", {"key": run}), merge("usage/u", {"n": Increment(1)})])
    print(n, flush=True)
    n += 1
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "folder" / "store.sqlite"


def test_killing_a_writer_loses_nothing_acknowledged(path: Path) -> None:
    acknowledged = 0
    for run in range(4):
        with subprocess.Popen([sys.executable, "-c", WRITE_FOR_EVER, str(path), str(run)], stdout=subprocess.PIPE) as writer:
            assert writer.stdout is not None
            writer.stdout.readline()
            time.sleep(random.uniform(0.05, 0.25))
            os.kill(writer.pid, signal.SIGKILL)
            count = 1 + len([line for line in writer.stdout.read().split(b"\n") if line])
        store = SqliteStore(path)
        kept = {document.id for document in store.query(Query("agents/a/working", [Where("key", "==", str(run))]))}
        # The last commit may have been written and not yet printed.
        assert {f"{run}-{n}" for n in range(count)} <= kept <= {f"{run}-{n}" for n in range(count + 1)}
        acknowledged += len(kept)
        assert store.get("usage/u").data == {"n": acknowledged}  # type: ignore[union-attr]
        store.close()
    assert acknowledged > 20
    assert sqlite3.connect(path).execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_every_commit_is_synced(path: Path) -> None:
    store = SqliteStore(path)
    store.commit([put("accounts/a", {})])
    with store._file.writing() as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert connection.execute("PRAGMA synchronous").fetchone() == (2,)


def test_the_file_is_for_its_owner_alone(path: Path) -> None:
    SqliteStore(path).commit([put("accounts/a", {})])
    assert [stat.filemode(file.stat().st_mode) for file in path.parent.iterdir()] == ["-rw-------"] * 3


@contextmanager
def full_disk(path: Path, spare: int) -> Iterator[None]:
    largest = max(file.stat().st_size for file in path.parent.iterdir())
    _, hard = before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (largest + spare, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("spare", [0, 10_000, 100_000])
def test_a_full_disk_is_told_and_does_no_harm(path: Path, spare: int) -> None:
    store = SqliteStore(path)
    store.commit([put("accounts/a", {"n": 1}), merge("usage/u", {"n": Increment(1)})])
    with full_disk(path, spare):
        for _ in range(2):
            with pytest.raises(StoreUnavailable, match="free disk space, then try again"):
                store.commit([merge("usage/u", {"n": Increment(1)}), put("accounts/b", {"text": "x" * 900_000})])
        assert store.get("accounts/a").data == {"n": 1}  # type: ignore[union-attr]
        assert store.get("accounts/b") is None
    assert store.commit([merge("usage/u", {"n": Increment(1)})]).increments == [2]
    assert sqlite3.connect(path).execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_a_place_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    for path in (tmp_path / "file" / "store.sqlite", tmp_path):
        with pytest.raises(StoreUnavailable, match="AM_DATA_DIR"):
            SqliteStore(path).commit([put("accounts/a", {})])


@contextmanager
def without_privileges() -> Iterator[None]:
    """Root may write anything; for a while, be nobody."""
    before = os.geteuid()
    if before == 0:
        os.seteuid(65_534)
    try:
        yield
    finally:
        os.seteuid(before)


def test_a_read_only_file_is_told_and_works_when_it_is_writable_again() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "store.sqlite"
        SqliteStore(path).commit([put("accounts/a", {"n": 1})])
        store = SqliteStore(path)
        for place, mode in ((path, 0o444), (path.parent, 0o555)):
            place.chmod(mode)
        with without_privileges(), pytest.raises(StoreUnavailable, match="permissions"):
            store.commit([put("accounts/a", {"n": 2})])
        for place in (path.parent, path):
            place.chmod(0o700)
        store.commit([put("accounts/b", {})])
        assert store.get("accounts/a").data == {"n": 1}  # type: ignore[union-attr]


def test_a_file_that_another_process_keeps_locked_is_told(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    SqliteStore(path).commit([put("accounts/a", {"n": 1})])
    monkeypatch.setattr(sqlite_file, "BUSY_SECONDS", 0.1)
    store = SqliteStore(path)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreUnavailable, match="another process keeps the data file locked"):
        store.commit([put("accounts/a", {"n": 2})])
    assert store.get("accounts/a").data == {"n": 1}  # type: ignore[union-attr]
    other.execute("ROLLBACK")
    store.commit([put("accounts/a", {"n": 3})])


def test_a_damaged_file_is_told(path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(b"this is no database" * 1000)
    with pytest.raises(StoreUnavailable, match="damaged"):
        SqliteStore(path).get("accounts/a")


def test_a_file_of_a_newer_version_is_left_alone(path: Path) -> None:
    SqliteStore(path).commit([put("accounts/a", {"n": 1})])
    sqlite3.connect(path).execute("PRAGMA user_version = 99")
    with pytest.raises(StoreUnavailable, match="newer version"):
        SqliteStore(path).commit([put("accounts/a", {"n": 2})])
    sqlite3.connect(path).execute(f"PRAGMA user_version = {sqlite_file.LAYOUT}")
    assert SqliteStore(path).get("accounts/a").data == {"n": 1}  # type: ignore[union-attr]


def test_a_field_that_is_declared_later_finds_the_documents_of_before(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    SqliteStore(path).commit([put("agents/a/working/1", {"key": "k", "mood": "good"})])
    monkeypatch.setitem(INDEXED, "working", ("mood",))  # type: ignore[arg-type]
    store = SqliteStore(path)
    assert [document.id for document in store.query(Query("agents/a/working", [Where("mood", "==", "good")]))] == ["1"]
    with pytest.raises(RuntimeError):
        store.query(Query("agents/a/working", [Where("key", "==", "k")]))


def test_commit_times_rise_though_the_clock_goes_back(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = SqliteStore(path)
    store.commit([put("accounts/a", {})])  # the first commit also sweeps, which takes a moment of its own
    first = store.commit([put("accounts/a", {})]).time
    monkeypatch.setattr(time, "time_ns", lambda: 1_000_000_000)
    second = SqliteStore(path).commit([put("accounts/a", {})]).time
    assert second - first == timedelta(microseconds=1)


def test_expired_documents_are_swept_by_a_later_commit(path: Path) -> None:
    now = datetime.now(UTC)
    store = SqliteStore(path)
    store.commit([put("accounts/a", {})])
    store.commit(
        [put(f"agents/a/working/{days}", {"key": "k", "expires_at": now + timedelta(days=days)}) for days in (-2, -1, 1)]
        + [put("agents/a/requests/1", {"expires_at": now - timedelta(days=1)}), put("agents/a/working/stays", {"key": "k"})]
    )
    store.commit([put("agents/a/working/-1", {"key": "k"})])  # lives for ever now
    SqliteStore(path).commit([put("accounts/a", {})])
    found = SqliteStore(path).query(Query("agents/a/working", [Where("key", "==", "k")]))
    assert [document.id for document in found] == ["-1", "1", "stays"]
    assert store.get("agents/a/requests/1") is None


def _count_in_child(store: SqliteStore) -> None:
    for _ in range(20):
        store.commit([merge("usage/u", {"n": Increment(1)})])
    assert store.get("usage/u") is not None


def test_a_store_that_was_in_use_may_be_forked(path: Path) -> None:
    store = SqliteStore(path)
    store.commit([merge("usage/u", {"n": Increment(1)})])
    assert store.get("usage/u") is not None
    children = [multiprocessing.get_context("fork").Process(target=_count_in_child, args=(store,)) for _ in range(3)]
    for child in children:
        child.start()
    _count_in_child(store)
    for child in children:
        child.join(30)
    assert [child.exitcode for child in children] == [0, 0, 0]
    assert store.get("usage/u").data == {"n": 81}  # type: ignore[union-attr]


def test_a_closed_store_opens_again(path: Path) -> None:
    store = SqliteStore(path)
    store.commit([put("accounts/a", {"n": 1})])
    store.close()
    assert store.get("accounts/a").data == {"n": 1}  # type: ignore[union-attr]
