"""The document port: commits, preconditions, transforms, limits."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from am_server.errors import Invalid
from am_server.store.port import (
    MAX_COMMIT_WRITES,
    MAX_DOCUMENT_BYTES,
    SERVER_TIME,
    AlreadyExists,
    Changed,
    DocumentStore,
    Increment,
    Missing,
    PreconditionFailed,
    TooLarge,
    Write,
    create,
    delete,
    merge,
    put,
    update,
)

EPISODE = "agents/a/episodes/1"


def test_a_document_comes_back_as_it_was_stored(store: DocumentStore) -> None:
    data = {
        "nothing": None,
        "yes": True,
        "no": False,
        "zero": 0,
        "large": 2**63 - 1,
        "small": -(2**63),
        "real": 1.5,
        "whole_real": 2.0,
        "text": "Grüße, 世界 \U0001f600\x00\n",
        "empty": "",
        "raw": b"\x00\xff",
        "no_bytes": b"",
        "when": datetime(2026, 3, 1, 10, 0, 0, 123456, UTC),
        "long_ago": datetime(1, 1, 1, tzinfo=UTC),
    }
    result = store.commit([create("accounts/a", data)])
    found = store.get("accounts/a")
    assert found is not None
    assert found.data == data
    assert {name: type(value) for name, value in found.data.items()} == {name: type(value) for name, value in data.items()}
    assert (found.path, found.id, found.updated_at) == ("accounts/a", "a", result.time)
    assert type(found.updated_at) is datetime


def test_times_are_the_same_moment_in_any_zone(store: DocumentStore) -> None:
    store.commit([put("accounts/a", {"when": datetime.fromisoformat("2026-03-01T12:00:00+02:00")})])
    found = store.get("accounts/a")
    assert found is not None
    assert found.data["when"] == datetime(2026, 3, 1, 10, tzinfo=UTC)


@pytest.mark.parametrize("id", ["é", "世界", "a b", "%2F", ".hidden", "a.b", "_", "a\nb", "'\"`\\", "x" * 1500, "日" * 500])
def test_an_id_may_be_any_text_without_a_slash(store: DocumentStore, id: str) -> None:
    store.commit([create(f"accounts/{id}", {"n": 1})])
    found = store.get(f"accounts/{id}")
    assert found is not None
    assert (found.id, found.data) == (id, {"n": 1})


@pytest.mark.parametrize(
    "path", ["accounts", "a/b/c", "", "accounts/", "/a", "accounts/.", "accounts/..", "accounts/__x__", "a//b/c"]
)
def test_what_is_no_path_is_refused(store: DocumentStore, path: str) -> None:
    with pytest.raises(ValueError):
        store.get(path)
    with pytest.raises(ValueError):
        store.commit([put(path, {})])


def test_an_absent_document_is_none(store: DocumentStore) -> None:
    assert store.get("accounts/none") is None


def test_get_many_keeps_the_order_and_answers_absent_and_repeated_paths(store: DocumentStore) -> None:
    store.commit([put("accounts/1", {"n": 1}), put("accounts/2", {"n": 2}), put("keys/1", {"n": 3})])
    found = store.get_many(["accounts/2", "accounts/none", "keys/1", "accounts/1", "accounts/2"])
    assert [one and one.data["n"] for one in found] == [2, None, 3, 1, 2]
    assert store.get_many([]) == []


def test_put_replaces_merge_adds_update_needs_one(store: DocumentStore) -> None:
    store.commit([put("accounts/a", {"x": 1, "y": 1})])
    store.commit([put("accounts/a", {"x": 2})])
    assert store.get("accounts/a").data == {"x": 2}  # type: ignore[union-attr]
    store.commit([merge("accounts/a", {"y": 3}), merge("accounts/new", {"z": 1})])
    store.commit([update("accounts/a", {"x": 4})])
    first, second = store.get_many(["accounts/a", "accounts/new"])
    assert first is not None
    assert second is not None
    assert (first.data, second.data) == ({"x": 4, "y": 3}, {"z": 1})


def test_a_document_may_be_empty(store: DocumentStore) -> None:
    store.commit([put("accounts/a", {}), merge("accounts/b", {})])
    assert [one and dict(one.data) for one in store.get_many(["accounts/a", "accounts/b"])] == [{}, {}]


def test_merging_nothing_keeps_the_fields(store: DocumentStore) -> None:
    store.commit([put("accounts/a", {"x": 1})])
    store.commit([merge("accounts/a", {})])
    assert store.get("accounts/a").data == {"x": 1}  # type: ignore[union-attr]


def test_deleting_is_the_same_twice(store: DocumentStore) -> None:
    store.commit([put("accounts/a", {"x": 1})])
    store.commit([delete("accounts/a")])
    store.commit([delete("accounts/a")])
    assert store.get("accounts/a") is None
    store.commit([create("accounts/a", {"x": 2})])
    assert store.get("accounts/a").data == {"x": 2}  # type: ignore[union-attr]


def refused_writes(version: datetime) -> list[tuple[Write, type[PreconditionFailed]]]:
    stale = version - timedelta(seconds=1)
    return [
        (create("accounts/there", {"x": 2}), AlreadyExists),
        (update("accounts/absent", {"x": 2}), Missing),
        (update("accounts/there", {"x": 2}, stale), Changed),
        (update("accounts/absent", {"x": 2}, stale), Missing),
        (delete("accounts/there", stale), Changed),
        (delete("accounts/absent", stale), Missing),
    ]


def test_a_precondition_that_fails_undoes_the_whole_commit_and_names_the_document(store: DocumentStore) -> None:
    version = store.commit([put("accounts/there", {"x": 1}), put("accounts/counter", {"n": 5})]).time
    for write, error in refused_writes(version):
        with pytest.raises(PreconditionFailed) as raised:
            store.commit(
                [create("accounts/first", {}), merge("accounts/counter", {"n": Increment(1)}), write, put("accounts/last", {})]
            )
        assert (type(raised.value), raised.value.path) == (error, write.path)
    first, there, counter, last = store.get_many([f"accounts/{id}" for id in ("first", "there", "counter", "last")])
    assert first is None
    assert last is None
    assert there is not None
    assert there.data == {"x": 1}
    assert counter is not None
    assert counter.data == {"n": 5}


def test_of_several_conditions_the_one_that_failed_is_named(store: DocumentStore) -> None:
    store.commit([put("accounts/2", {}), put("accounts/b", {})])
    with pytest.raises(AlreadyExists) as exists:
        store.commit([create("accounts/1", {}), create("accounts/2", {}), create("accounts/3", {})])
    with pytest.raises(Missing) as missing:
        store.commit([update("accounts/b", {"x": 1}), update("accounts/c", {"x": 1})])
    assert (exists.value.path, missing.value.path) == ("accounts/2", "accounts/c")


def test_an_unchanged_document_may_be_changed(store: DocumentStore) -> None:
    version = store.commit([put("accounts/a", {"x": 1})]).time
    newer = store.commit([update("accounts/a", {"x": 2}, version)]).time
    with pytest.raises(Changed):
        store.commit([update("accounts/a", {"x": 3}, version)])
    store.commit([delete("accounts/a", newer)])
    assert store.get("accounts/a") is None


def test_an_increment_answers_its_new_value(store: DocumentStore) -> None:
    first = store.commit([merge("usage/u", {"n": Increment(3)}), merge("usage/v", {"x": 1}), delete("usage/w")])
    second = store.commit([merge("usage/u", {"note": "a", "n": Increment(-5), "z": True})])
    third = store.commit([merge("usage/u", {"n": Increment(0.5)})])
    assert (first.increments, second.increments, third.increments) == ([3, None, None], [-2], [-1.5])
    assert store.get("usage/u").data == {"n": -1.5, "note": "a", "z": True}  # type: ignore[union-attr]


def test_an_increment_starts_from_0_where_there_is_no_number(store: DocumentStore) -> None:
    store.commit([put("usage/u", {"text": "many", "n": 7})])
    assert store.commit([merge("usage/u", {"text": Increment(1)})]).increments == [1]
    assert store.commit([put("usage/u", {"n": Increment(2)})]).increments == [2]
    assert store.commit([create("usage/v", {"n": Increment(4)})]).increments == [4]
    with pytest.raises(Missing):
        store.commit([update("usage/none", {"n": Increment(1)})])


def test_a_counter_stops_at_the_end_of_64_bits(store: DocumentStore) -> None:
    store.commit([put("usage/u", {"n": 2**63 - 2})])
    assert store.commit([merge("usage/u", {"n": Increment(5)})]).increments == [2**63 - 1]


def test_server_time_is_the_commits_time_also_beside_an_increment(store: DocumentStore) -> None:
    before = datetime.now(UTC)
    other = "agents/a/graph/2"
    result = store.commit(
        [
            merge(EPISODE, {"trail": Increment(1.5), "changed_at": SERVER_TIME, "content": "x"}),
            create(other, {"weight": Increment(2), "changed_at": SERVER_TIME, "zz": 1}),
        ]
    )
    assert result.increments == [1.5, 2]
    for found in store.get_many([EPISODE, other]):
        assert found is not None
        assert found.data["changed_at"] == found.updated_at == result.time
        assert type(found.data["changed_at"]) is datetime
    assert abs(result.time - before) < timedelta(seconds=10)


def test_commit_times_rise(store: DocumentStore) -> None:
    times = [store.commit([put("accounts/a", {"n": n})]).time for n in range(50)]
    assert times == sorted(set(times))


def test_a_server_time_is_only_for_the_commit_time_and_never_left_out(store: DocumentStore) -> None:
    for write in (
        put("accounts/a", {"made": SERVER_TIME}),
        put("accounts/a", {"changed_at": SERVER_TIME}),
        put(EPISODE, {"changed_at": SERVER_TIME, "stored_at": SERVER_TIME}),
        put(EPISODE, {"content": "x"}),
        merge(EPISODE, {"changed_at": datetime.now(UTC)}),
    ):
        with pytest.raises(RuntimeError):
            store.commit([write])
    assert store.get_many([EPISODE, "accounts/a"]) == [None, None]


def test_a_document_up_to_the_limit_fits_and_a_larger_one_is_refused(store: DocumentStore) -> None:
    overhead = 200
    store.commit([put("accounts/a", {"text": "x" * (MAX_DOCUMENT_BYTES - overhead)})])
    assert len(str(store.get("accounts/a").data["text"])) == MAX_DOCUMENT_BYTES - overhead  # type: ignore[union-attr]
    for data in ({"text": "x" * MAX_DOCUMENT_BYTES}, {"text": "é" * 500_000}, {"a": b"x" * 600_000, "b": b"x" * 600_000}):
        with pytest.raises(TooLarge, match="shorten it or split it"):
            store.commit([put("accounts/small", {"x": 1}), put("accounts/b", data)])
    assert store.get_many(["accounts/small", "accounts/b"]) == [None, None]


def test_a_document_that_a_merge_would_make_too_large_is_refused(store: DocumentStore) -> None:
    store.commit([put("accounts/a", {"one": "x" * 600_000})])
    with pytest.raises(TooLarge):
        store.commit([merge("accounts/a", {"two": "x" * 600_000})])
    assert list(store.get("accounts/a").data) == ["one"]  # type: ignore[union-attr]


def test_a_commit_takes_so_many_changes_and_no_more(store: DocumentStore) -> None:
    writes = [put(f"accounts/{n}", {"n": n}) for n in range(MAX_COMMIT_WRITES + 1)]
    with pytest.raises(TooLarge, match=f"at most {MAX_COMMIT_WRITES} changes"):
        store.commit(writes)
    assert len(store.commit(writes[:MAX_COMMIT_WRITES]).increments) == MAX_COMMIT_WRITES
    with pytest.raises(TooLarge, match="bytes"):
        store.commit([put(f"accounts/{n}", {"raw": b"x" * 900_000}) for n in range(11)])


@pytest.mark.parametrize("value", ["\ud800", 2**63, float("nan")])
def test_a_value_that_cannot_be_stored_is_refused_by_name(store: DocumentStore, value: str | int | float) -> None:
    with pytest.raises(Invalid, match="'note'"):
        store.commit([put("accounts/a", {"note": value})])


@pytest.mark.parametrize("value", [[1], {"a": 1}, datetime(2026, 1, 1)])
def test_lists_maps_and_times_without_a_zone_are_bugs(store: DocumentStore, value: object) -> None:
    with pytest.raises(ValueError):
        store.commit([put("accounts/a", {"note": value})])  # type: ignore[dict-item]


def test_another_instance_sees_every_acknowledged_commit(store: DocumentStore, connect) -> None:  # type: ignore[no-untyped-def]
    other = connect()
    for n in range(20):
        store.commit([put("accounts/a", {"n": n})])
        assert other.get("accounts/a").data == {"n": n}
