"""What a request cost, as Firestore would bill it."""

import contextvars
import threading
import time

import pytest
from am_server.objects.directory import DirectoryStore
from am_server.objects.metered import MeteredObjects
from am_server.store.metered import MeteredStore, active_meter, concurrently, metering
from am_server.store.port import AlreadyExists, Query, Where, create, delete, merge, put
from am_server.store.sqlite import SqliteStore


@pytest.fixture
def store(tmp_path):
    return MeteredStore(SqliteStore(tmp_path / "store.sqlite"))


def cost(act) -> tuple[int, int, int, int]:
    """(round trips, reads, writes, deletes)"""
    with metering() as meter:
        act()
    assert meter.rpcs == meter.rpcs_total
    return meter.rpcs, meter.reads, meter.writes, meter.deletes


def test_a_document_read_is_one_whether_it_is_there_or_not(store):
    store.commit([put("accounts/a", {})])
    assert cost(lambda: store.get("accounts/a")) == (1, 1, 0, 0)
    assert cost(lambda: store.get("accounts/none")) == (1, 1, 0, 0)
    assert cost(lambda: store.get_many(["accounts/a", "accounts/none", "accounts/b"])) == (1, 3, 0, 0)


def test_a_query_costs_what_it_finds_and_at_least_one(store):
    store.commit([put(f"working/{n}", {"live_until": n}) for n in range(5)])
    assert cost(lambda: store.query(Query("working"))) == (1, 5, 0, 0)
    assert cost(lambda: store.query(Query("working", limit=2, select=()))) == (1, 2, 0, 0)
    assert cost(lambda: store.query(Query("working", [Where("live_until", ">", 9)]))) == (1, 1, 0, 0)


def test_a_count_costs_one_for_each_thousand(store):
    for start in range(0, 1_500, 500):
        store.commit([put(f"working/{start + n}", {"live_until": start + n}) for n in range(500)])
    assert cost(lambda: store.count(Query("working"))) == (1, 2, 0, 0)
    assert cost(lambda: store.count(Query("working", [Where("live_until", "<", 1_000)]))) == (1, 1, 0, 0)
    assert cost(lambda: store.count(Query("absent"))) == (1, 1, 0, 0)


def test_a_commit_costs_its_writes_and_deletes_and_nothing_when_it_is_refused(store):
    writes = [create("accounts/a", {}), merge("accounts/b", {"n": 1}), delete("accounts/c")]
    assert cost(lambda: store.commit(writes)) == (1, 0, 2, 1)

    def refused():
        with pytest.raises(AlreadyExists):
            store.commit(writes)

    assert cost(refused) == (1, 0, 0, 0)


def test_a_tree_costs_a_read_and_a_delete_for_each_document(store):
    store.commit([put(f"agents/a/requests/{n}", {}) for n in range(7)])
    assert cost(lambda: store.delete_tree("agents/a")) == (3, 7, 0, 7)
    assert cost(lambda: store.delete_tree("agents/a")) == (1, 0, 0, 0)


def test_objects_cost_round_trips(tmp_path):
    objects = MeteredObjects(DirectoryStore(tmp_path))

    def act():
        objects.put("a", b"x")
        objects.get("a")
        objects.list("")
        objects.delete("a")

    assert cost(act) == (4, 0, 0, 0)


def test_without_a_meter_nothing_is_counted(store):
    store.get("accounts/a")
    assert active_meter() is None


def test_an_inner_meter_counts_for_itself(store):
    with metering() as outer:
        store.get("accounts/a")
        with metering() as inner:
            store.get("accounts/a")
            store.get("accounts/b")
        store.get("accounts/c")
    assert (outer.rpcs, inner.rpcs) == (2, 2)


def test_meters_of_two_threads_do_not_mix(store):
    meters = []

    def request(count):
        with metering() as meter:
            for _ in range(count):
                store.get("accounts/a")
        meters.append(meter.reads)

    threads = [threading.Thread(target=request, args=(count,)) for count in (3, 5, 7)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(meters) == [3, 5, 7]


def test_side_by_side_counts_the_longest_branch_in_sequence_and_everything_in_total(store):
    store.commit([put("accounts/a", {"n": 1})])
    with metering() as meter:
        store.get("accounts/none")
        found = concurrently(
            lambda: store.get("accounts/a"),
            lambda: [store.get("accounts/a"), store.get("accounts/a")][0],
            lambda: store.get("accounts/none"),
        )
    assert [one and one.data for one in found] == [{"n": 1}, {"n": 1}, None]
    assert (meter.rpcs, meter.rpcs_total, meter.reads) == (3, 5, 5)


def test_side_by_side_really_is():
    both_inside = threading.Barrier(2, timeout=5)
    assert concurrently(lambda: both_inside.wait() >= 0, lambda: both_inside.wait() >= 0) == [True, True]


def test_the_time_of_a_step_is_that_of_its_longest_branch(store, monkeypatch):
    pause = {"accounts/short": 0.01, "accounts/long": 0.06}
    monkeypatch.setattr(SqliteStore, "get_many", lambda self, paths: [time.sleep(pause[path]) for path in paths])
    with metering() as meter:
        concurrently(lambda: store.get("accounts/short"), lambda: store.get("accounts/long"))
    assert 0.06 <= meter.store_seconds < 0.5


def test_branches_see_the_callers_context():
    variable = contextvars.ContextVar("variable")
    variable.set("of the caller")
    assert concurrently(variable.get, variable.get) == ["of the caller"] * 2


def test_the_first_error_is_raised_after_all_branches_have_ended():
    ended = []

    def fail(name):
        raise ValueError(name)

    with pytest.raises(ValueError, match="first"):
        concurrently(lambda: fail("first"), lambda: fail("second"), lambda: ended.append(time.sleep(0.02)))
    assert ended == [None]


def test_one_function_runs_where_it_is_and_none_is_no_work():
    assert concurrently(threading.get_ident) == [threading.get_ident()]
    assert concurrently() == []


def test_branches_of_branches_never_wait_for_each_other():
    def branch(depth):
        return 1 if depth == 0 else sum(concurrently(*(lambda: branch(depth - 1) for _ in range(6))))

    assert concurrently(*(lambda: branch(2) for _ in range(40))) == [36] * 40
