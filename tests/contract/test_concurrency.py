"""The document port under many hands: nothing acknowledged is missed, lost or half done."""

from __future__ import annotations

import multiprocessing
import random
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path

from am_server.store.port import (
    SERVER_TIME,
    AlreadyExists,
    Changed,
    DocumentStore,
    Increment,
    Missing,
    Query,
    create,
    delete,
    merge,
    put,
    update,
)
from am_server.store.sqlite import SqliteStore

WRITERS = 8
GRAPH = "agents/a/graph"


def emulated(store: DocumentStore) -> bool:
    """Whether this is Google's emulator, whose queries may see one document of a commit and not yet another.

    The service itself answers every query from one moment, and only documents of one commit are concerned.
    """
    return type(store).__name__ == "FirestoreStore"


class Tail:
    """What a view does: ask what changed, from where the last answer ended."""

    def __init__(self, store: DocumentStore) -> None:
        self._store = store
        self._until: datetime | None = None
        self.seen: set[str] = set()

    def follow(self) -> None:
        found = self._store.changes(GRAPH, self._until, ["kind"])
        assert self.seen.isdisjoint(document.id for document in found.documents), "a change is told once"
        self.seen.update(document.id for document in found.documents)
        self._until = found.until


def follow_writers(
    store: DocumentStore, tail: Tail, writers: list[threading.Thread], acknowledged: Callable[[], set[str]]
) -> None:
    """Read the tail while the writers run: after each reading, whatever was acknowledged before it must have been seen."""
    for writer in writers:
        writer.start()
    while any(writer.is_alive() for writer in writers):
        before = acknowledged()
        tail.follow()
        assert before <= tail.seen
    for writer in writers:
        writer.join()
    tail.follow()
    assert acknowledged() <= tail.seen
    assert {document.id for document in store.query(Query(GRAPH, select=()))} == tail.seen


def test_a_tail_misses_no_commit_of_many_threads(connect: Callable[[], DocumentStore]) -> None:
    store = connect()
    documents = 1 if emulated(store) else 2
    acknowledged: list[str] = []
    give_up = time.monotonic() + 2

    def write(writer: int) -> None:
        store, n = connect(), 0
        while time.monotonic() < give_up:
            ids = [f"{writer}-{n}-{k}" for k in range(documents)]
            store.commit([create(f"{GRAPH}/{id}", {"kind": "entity", "changed_at": SERVER_TIME}) for id in ids])
            acknowledged.extend(ids)
            n += 1

    writers = [threading.Thread(target=write, args=(n,)) for n in range(WRITERS)]
    follow_writers(store, Tail(store), writers, lambda: set(acknowledged))
    assert len(acknowledged) > 2 * WRITERS


def _write_many(path: Path, writer: int, count: int) -> None:
    store = SqliteStore(path)
    for n in range(count):
        store.commit([create(f"{GRAPH}/{writer}-{n}", {"kind": "entity", "changed_at": SERVER_TIME})])
        store.commit([merge("usage/u", {"n": Increment(1)})])


def test_a_tail_misses_no_commit_of_many_processes(tmp_path: Path) -> None:
    store, count = SqliteStore(tmp_path / "store.sqlite"), 40
    spawn = multiprocessing.get_context("spawn")
    processes = [spawn.Process(target=_write_many, args=(tmp_path / "store.sqlite", n, count)) for n in range(WRITERS)]
    tail = Tail(store)
    for process in processes:
        process.start()
    while any(process.is_alive() for process in processes):
        tail.follow()
        time.sleep(0.001)
    tail.follow()
    assert [process.exitcode for process in processes] == [0] * WRITERS
    assert len(tail.seen) == WRITERS * count
    assert store.get("usage/u").data == {"n": WRITERS * count}  # type: ignore[union-attr]
    times = [document.updated_at for document in store.query(Query(GRAPH, order_by="changed_at"))]
    assert len(set(times)) == WRITERS * count


def add_one(store: DocumentStore, path: str) -> None:
    """Count by compare-and-set."""
    while True:
        found = store.get(path)
        try:
            if found is None:
                store.commit([create(path, {"n": 1})])
            else:
                store.commit([update(path, {"n": found.data["n"] + 1}, found.updated_at)])  # type: ignore[operator]
            return
        except (AlreadyExists, Changed):
            time.sleep(random.uniform(0, 0.01))


def test_compare_and_set_loses_nothing_under_contention(store: DocumentStore) -> None:
    with ThreadPoolExecutor(WRITERS) as pool:
        list(pool.map(lambda _: [add_one(store, "usage/u") for _ in range(5)], range(WRITERS)))
    assert store.get("usage/u").data == {"n": WRITERS * 5}  # type: ignore[union-attr]


def test_increments_under_contention_give_every_value_once(store: DocumentStore) -> None:
    with ThreadPoolExecutor(WRITERS) as pool:
        results = list(pool.map(lambda _: store.commit([merge("usage/u", {"n": Increment(1)})]).increments[0], range(100)))
    assert sorted(results) == list(range(1, 101))  # type: ignore[type-var]


def test_of_many_creators_one_wins(store: DocumentStore) -> None:
    def make(n: int) -> bool:
        try:
            store.commit([create("accounts/a", {"n": n}), merge("usage/made", {"n": Increment(1)})])
        except AlreadyExists:
            return False
        return True

    with ThreadPoolExecutor(WRITERS) as pool:
        won = list(pool.map(make, range(24)))
    assert won.count(True) == 1
    account, made = store.get_many(["accounts/a", "usage/made"])
    assert account is not None
    assert made is not None
    assert (account.data, made.data) == ({"n": won.index(True)}, {"n": 1})


def test_of_many_deleters_of_one_version_one_wins(store: DocumentStore) -> None:
    version = store.commit([put("accounts/a", {})]).time

    def remove(_: int) -> bool:
        try:
            store.commit([delete("accounts/a", version)])
        except (Changed, Missing):
            return False
        return True

    with ThreadPoolExecutor(WRITERS) as pool:
        assert list(pool.map(remove, range(8))).count(True) == 1


def test_readers_never_see_half_a_commit_and_never_go_back(store: DocumentStore) -> None:
    paths = ["working/a"] if emulated(store) else ["working/a", "working/b"]
    store.commit([put(path, {"live_until": 0}) for path in paths])
    give_up = time.monotonic() + 1.5

    def write() -> int:
        n = 0
        while time.monotonic() < give_up:
            n += 1
            store.commit([put(path, {"live_until": n}) for path in paths])
        return n

    def read() -> int:
        last, readings = 0, 0
        while time.monotonic() < give_up:
            for found in (store.query(Query("working", order_by="live_until")), store.get_many(paths)):
                values = [one.data["live_until"] for one in found if one is not None]
                assert values == [values[0]] * len(paths)
                assert isinstance(values[0], int)
                assert values[0] >= last
                last = values[0]
            readings += 1
        return readings

    with ThreadPoolExecutor(WRITERS) as pool:
        readers = [pool.submit(read) for _ in range(3)]
        assert write() > 5
        assert all(reader.result() > 5 for reader in readers)
