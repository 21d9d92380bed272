"""Calls a second with 1 to 64 clients on one agent of 10,000 episodes, over HTTP on the embedded default.

    python -m tests.bench.throughput [--size 10000] [--seconds 2] [--json FILE]

The clients are threads of one Python process on the same machine, so beyond a few of them they compete with the service.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
from pathlib import Path
from typing import Any

from tests.bench.client import Client, throughput
from tests.bench.episodes import fill, running, search, store
from tests.bench.words import question, some_turns, turns

CLIENTS = (1, 2, 4, 8, 16, 32, 64)


def measure(size: int, seconds: float, folder: Path) -> dict[str, Any]:
    episodes, draw, fresh = some_turns(size), random.Random(5), turns(seed=8)
    key = fill(folder, episodes)
    questions = [question(draw.choice(episodes), draw) for _ in range(200)]
    new = [next(fresh) for _ in range(5_000)]
    found: dict[str, Any] = {"size": size}
    with running(folder) as (_, url):
        first = Client(url, key)
        search(first, questions[0])
        first.call("memory_set_working", key="task", content="x")
        for number in CLIENTS:
            clients = [first.again() for _ in range(number)]
            found[str(number)] = {
                "get_working": throughput(clients, seconds, lambda c, n: c.call("memory_get_working", key="task")),
                "search": throughput(clients, seconds, lambda c, n: search(c, questions[(n * 7 + id(c) // 64) % 200])),
                "store": throughput(clients, seconds, lambda c, n: store(c, new[(n * 64 + id(c) // 64) % 5_000])),
            }
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=10_000)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        result = measure(args.size, args.seconds, Path(folder))
    print(json.dumps(result, indent=2))
    if args.json:
        args.json.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
