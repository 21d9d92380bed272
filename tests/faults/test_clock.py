"""A clock that jumps: order within an instance holds, nothing is lost, and what expires expires by the clock that is right."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from tests.faults.conftest import Service

HOUR, DAY, YEAR = 3_600.0, 86_400.0, 365 * 86_400.0
Start = Callable[..., Service]


class Clock:
    """The machine's clock, some seconds off."""

    def __init__(self) -> None:
        self.off = 0.0
        self._true = time.time_ns

    def time_ns(self) -> int:
        return self._true() + int(self.off * 1e9)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(time, "time_ns", clock.time_ns)
    monkeypatch.setattr(time, "time", lambda: clock.time_ns() / 1e9)
    return clock


def listed(service: Service) -> list[str]:
    return [episode["content"] for episode in service.ok("memory_get_episodes", limit=50)["episodes"]]


def found(service: Service, word: str) -> list[str]:
    answer = service.ok("memory_search_episodes", query=word, limit=5, use_hybrid=False)
    return [result["episode"]["content"] for result in answer["results"]]


@pytest.mark.parametrize("jump", [-YEAR, -DAY, -HOUR, HOUR, DAY, YEAR])
def test_a_jump_loses_nothing_in_warm_and_fresh_instances(start: Start, clock: Clock, jump: float) -> None:
    warm = start().warm()
    assert found(warm, "violin")
    for number, off in enumerate((0.0, jump, 0.0, -jump, 0.0)):
        clock.off = off
        warm.ok("memory_store_episode", content=f"token{number} was seen", idempotency_key=f"k{number}")
        warm.ok("memory_graph_add_triple", subject="hub", predicate="has", object=f"token{number}")
        assert found(warm, f"token{number}") == [f"token{number} was seen"]
        assert warm.ok("memory_store_episode", content=f"token{number} was seen", idempotency_key=f"k{number}")
    newest_first = [f"token{number} was seen" for number in (4, 3, 2, 1, 0)]
    assert listed(warm)[:5] == newest_first
    for off in (0.0, jump):
        clock.off = off
        fresh = start(warm.folder).warm()
        fresh.ok("memory_store_episode", content="token9 was seen")
        for number in (0, 1, 2, 3, 4, 9):
            assert f"token{number} was seen" in found(fresh, f"token{number}")
        assert fresh.ok("memory_get_relations", entity_id="hub")["count"] == 5
        assert sorted(set(listed(fresh)) & set(newest_first)) == sorted(newest_first)


def test_a_trail_laid_in_the_future_is_strong_and_never_infinite(start: Start, clock: Clock) -> None:
    service = start().warm()
    clock.off = YEAR
    assert service.ok("memory_deposit_pheromone", node_id="Alice", strength=2.0)["new_weight"] == pytest.approx(2.0)
    clock.off = 0.0
    service = start(service.folder).warm()
    weight = service.ok("memory_get_pheromone", node_id="Alice")["weight"]
    assert 2.0 < weight < float("inf")
    assert service.ok("memory_search_episodes", query="violin", use_pheromone=True)["count"] == 2
    assert service.ok("memory_find_path", from_id="Alice", to_id="Acme")["found"]


def test_working_memory_expires_by_the_clock_as_it_is_now(start: Start, clock: Clock) -> None:
    service = start().warm()
    service.ok("memory_set_working", key="brief", content="x", ttl_seconds=60)
    clock.off = HOUR
    assert not service.ok("memory_get_working", key="brief")["found"]
    clock.off = 0.0
    back = start(service.folder).warm()
    assert back.ok("memory_get_working", key="brief")["found"]
