"""The log-structured view of a collection, over the SQLite store."""

from __future__ import annotations

import random
import threading
import uuid
from pathlib import Path

import pytest
from am_server.store.metered import MeteredStore, metering
from am_server.store.port import SERVER_TIME, DocumentStore, Query, Write, create, delete, merge, put
from am_server.store.sqlite import SqliteStore
from am_server.views import log
from am_server.views.log import LogView, Model
from am_server.views.rows import RowCodec, Rows, newest_rows
from am_server.views.snapshots import Snapshots

ROOT = "agents/a"


class Names:
    """The simplest model: all rows."""

    collection, fields, codec = "graph", ("name",), RowCodec(1)

    def load(self, segments):
        return newest_rows(segments, self.codec)

    def apply(self, state, changes):
        rows = {**state, **changes}
        return {id: row for id, row in rows.items() if row is not None}

    def rows(self, state):
        return len(state)

    def size(self, state):
        return 100 * len(state)


@pytest.fixture
def store(tmp_path: Path) -> DocumentStore:
    return MeteredStore(SqliteStore(tmp_path / "store.sqlite"))


def view(store: DocumentStore, model: Model[Rows] | None = None) -> LogView[Rows]:
    return LogView(store, ROOT, model or Names())


def path(id: str) -> str:
    return f"{ROOT}/graph/{id}"


def row(name: str) -> dict:
    return {"name": name, "changed_at": SERVER_TIME}


def add(store: DocumentStore, *names: str) -> None:
    for start in range(0, len(names), 400):
        store.commit([put(path(name), row(name)) for name in names[start : start + 400]])


def remove(store: DocumentStore, name: str) -> None:
    store.commit([put(path(name), {"changed_at": SERVER_TIME, "deleted_at": 1})])


def names(rows: Rows) -> set[str]:
    return {str(each["name"]) for each in rows.values()}


def numbered(count: int, prefix: str = "n") -> list[str]:
    return [f"{prefix}{number}" for number in range(count)]


def snapshot_paths(store: DocumentStore) -> list[str]:
    return [document.path for document in store.query(Query(f"{ROOT}/snapshots"))]


def cost(read) -> tuple[int, int, int]:
    with metering() as meter:
        read()
    return meter.rpcs, meter.reads, meter.writes


def test_a_view_follows_new_changed_and_deleted_documents(store):
    warm = view(store)
    assert warm.current() == {}
    add(store, "a", "b")
    assert names(warm.current()) == {"a", "b"}
    store.commit([merge(path("a"), row("A"))])
    remove(store, "b")
    assert names(warm.current()) == {"A"}


def test_a_warm_read_with_nothing_new_costs_one_round_trip_and_one_read(store):
    warm = view(store)
    add(store, "a")
    warm.current()
    assert cost(warm.current) == (1, 1, 0)


def test_a_long_tail_is_folded_once_and_a_cold_view_reads_two_documents(store):
    add(store, *numbered(500))
    assert cost(view(store).current)[2] == 1, "one write: the head carries the rows"
    assert cost(view(store).current) == (2, 2, 0), "the head, then an empty tail"
    assert names(view(store).current()) == set(numbered(500))


def test_a_short_tail_is_left_alone(store):
    add(store, *numbered(5))
    view(store).current()
    assert snapshot_paths(store) == []


def test_a_cold_read_of_many_rows_stays_within_eight_documents(store):
    warm = view(store)
    for batch in range(40):
        add(store, *(f"{uuid.UUID(int=random.Random(f'{batch}/{n}').getrandbits(128))}" for n in range(500)))
        warm.current()
    cold = view(store)
    rpcs, reads, _ = cost(cold.current)
    assert rpcs <= 3
    assert reads <= 8
    assert len(cold.current()) == 20_000


def test_a_tombstone_hides_rows_in_older_blocks(store, monkeypatch):
    monkeypatch.setattr("am_server.views.snapshots.HEAD_BYTES", 0)
    monkeypatch.setattr("am_server.views.snapshots.ABSORB", 0)
    add(store, *numbered(100))
    warm = view(store)
    warm.current()
    remove(store, "n7")
    add(store, *numbered(200, "m"))
    warm.current()
    assert len(snapshot_paths(store)) == 3
    assert names(view(store).current()) == {*numbered(100), *numbered(200, "m")} - {"n7"}


def test_blocks_are_merged_and_the_replaced_ones_deleted(store, monkeypatch):
    monkeypatch.setattr("am_server.views.snapshots.HEAD_BYTES", 0)
    warm = view(store)
    for batch in range(8):
        add(store, *numbered(130, f"{batch}-"))
        warm.current()
    assert len(snapshot_paths(store)) <= 3, "a head and two blocks, where eight folds made eight"
    assert len(view(store).current()) == 8 * 130


def test_rows_that_change_again_and_again_do_not_pile_up(store, monkeypatch):
    monkeypatch.setattr("am_server.views.snapshots.HEAD_BYTES", 0)
    monkeypatch.setattr("am_server.views.snapshots.ABSORB", 0)
    monkeypatch.setattr("am_server.views.snapshots.GARBAGE_ROWS", 500)
    warm = view(store)
    for _ in range(12):
        add(store, *numbered(200))
        warm.current()
    assert len(snapshot_paths(store)) < 8
    assert names(view(store).current()) == set(numbered(200))


def test_a_block_that_outgrows_a_document_is_cut(store, monkeypatch):
    monkeypatch.setattr("am_server.views.snapshots.HEAD_BYTES", 1_000)
    monkeypatch.setattr("am_server.views.snapshots.BLOCK_BYTES", 4_000)
    monkeypatch.setattr("am_server.views.snapshots.COMMIT_BYTES", 9_000)
    ids = [str(uuid.uuid4()) for _ in range(1_500)]
    add(store, *ids)
    view(store).current()
    assert len(snapshot_paths(store)) > 5
    assert names(view(store).current()) == set(ids)


def damage_head(store: DocumentStore) -> None:
    store.commit([merge(f"{ROOT}/snapshots/graph", {"newest": b"rubbish"})])


def forget_blocks(store: DocumentStore) -> None:
    store.commit([delete(each) for each in snapshot_paths(store) if not each.endswith("/graph")])


def damage_blocks(store: DocumentStore) -> None:
    store.commit([put(each, {"data": b"rubbish"}) for each in snapshot_paths(store) if not each.endswith("/graph")])


def forget_everything(store: DocumentStore) -> None:
    store.delete_tree(f"{ROOT}/snapshots")


@pytest.mark.parametrize("harm", [damage_head, forget_blocks, damage_blocks, forget_everything])
def test_a_damaged_snapshot_is_made_again(store, monkeypatch, harm):
    monkeypatch.setattr("am_server.views.snapshots.HEAD_BYTES", 2_000)
    warm = view(store)
    for batch in range(4):
        add(store, *numbered(200, f"{batch}-"))
        warm.current()
    expected = names(warm.current())
    harm(store)
    assert names(view(store).current()) == expected
    assert cost(view(store).current)[1] < 10, "the read before repaired it"
    add(store, *numbered(200, "after-"))
    assert names(warm.current()) == names(view(store).current()) == expected | set(numbered(200, "after-"))


def test_a_snapshot_of_another_version_is_made_again(store):
    class Newer(Names):
        codec = RowCodec(2)

    add(store, *numbered(100))
    view(store).current()
    assert len(view(store, Newer()).current()) == 100
    assert cost(view(store, Newer()).current) == (2, 2, 0)


def test_a_row_whose_document_vanished_is_taken_out_for_everybody(store):
    add(store, *numbered(200))
    warm = view(store)
    warm.current()
    store.commit([delete(path("n7"))])
    warm.drop(["n7"])
    assert "n7" not in names(warm.current())
    assert "n7" in names(view(store).current()), "nothing told the others yet"
    add(store, *numbered(200, "m"))
    warm.current()
    assert names(view(store).current()) == {*numbered(200), *numbered(200, "m")} - {"n7"}


def test_two_views_that_fold_at_once_keep_every_row(store):
    first, second = view(store), view(store)
    for batch in range(10):
        add(store, *numbered(130, f"{batch}-"))
        assert len(first.current()) == len(second.current()) == 130 * (batch + 1)
    assert len(view(store).current()) == 1_300


def test_a_reader_that_lost_the_race_still_answers(store, monkeypatch):
    add(store, *numbered(200))
    loser = view(store)
    real = Snapshots.fold

    def overtaken(self, *args):
        monkeypatch.setattr(Snapshots, "fold", real)
        assert len(view(store).current()) == 200
        return real(self, *args)

    monkeypatch.setattr(Snapshots, "fold", overtaken)
    assert len(loser.current()) == 200
    add(store, *numbered(200, "m"))
    assert len(loser.current()) == len(view(store).current()) == 400


def test_a_fold_that_fails_does_not_fail_the_read(store, monkeypatch):
    def broken(*_):
        raise RuntimeError("no")

    monkeypatch.setattr(Snapshots, "fold", broken)
    add(store, *numbered(200))
    assert len(view(store).current()) == 200


def erase(store: DocumentStore) -> None:
    store.commit([put(path(log.ERASED), {"kind": "erased", "changed_at": SERVER_TIME})])


@pytest.mark.parametrize("folded", [True, False])
def test_an_erasure_empties_every_view(store, folded):
    add(store, *numbered(200 if folded else 5))
    warm = view(store)
    warm.current()
    erase(store)
    add(store, "new")
    assert names(warm.current()) == names(view(store).current()) == {"new"}
    add(store, *numbered(300, "later-"))
    assert names(warm.current()) == names(view(store).current()) == {"new", *numbered(300, "later-")}


def test_a_snapshot_that_an_erasure_overtook_does_not_stay(store, monkeypatch):
    add(store, *numbered(200))
    late = view(store)
    real = SqliteStore.commit

    def erased_meanwhile(self, writes: list[Write]):
        if writes[0].path.endswith("snapshots/graph"):
            monkeypatch.setattr(SqliteStore, "commit", real)
            erase(store)
            store.delete_tree(f"{ROOT}/snapshots")
        return real(self, writes)

    monkeypatch.setattr(SqliteStore, "commit", erased_meanwhile)
    late.current()
    assert snapshot_paths(store) == []
    assert view(store).current() == late.current() == {}


def test_threads_see_what_was_acknowledged_before_they_asked(store):
    shared, failures = view(store), []

    def work(worker: int) -> None:
        try:
            for number in range(60):
                name = f"{worker}-{number}"
                store.commit([create(path(name), row(name))])
                if name not in shared.current():
                    failures.append(name)
                if number == 30 and worker == 0:
                    store.delete_tree(f"{ROOT}/snapshots")
        except Exception as problem:
            failures.append(repr(problem))

    threads = [threading.Thread(target=work, args=(worker,)) for worker in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert len(view(store).current()) == 360
