"""Two processes on one store serve one agent: a reader sees every acknowledged write at its next read, at either."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from tests.crash.conftest import SECONDS
from tests.crash.service import Agent, Service

WRITERS = READERS = 8

Written = tuple[str, int, int]
"""The kind of an acknowledged write, its writer and its number."""


def name(who: int, count: int) -> str:
    return f"mark{who}x{count}"


def writes(kind: str, who: int, count: int) -> tuple[str, Mapping[str, Any]]:
    """The call that makes a write."""
    word = name(who, count)
    return {
        "episode": ("memory_store_episode", {"content": f"Somebody saw {word} in the yard."}),
        "triple": ("memory_graph_add_triple", {"subject": f"yard {who}", "predicate": "holds", "object": word}),
        "entity": ("memory_store_entity", {"entity_id": word, "type": "mark"}),
        "procedure": ("memory_store_procedure", {"name": f"paint {word}", "steps": ["paint"]}),
        "working": ("memory_set_working", {"key": f"count {who}", "content": str(count)}),
    }[kind]


def assert_seen(agent: Agent, kind: str, who: int, count: int) -> None:
    """One read that must show the write, or a later one that replaced it."""
    word = name(who, count)
    if kind == "episode":
        answer = agent.call("memory_search_episodes", {"query": word, "limit": 3})
        assert f"Somebody saw {word} in the yard." in [result["episode"]["content"] for result in answer["results"]]
    elif kind == "triple":
        answer = agent.call("memory_graph_shortest_path", {"from": f"yard {who}", "to": word})
        assert answer["found"]
    elif kind == "entity":
        answer = agent.call("memory_list_entities", {"prefix": word, "limit": 20})
        assert word in [entity["entity_id"] for entity in answer["entities"]]
    elif kind == "procedure":
        answer = agent.call("memory_match_procedure", {"task": f"paint {word}", "limit": 3})
        assert f"paint {word}" in [result["procedure"]["name"] for result in answer["results"]]
    elif kind == "working":
        assert int(agent.call("memory_get_working", {"key": f"count {who}"})["item"]["content"]) >= count


KINDS = ("episode", "triple", "entity", "procedure", "working")


class Run:
    """What all threads share."""

    def __init__(self) -> None:
        self.until = time.monotonic() + SECONDS
        self.acknowledged: list[Written] = []
        self.reads = 0
        self.problems: list[BaseException] = []

    def go_on(self) -> bool:
        return time.monotonic() < self.until and not self.problems

    def guarded(self, work: Callable[[], None]) -> threading.Thread:
        def run() -> None:
            try:
                work()
            except BaseException as problem:  # told by the test, which waits for this thread
                self.problems.append(problem)

        return threading.Thread(target=run)


def write(run: Run, agent: Agent, who: int) -> None:
    count = 0
    while run.go_on():
        kind = KINDS[count % len(KINDS)]
        agent.call(*writes(kind, who, count))
        run.acknowledged.append((kind, who, count))
        agent.turn_to_another()
        count += 1


def read(run: Run, agent: Agent, who: int) -> None:
    draw = random.Random(who)
    while run.go_on():
        if run.acknowledged:
            recent = run.acknowledged[-16:] if draw.random() < 0.8 else run.acknowledged
            assert_seen(agent, *draw.choice(recent))
            run.reads += 1
        agent.turn_to_another()


def test_readers_at_two_processes_see_every_acknowledged_write(service: Callable[[], Service]) -> None:
    services = [service().start(), service().start()]
    ports = [each.wait().port for each in services]
    agent, run = Agent(ports).sign_up(), Run()
    threads = [run.guarded(lambda who=who: write(run, agent.again(), who)) for who in range(WRITERS)]
    threads += [run.guarded(lambda who=who: read(run, agent.again(), who)) for who in range(READERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(f"{len(run.acknowledged)} acknowledged writes, {run.reads} reads, {len(run.problems)} of which missed one")
    assert not run.problems, run.problems[0]
    assert run.reads > 20
    assert len(run.acknowledged) > 20
    for port in ports:  # and at the end each process knows all of it
        alone = Agent([port], agent.key)
        for written in run.acknowledged[:: max(1, len(run.acknowledged) // 50)]:
            assert_seen(alone, *written)
        stored = alone.call("memory_get_stats", {})["memory"]
        assert stored["episode_count"] == sum(kind == "episode" for kind, _, _ in run.acknowledged)
        assert stored["procedure_count"] == sum(kind == "procedure" for kind, _, _ in run.acknowledged)
