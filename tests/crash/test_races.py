"""Folding and merging race with writes and deletions, in two instances over one store."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from am_server.store.port import Query
from am_server.tools.episodes_store import deletion_write
from am_server.views import log, snapshots

from tests.crash.conftest import SECONDS
from tests.unit.calling import Agent, instance

WRITERS, READERS = 4, 4


@pytest.fixture
def agents(tmp_path: Path, store: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Agent]]:
    """One agent at two instances that fold early and merge often."""
    monkeypatch.setattr(log, "FOLD_ROWS", 8)
    monkeypatch.setattr(log, "FOLD_ROWS_COLD", 4)
    monkeypatch.setattr(snapshots, "HEAD_BYTES", 2_000)
    monkeypatch.setattr(snapshots, "BLOCK_BYTES", 20_000)
    monkeypatch.setattr(snapshots, "GARBAGE_ROWS", 16)
    for variable, value in store.items():
        monkeypatch.setenv(variable, value)
    with ExitStack() as stack:
        yield [Agent(stack.enter_context(instance(tmp_path, **store))) for _ in range(2)]


class Run:
    """What all threads share: episodes by word, in one of three stages."""

    def __init__(self) -> None:
        self.until = time.monotonic() + SECONDS
        self.alive: dict[str, str] = {}
        """Acknowledged, and nobody has begun to delete them."""
        self.dead: list[str] = []
        """Their deletion was acknowledged."""
        self.problems: list[BaseException] = []
        self.checked = 0

    def thread(self, work: Callable[[], None]) -> threading.Thread:
        def run() -> None:
            try:
                while time.monotonic() < self.until and not self.problems:
                    work()
            except BaseException as problem:  # told by the test, which waits for this thread
                self.problems.append(problem)

        return threading.Thread(target=run)


def writer(run: Run, agents: list[Agent], number: int) -> Callable[[], None]:
    draw, count = random.Random(number), iter(range(10**9))

    def work() -> None:
        agent, word = draw.choice(agents), f"mark{number}x{next(count)}"
        stored = agent.call("memory_store_episode", content=f"Somebody saw {word}.")
        agent.call("memory_graph_add_triple", subject="yard", predicate="holds", object=word)
        run.alive[word] = stored["id"]
        mine = [each for each in list(run.alive) if each.startswith(f"mark{number}x")]
        if draw.random() < 0.45:
            doomed = draw.choice(mine)
            id = run.alive.pop(doomed)
            now = agent.services.clock.now()
            draw.choice(agents).services.store.commit([deletion_write(f"agents/{agent.uid}", id, now)])
            run.dead.append(doomed)

    return work


def reader(run: Run, agents: list[Agent], number: int) -> Callable[[], None]:
    draw = random.Random(100 + number)

    def work() -> None:
        agent = draw.choice(agents)
        if draw.random() < 0.1:
            agent.services.views.forget(agent.uid)
        alive, dead = list(run.alive), list(run.dead)
        if not alive:
            return
        word, gone = draw.choice(alive[-10:]), draw.choice(dead[-10:]) if dead else None
        found = [r["episode"]["content"] for r in agent.call("memory_search_episodes", query=word, limit=3)["results"]]
        assert f"Somebody saw {word}." in found or word not in run.alive, f"{word} was acknowledged and not found"
        assert agent.call("memory_graph_shortest_path", **{"from": "yard", "to": word})["found"]
        if gone is not None:
            found = [r["episode"]["content"] for r in agent.call("memory_search_episodes", query=gone, limit=3)["results"]]
            assert f"Somebody saw {gone}." not in found, f"{gone} was deleted and found"
        run.checked += 1

    return work


def test_folding_and_merging_race_with_writes_and_deletions(agents: list[Agent]) -> None:
    run = Run()
    threads = [run.thread(writer(run, agents, number)) for number in range(WRITERS)]
    threads += [run.thread(reader(run, agents, number)) for number in range(READERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(f"{len(run.alive)} episodes alive, {len(run.dead)} deleted, {run.checked} checks")
    assert not run.problems, run.problems[0]
    assert run.checked > 10
    assert len(run.dead) > 5
    root = f"agents/{agents[0].uid}"
    assert len(agents[0].services.store.query(Query(f"{root}/snapshots", select=()))) >= 2
    for agent in agents:
        agent.services.views.forget(agent.uid)
        found = agent.call("memory_search_episodes", query="somebody saw", limit=200)["results"]
        words = {result["episode"]["content"].split()[2].rstrip(".") for result in found}
        assert words <= set(run.alive)
        assert len(words) == min(200, len(run.alive))
