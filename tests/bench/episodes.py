"""Episodes of one agent over HTTP on the embedded default: store and search, warm and in a fresh process, and memory.

    python -m tests.bench.episodes [--sizes 1000,10000,100000] [--json FILE]

The agent's memory is filled through the store with the writes that `memory_store_episode` makes; everything timed goes
over HTTP, one client on one connection. "Cold" is the first call that a freshly started process answers for this agent.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

from am_server.local import local_defaults
from am_server.tools.episodes_store import episode_writes
from am_server.views.episodes import Search
from am_server.wiring import Services, Settings

from tests.bench.client import Client, quantiles, timed
from tests.bench.words import Turn, question, some_turns, turns
from tests.crash.service import Service
from tests.soak.__main__ import resident

SIZES = (1_000, 10_000, 100_000)
COMMIT = 400
STORES, SEARCHES, COLD_STARTS = 400, 200, 3


def opened(folder: Path) -> Services:
    """The service's parts in this process, over a folder."""
    settings = {"AM_DATA_DIR": str(folder), "LOG_LEVEL": "ERROR"}
    return Services(Settings.read({**settings, **local_defaults(settings)}))


def fill(folder: Path, episodes: list[Turn]) -> str:
    """Store episodes for a new agent; returns its key."""
    services = opened(folder)
    new = services.accounts.sign_up("bench", services.tiers["pro"])
    root = f"agents/{services.accounts.authenticate(new.key, None).agent_uid}"
    for start in range(0, len(episodes), COMMIT):
        writes = [
            write
            for turn in episodes[start : start + COMMIT]
            for write in episode_writes(root, [turn.content], turn.metadata, turn.valid_at, services.clock.now())[1]
        ]
        services.store.commit(writes)
    services.store.close()
    return new.key


@contextmanager
def running(folder: Path) -> Iterator[tuple[Service, str]]:
    """A fresh process over a folder, and its base URL."""
    service = Service(folder, {}).start().wait()
    try:
        yield service, f"http://127.0.0.1:{service.port}"
    finally:
        service.kill()


def measure(size: int, folder: Path) -> dict[str, Any]:
    """Everything at one size."""
    episodes = some_turns(size)
    began = time.perf_counter()
    key = fill(folder, episodes)
    result: dict[str, Any] = {"filled_in_s": round(time.perf_counter() - began, 1)}
    draw = random.Random(size)
    questions = [question(draw.choice(episodes), draw) for _ in range(SEARCHES)]
    with running(folder) as (_, url):
        began = time.perf_counter()
        search(Client(url, key), questions[0])
        result["first_search_ever_ms"] = round(1000 * (time.perf_counter() - began))
    result["cold"] = cold(folder, key, questions)
    with running(folder) as (_, url):
        result["warm"] = warm(Client(url, key), questions)
    result["memory"] = memory(folder, key, size, questions)
    stored = sum(file.stat().st_size for file in folder.glob("am-server.sqlite*"))
    result["stored_bytes_per_episode"] = round(stored / size)
    return result


def search(client: Client, query: str, **options: Any) -> Any:
    return client.call("memory_search_episodes", query=query, limit=12, **options)


def cold(folder: Path, key: str, questions: list[str]) -> dict[str, Any]:
    """The first search and the first store of fresh processes, in milliseconds, and what the search reads."""
    searches, stores, costs = [], [], []
    for number in range(COLD_STARTS):
        with running(folder) as (_, url):
            client = Client(url, key)
            searches += timed(1, lambda n, c=client, q=questions[number]: search(c, q))
            costs.append(client.headers["X-AM-Cost"])
        with running(folder) as (_, url):
            client = Client(url, key)
            stores += timed(1, lambda n, c=client: c.call("memory_store_episode", content="The first words after a start."))
    return {
        "search_ms": round(1000 * median(searches)),
        "store_ms": round(1000 * median(stores)),
        "search_cost": costs[-1],
    }


def warm(client: Client, questions: list[str]) -> dict[str, Any]:
    """Latency of a client that has the service to itself, over HTTP and inside the handler."""
    fresh = turns(seed=7)
    jobs = {
        "store": (STORES, lambda n: store(client, next(fresh))),
        "search_hybrid": (SEARCHES, lambda n: search(client, questions[n])),
        "search_lexical": (SEARCHES, lambda n: search(client, questions[n], use_hybrid=False)),
        "search_after_a_store": (SEARCHES // 2, lambda n: search(client, questions[n])),
    }
    search(client, questions[0])
    found: dict[str, Any] = {}
    for name, (times, job) in jobs.items():
        inside: list[float] = []
        taken: list[float] = []
        for number in range(times):
            if name == "search_after_a_store":
                store(client, next(fresh))
            taken += timed(1, lambda _, n=number, work=job: work(n))
            inside.append(client.handler_ms() / 1000)
        found[name] = {"http_ms": quantiles(taken), "handler_ms": quantiles(inside)}
    return found


def store(client: Client, turn: Turn) -> Any:
    return client.call("memory_store_episode", content=turn.content, metadata=turn.metadata)


def memory(folder: Path, key: str, size: int, questions: list[str]) -> dict[str, Any]:
    """Resident memory before and after an agent's memory is loaded by a search; the word table is loaded by another's."""
    with running(folder) as (service, url):
        other = Client(url)
        other.call("memory_store_episode", content="Something else.")
        search(other, "something else")
        before = resident(service.workers())
        client = Client(url, key)
        for query in questions[:20]:
            search(client, query)
        after = resident(service.workers())
    return {
        "before_mb": round(before, 1),
        "after_mb": round(after, 1),
        "mb_per_10000_episodes": round((after - before) / size * 10_000, 1),
        "view_bytes_per_episode": round(view_bytes(folder, key, questions[:20]) / size),
    }


def view_bytes(folder: Path, key: str, questions: list[str]) -> int:
    """What the view of an agent's episodes says that it takes, after searches."""
    services = opened(folder)
    agent = services.accounts.authenticate(key, None).agent_uid
    for query in questions:
        services.views.episodes(agent).search(Search(query, 12))
    [size] = [view.size for (_, kind), view in services.views._views.items() if kind == "episodes"]
    services.store.close()
    return size


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=lambda text: [int(part) for part in text.split(",")], default=list(SIZES))
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    result = {}
    for size in args.sizes:
        with tempfile.TemporaryDirectory() as folder:
            result[str(size)] = measure(size, Path(folder))
        if args.json:  # after every size, so that a run that is cut off leaves what it has
            args.json.write_text(json.dumps(result, indent=2) + "\n")
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
