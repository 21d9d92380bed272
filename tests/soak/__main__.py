"""A mixed load on one served process for a long time: no error, and memory that does not grow.

    python -m tests.soak [--seconds 600] [--json FILE]

Each client fills its agent's memory with every kind of thing, reads all of it in every way, erases it and begins again,
so that what is stored is bounded and whatever grows is a leak. The resident memory of the serving process is read every
second; after the first quarter of the run, in which caches fill, it must not grow by more than GROWTH.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import mean
from typing import Any

from tests.bench.client import quantiles
from tests.crash.service import Agent, Service

CLIENTS = 6
ROUNDS = 150
"""Rounds of calls before a client erases its memory."""

GROWTH = 0.05
"""How much larger the mean of the last quarter may be than that of the second."""


class Client(threading.Thread):
    """Calls one after the other, and how long each took."""

    def __init__(self, number: int, agent: Agent, until: float) -> None:
        super().__init__()
        self.number, self.agent, self.until = number, agent, until
        self.taken: list[tuple[float, float]] = []
        self.problem: BaseException | None = None

    def run(self) -> None:
        count = 0
        try:
            while time.monotonic() < self.until:
                self._round(count)
                count += 1
                if count % ROUNDS == 0:
                    self._call("memory_delete_agent", confirm=True)
        except BaseException as problem:  # told by main, which waits for this thread
            self.problem = problem

    def _call(self, tool: str, **arguments: Any) -> Any:
        began = time.monotonic()
        answer = self.agent.call(tool, arguments)
        self.taken.append((began, time.monotonic() - began))
        return answer

    def _round(self, count: int) -> None:
        call, place = self._call, f"hall {count % 9}"
        metadata = {"session_id": f"s{count // 10}", "speaker": f"person {count % 4}"}
        call("memory_store_episode", content=f"Pump number{count} in {place} was inspected and runs well.", metadata=metadata)
        found = call("memory_search_episodes", query=f"What about pump number{count}?", use_pheromone=count % 3 == 0)
        assert found["count"], "what was just stored is not found"
        call("memory_store_entity", entity_id=f"pump {count % 40}", type="pump", predicate="stands in", object_value=place)
        call("memory_graph_add_triple", subject=place, predicate="part of", object="plant")
        call("memory_deposit_pheromone", node_id=f"pump {count % 40}", strength=0.5)
        call("memory_find_path", from_id=f"pump {count % 40}", to_id="plant")
        call("memory_semantic_search", query="pump in the plant")
        call("memory_set_working", key=f"step {count % 12}", content="x" * 200, ttl_seconds=120)
        call("memory_list_working")
        if count % 10 == 0:
            call("memory_store_procedure", name=f"inspect {count % 30}", steps=["stop it", "look at it", "start it"])
            call("memory_match_procedure", task="look after a pump")
            call("memory_search_timeline", start_time="2026-01-01T00:00:00Z", end_time="2100-01-01T00:00:00Z", limit=20)
            call("memory_get_stats")


def resident(pids: Sequence[int]) -> float:
    """Resident megabytes of processes together."""
    pages = sum(int(Path(f"/proc/{pid}/statm").read_text().split()[1]) for pid in pids)
    return pages * 4096 / 1e6


def quarter(values: Sequence[float], number: int) -> list[float]:
    """The first (0) to last (3) quarter of what was measured."""
    size = max(1, len(values) // 4)
    return list(values[number * size : (number + 1) * size])


def soak(seconds: float, folder: Path) -> dict[str, Any]:
    """What a run measured, and in `problems` what was wrong with it."""
    service = Service(folder, {}).start().wait()
    try:
        until = time.monotonic() + seconds
        clients = [Client(number, Agent([service.port]).sign_up(), until) for number in range(CLIENTS)]
        for client in clients:
            client.start()
        memory: list[float] = []
        while any(client.is_alive() for client in clients):
            memory.append(resident(service.workers()))
            time.sleep(1)
        problems = [repr(client.problem) for client in clients if client.problem]
        problems += [
            f"client {client.number} was not answered {client.agent.retries} times" for client in clients if client.agent.retries
        ]
        logged = service.log()
    finally:
        service.kill()
    if "ERROR" in logged or "Traceback" in logged:
        problems.append(f"the log tells of errors: {logged[-1000:]}")
    before, after = mean(quarter(memory, 1)), mean(quarter(memory, 3))
    if after > before * (1 + GROWTH):
        problems.append(f"memory grew from {before:.1f} to {after:.1f} MB")
    taken = [seconds for _, seconds in sorted(each for client in clients for each in client.taken)]
    return {
        "seconds": seconds,
        "calls": len(taken),
        "calls_per_s": round(len(taken) / seconds, 1),
        "call_ms_by_quarter": [quantiles(quarter(taken, number)) for number in range(4)],
        "resident_mb_by_quarter": [round(mean(quarter(memory, number)), 1) for number in range(4)],
        "resident_mb_most": round(max(memory), 1),
        "stored_mb": round(sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) / 1e6, 1),
        "problems": problems,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        result = soak(args.seconds, Path(folder))
    print(json.dumps(result, indent=2))
    if args.json:
        args.json.write_text(json.dumps(result, indent=2) + "\n")
    sys.exit(1 if result["problems"] else 0)


if __name__ == "__main__":
    main()
