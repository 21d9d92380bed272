"""Upkeep over an embedded store: it folds, it deletes leftovers, and it may run whenever and as often as it likes."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from am_server import maintenance
from am_server.maintenance import Run, maintain
from am_server.store.port import SERVER_TIME, Document, create, put
from am_server.views.unreferenced import dead_blocks, live_objects
from am_server.wiring import Services, Settings

NOW = datetime(2026, 11, 30, tzinfo=UTC)
OLD = NOW - timedelta(days=1)


@pytest.fixture
def services(tmp_path: Path) -> Services:
    return Services(Settings.read({"AM_DATA_DIR": str(tmp_path), "AM_EMBEDDER": "none", "AM_KEY_PEPPER": "pepper"}))


def add_agent(services: Services, uid: str, entities: int) -> None:
    services.store.commit([create(f"agents/{uid}", {"account": "a", "agent_id": uid, "created_at": 1})])
    writes = [
        put(f"agents/{uid}/graph/{number}", {"kind": "entity", "entity_id": f"thing {number}", "changed_at": SERVER_TIME})
        for number in range(entities)
    ]
    if writes:
        services.store.commit(writes)


def run(services: Services) -> dict:
    return maintain(Run(services, pause=lambda seconds: None))


def test_a_long_tail_is_folded_once(services):
    add_agent(services, "busy", 40)
    add_agent(services, "quiet", 3)
    first = run(services)
    assert (first["visited"], first["folded"], first["finished"]) == (2, 1, True)
    assert services.store.get("agents/busy/snapshots/graph") is not None
    assert services.store.get("agents/quiet/snapshots/graph") is None
    assert run(services).get("folded", 0) == 0


def test_an_object_that_no_list_names_is_deleted(services):
    add_agent(services, "a", 0)
    services.store.commit([put("agents/a/snapshots/vectors-00", {"model": "m", "segments": '{"kept": 1}'})])
    for name in ("agents/a/vectors/00/kept", "agents/a/vectors/00/left", "agents/gone/vectors/00/left", "health/probe"):
        services.objects.put(name, b"x")
    assert run(services)["objects"] == 2
    assert services.objects.list("") == ["agents/a/vectors/00/kept", "health/probe"]


def test_objects_are_given_time_to_be_listed(services):
    services.objects.put("agents/a/vectors/00/new", b"x")
    waited = []

    def pause(seconds: float) -> None:
        waited.append(seconds)
        services.store.commit([put("agents/a/snapshots/vectors-00", {"model": "m", "segments": '{"new": 1}'})])

    maintain(Run(services, pause=pause))
    assert 50 < waited[0] <= maintenance.GRACE_SECONDS
    assert services.objects.list("") == ["agents/a/vectors/00/new"]


def test_what_fails_for_one_agent_is_left_to_the_next_run(services, monkeypatch):
    add_agent(services, "a", 0)
    add_agent(services, "b", 40)
    query = services.store.query

    def flaky(asked):
        if asked.collection == "agents/a/snapshots":
            from am_server.store.port import StoreUnavailable

            raise StoreUnavailable("the store does not answer; try again")
        return query(asked)

    monkeypatch.setattr(services.store, "query", flaky)
    report = run(services)
    assert (report["visited"], report["failed"], report["folded"]) == (1, 1, 1)


def test_a_run_stops_in_time_and_says_so(services):
    for number in range(3):
        add_agent(services, f"agent{number}", 0)
    times = iter([0.0, 0.0, *[10_000.0] * 10])
    report = maintain(Run(services, clock=lambda: next(times)))
    assert (report["visited"], report["finished"]) == (1, False)


def test_every_agent_is_visited_wherever_a_run_starts(services, monkeypatch):
    for number in range(7):
        add_agent(services, f"{number:032x}", 0)
    monkeypatch.setattr(maintenance, "_PAGE", 2)
    for start in ("0" * 32, f"{3:032x}", "f" * 32):
        monkeypatch.setattr(maintenance.secrets, "token_hex", lambda _, start=start: start)
        assert run(services)["visited"] == 7


def test_two_runs_at_once_do_no_harm(services):
    for number in range(4):
        add_agent(services, f"agent{number}", 40)
    with ThreadPoolExecutor(2) as pool:
        reports = list(pool.map(lambda _: run(services), range(2)))
    assert all(report["finished"] and report.get("failed", 0) == 0 for report in reports)
    for number in range(4):
        assert len(services.views.graph(f"agent{number}").entities) == 40


def document(id: str, updated_at: datetime = OLD, **data: object) -> Document:
    return Document(f"agents/a/snapshots/{id}", data, updated_at)


def test_blocks_that_a_head_lists_and_young_ones_stay():
    head = document("graph", blocks='[["b1", 10, 100, "sum"]]', covered=OLD)
    others = [
        document("graph-b1"),
        document("graph-b2"),
        document("graph-b3", updated_at=NOW),
        document("vectors-00", segments="{}"),
    ]
    assert [dead.id for dead in dead_blocks([head, *others], NOW - timedelta(hours=1))] == ["graph-b2"]


def test_a_damaged_head_protects_all_blocks():
    assert dead_blocks([document("graph", blocks="{"), document("graph-b2")], NOW) == []


def test_a_damaged_list_protects_all_objects():
    assert live_objects([document("vectors-00", segments="[")], "agents/a") is None
