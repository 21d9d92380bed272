"""Every tool against a document store that is out of reach, loses its answers, is throttled or slow."""

from __future__ import annotations

import random
import shutil
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from am_server.tools.catalogue import load

from tests.faults.conftest import Service
from tests.faults.ports import READS, WRITES, Fault, down, nth, well
from tests.faults.world import CALLS, VARIANTS, state

Arguments = Mapping[str, Any]

LAST = "memory_delete_agent"

EVERY = [(tool, CALLS[tool]) for tool in load() if tool != LAST] + VARIANTS + [(LAST, CALLS[LAST])]
WRITING = [(tool, arguments) for tool, arguments in EVERY if not load()[tool].hints.read_only]
NAMES = [f"{tool}-{number}" for number, (tool, _) in enumerate(EVERY)]

MOST_CALLS = 40
"""No tool asks the store more often than this on the small memory."""


def keyed(tool: str, arguments: Arguments, key: str = "k") -> dict[str, Any]:
    """Arguments with an idempotency key, where the tool takes one."""
    takes_key = "idempotency_key" in load()[tool].arguments.model_fields
    return {**arguments, "idempotency_key": key} if takes_key else dict(arguments)


def outcome(result: dict[str, Any]) -> bool:
    """Whether a call succeeded; when it did not, it said so in the one allowed way."""
    if not result["isError"]:
        return True
    error = result["structuredContent"]["error"]
    assert (error["code"], error["type"]) == (-32008, "unavailable"), error
    return False


def test_every_tool_has_its_call() -> None:
    assert set(load()) <= set(CALLS)


@pytest.mark.parametrize(("tool", "arguments"), EVERY, ids=NAMES)
def test_a_store_out_of_reach_is_told_and_the_next_call_works(service: Service, tool: str, arguments: Arguments) -> None:
    service.store.obey(down())
    message = service.unavailable(tool, **arguments)
    assert 10 < len(message) < 300
    service.store.obey(well)
    service.ok(tool, **arguments)


@pytest.mark.parametrize("fault", ["before", "after"])
@pytest.mark.parametrize(("tool", "arguments"), EVERY, ids=NAMES)
def test_wherever_the_store_fails_a_retry_leaves_what_one_call_leaves(
    start: Callable[..., Service], tool: str, arguments: Arguments, fault: Fault
) -> None:
    clean = start().warm()
    clean.store.obey(well)
    clean.ok(tool, **keyed(tool, arguments))
    calls, wanted = clean.store.calls, state(clean.folder, trails=tool == "memory_deposit_pheromone")
    assert calls <= MOST_CALLS
    for number in range(calls):
        faulty = start().warm()
        faulty.store.obey(nth(number, fault))
        first = faulty.call(tool, **keyed(tool, arguments))
        if outcome(first):
            assert state(faulty.folder, trails=tool == "memory_deposit_pheromone") == wanted, f"acknowledged and lost at {number}"
        faulty.store.obey(well)
        again = faulty.ok(tool, **keyed(tool, arguments))
        assert state(faulty.folder, trails=tool == "memory_deposit_pheromone") == wanted, f"call {number} of {calls}"
        if not first["isError"] and "idempotency_key" in keyed(tool, arguments):
            assert again == first["structuredContent"]
        shutil.rmtree(faulty.folder)


@pytest.mark.parametrize("seed", range(3))
def test_a_throttled_store_costs_patience_only(start: Callable[..., Service], seed: int) -> None:
    """A fifth of the calls to the store fail, before or after; a client that repeats until it succeeds ends where it should."""
    clean = start()
    for number, (tool, arguments) in enumerate(WRITING):
        clean.ok(tool, **keyed(tool, arguments, f"k{number}"))
    throttled, draw = start().warm(), random.Random(seed)
    throttled.store.obey(lambda _, __: draw.choice([*[None] * 8, "before", "after"]))
    attempts: Counter[str] = Counter()
    for number, (tool, arguments) in enumerate(WRITING):
        while not outcome(throttled.call(tool, **keyed(tool, arguments, f"k{number}"))):
            attempts[tool] += 1
            assert attempts[tool] < 500
    assert attempts.total() > 10
    assert state(throttled.folder, trails=False) == state(clean.folder, trails=False)


def test_a_slow_store_changes_no_answer(start: Callable[..., Service]) -> None:
    left = []
    for seconds in (0.0, 0.005):
        service = start().warm()
        service.store.obey(well, seconds)
        for tool, arguments in EVERY:
            service.ok(tool, **arguments)
        left.append(state(service.folder, trails=False))
    assert left[0] == left[1]


@pytest.mark.parametrize("methods", [WRITES, READS], ids=["writes", "reads"])
def test_what_still_works_goes_on_working(start: Callable[..., Service], methods: tuple[str, ...]) -> None:
    """A store that takes no writes still answers reads, also those that would like to fold or to reinforce; and the reverse."""
    for tool, arguments in EVERY:
        service = start().warm()
        service.store.obey(down(*methods))
        read_only = load()[tool].hints.read_only or tool == "memory_search_episodes"
        if "commit" in methods:
            assert outcome(service.call(tool, **arguments)) == read_only or tool in UNCHANGED, tool
        elif tool in BLIND:
            assert outcome(service.call(tool, **arguments)), tool
        shutil.rmtree(service.folder)


UNCHANGED = {"memory_join_shared_space", "memory_clear_working", "memory_consolidate_episodes"}
"""What they were asked to change may be as it should be already."""

BLIND = {"memory_store_episode", "memory_store_entity", "memory_store_relation", "memory_graph_add_triple", "memory_set_working"}
"""What is stored without looking."""


def test_a_quota_that_cannot_be_counted_is_told_in_band(start: Callable[..., Service]) -> None:
    service = start()
    service.store.obey(down("commit"))
    service.unavailable("memory_get_working", key="task")
    service.store.obey(well)
    assert service.ok("memory_get_working", key="task")["found"]


def test_a_key_that_cannot_be_looked_up_is_told_as_unavailable(start: Callable[..., Service]) -> None:
    service = start()
    service.store.obey(down())
    answer = service.caller.post({"jsonrpc": "2.0", "id": 7, "method": "tools/list"})
    assert answer.status_code == 503
    assert (answer.json["id"], answer.json["error"]["code"]) == (7, -32008)
    service.store.obey(well)
    assert service.caller.post({"jsonrpc": "2.0", "id": 8, "method": "tools/list"}).status_code == 200
