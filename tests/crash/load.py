"""A mixed load whose every acknowledged call is noted, and the check that all of it is there, once."""

from __future__ import annotations

import threading
from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import Any

import pytest

from tests.crash.service import Agent

WRITERS = 4


class Ledger:
    """What was acknowledged, by kind."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.episodes: list[str] = []
        self.relations: Counter[str] = Counter()
        self.deposits: Counter[str] = Counter()
        self.versions: Counter[str] = Counter()
        self.successes: Counter[str] = Counter()
        self.working: dict[str, str | None] = {}
        self.calls = 0


class Writer(threading.Thread):
    """Writes of every kind one after the other, each until it is acknowledged, under a key of its own."""

    def __init__(self, number: int, agent: Agent, ledger: Ledger, done: threading.Event) -> None:
        super().__init__(name=f"writer {number}")
        self.number, self.agent, self.ledger, self.done = number, agent, ledger, done
        self.problem: BaseException | None = None

    def run(self) -> None:
        try:
            self._store(f"thing {self.number}")
            count = 0
            while not self.done.is_set():
                self._round(count)
                count += 1
        except BaseException as problem:  # told by the test, which waits for this thread
            self.problem = problem

    def _call(self, tool: str, once: str, **arguments: Any) -> None:
        self.agent.call(tool, {**arguments, "idempotency_key": f"{self.number} {tool} {once}"})
        with self.ledger.lock:
            self.ledger.calls += 1

    def _store(self, name: str) -> None:
        self._call("memory_store_entity", name, entity_id=name, type="thing")

    def _round(self, count: int) -> None:
        who, once, ledger = self.number, str(count), self.ledger
        text = f"Report mark{who}x{count}: the pump of hall {count % 7} was inspected."
        self._call("memory_store_episode", once, content=text, metadata={"session_id": f"s{who}"})
        ledger.episodes.append(text)
        self._call("memory_store_relation", once, from_id=f"thing {who}", to_id=f"part {who} {count}", predicate="has")
        ledger.relations[f"thing {who}"] += 1
        self._call("memory_deposit_pheromone", once, node_id=f"thing {who}", strength=1.0)
        ledger.deposits[f"thing {who}"] += 1
        self._call("memory_set_working", once, key=f"key {who} {count % 3}", content=once)
        ledger.working[f"key {who} {count % 3}"] = once
        if count % 4 == 3:
            self._call("memory_store_procedure", once, name=f"procedure {who}", steps=[once])
            ledger.versions[f"procedure {who}"] += 1
            self._call("memory_update_procedure", once, name=f"procedure {who}", outcome="success")
            ledger.successes[f"procedure {who}"] += 1
        if count % 5 == 4:
            self.agent.call("memory_clear_working", {"key": f"key {who} {count % 3}"})
            ledger.working[f"key {who} {count % 3}"] = None


def listed_episodes(agent: Agent) -> Counter[str]:
    """Every episode's content, read page by page."""
    found: Counter[str] = Counter()
    cursor: Mapping[str, Any] = {}
    while True:
        page = agent.call("memory_get_episodes", {"limit": 200, **cursor})
        found.update(episode["content"] for episode in page["episodes"])
        if "next_cursor" not in page:
            return found
        cursor = {"cursor": page["next_cursor"]}


def verify(agent: Agent, ledger: Ledger) -> None:
    """Through the API: all that was acknowledged is there, and nothing is there twice."""
    assert listed_episodes(agent) == Counter(ledger.episodes)
    for text in ledger.episodes[:: max(1, len(ledger.episodes) // 40)]:
        found = agent.call("memory_search_episodes", {"query": text.split()[1], "limit": 3})
        assert text in [result["episode"]["content"] for result in found["results"]]
    kept: dict[str, int] = defaultdict(int)
    for name, count in ledger.relations.items():
        kept[name] = agent.call("memory_get_stats", {})["memory"]["relation_count"]
        weight = agent.call("memory_get_pheromone", {"node_id": name})["weight"]
        assert weight == pytest.approx(ledger.deposits[name], rel=0.01), f"{name}: a deposit was lost or made twice"
        assert count
    assert set(kept.values()) == {ledger.relations.total()}
    for name, count in ledger.versions.items():
        procedure = agent.call("memory_get_procedure", {"name": name})["procedure"]
        assert (procedure["version"], procedure["success_count"]) == (count, ledger.successes[name])
    for key, value in ledger.working.items():
        item = agent.call("memory_get_working", {"key": key})
        assert (item["item"]["content"] if item["found"] else None) == value
