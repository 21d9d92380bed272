"""What calls cost on Firestore, in round trips and documents, on Google's emulator: what it counts, the cloud bills.

    python -m tests.bench.firestore [--size 10000] [--json FILE]

The times are the emulator's and say nothing about the cloud. Counts are of the call's own way: the key is known and quota
is at hand, except in the line of the first call of a fresh process.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import tempfile
import time
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from am_server.local import local_defaults
from am_server.tools.episodes_store import episode_writes
from am_server.wiring import Services, Settings

from infra.emulators import firestore_emulator
from tests.bench.client import Client, quantiles, timed
from tests.bench.episodes import search
from tests.bench.words import question, some_turns
from tests.crash.service import Service

REPEATS = 20
COMMIT = 400

REST_SECONDS = 14
"""After so long nothing counts as new any more: a reader looks back twice `firestore_tail.LATENESS`."""


def cost(client: Client) -> dict[str, int]:
    """`X-AM-Cost` of the last call."""
    return {name: int(number) for name, number in re.findall(r"(\w+)=(\d+)", client.headers["X-AM-Cost"])}


def fill(folder: Path, environment: Mapping[str, str], size: int) -> tuple[str, list[str]]:
    """A new agent's key, and questions about the episodes stored for it."""
    settings = {"AM_DATA_DIR": str(folder), "LOG_LEVEL": "ERROR", **environment}
    os.environ["FIRESTORE_EMULATOR_HOST"] = environment["FIRESTORE_EMULATOR_HOST"]
    services = Services(Settings.read({**settings, **local_defaults(settings)}))
    new = services.accounts.sign_up("bench", services.tiers["pro"])
    root = f"agents/{services.accounts.authenticate(new.key, None).agent_uid}"
    episodes, draw = some_turns(size), random.Random(size)
    for start in range(0, size, COMMIT):
        batch = [
            write
            for turn in episodes[start : start + COMMIT]
            for write in episode_writes(root, [turn.content], turn.metadata, turn.valid_at, services.clock.now())[1]
        ]
        services.store.commit(batch)
    services.store.close()
    return new.key, [question(draw.choice(episodes), draw) for _ in range(REPEATS)]


def costs(client: Client, jobs: Mapping[str, Any]) -> dict[str, Any]:
    """Call by call: the cost of the last of some, and their times."""
    found = {}
    for name, job in jobs.items():
        taken = timed(REPEATS, job)
        found[name] = {**cost(client), "emulator_ms": quantiles(taken)}
    return found


def writing(client: Client) -> dict[str, Any]:
    return costs(client, {
        "set_working": lambda n: client.call("memory_set_working", key="k", content="v"),
        "store_episode": lambda n: client.call("memory_store_episode", content=f"Pump {n} runs."),
        "store_entity": lambda n: client.call("memory_store_entity", entity_id=f"pump {n}", type="pump"),
        "store_relation": lambda n: client.call("memory_store_relation", from_id=f"pump {n}", to_id="hall", predicate="in"),
        "graph_add_triple": lambda n: client.call("memory_graph_add_triple", subject="hall", predicate="has", object=f"door {n}"),
        "deposit_pheromone": lambda n: client.call("memory_deposit_pheromone", node_id="pump 1", strength=1),
        "search_episodes, 20 stored within seconds": lambda n: search(client, "Which pump runs?"),
    })  # fmt: skip


def reading(client: Client, questions: list[str]) -> dict[str, Any]:
    return costs(client, {
        "get_working": lambda n: client.call("memory_get_working", key="k"),
        "get_entity": lambda n: client.call("memory_get_entity", entity_id="pump 1"),
        "graph_neighbors, nothing new": lambda n: client.call("memory_graph_neighbors", node="hall"),
        "search_episodes, nothing new, contents not at hand": lambda n: search(client, questions[n]),
        "search_episodes, nothing new, contents at hand": lambda n: search(client, questions[0]),
    })  # fmt: skip


def measure(size: int, folder: Path) -> dict[str, Any]:
    with firestore_emulator() as emulator:
        environment = {"AM_STORE": "firestore", **emulator, "GOOGLE_CLOUD_PROJECT": f"demo-{uuid.uuid4()}"}
        key, questions = fill(folder, environment, size)
        time.sleep(REST_SECONDS)
        found: dict[str, Any] = {"size": size}
        for name in ("first search, nothing folded", "first search of a fresh process"):
            service = Service(folder, environment).start().wait()
            client = Client(f"http://127.0.0.1:{service.port}", key)
            client.call("memory_get_working", key="k")  # now the key is known and quota at hand
            taken = timed(1, lambda _, c=client: search(c, questions[0]))
            found[name] = {**cost(client), "emulator_ms": quantiles(taken)}
            if name.endswith("process"):
                found.update(writing(client))
                time.sleep(REST_SECONDS)
                found.update(reading(client, questions))
            service.kill()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=10_000)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        result = measure(args.size, Path(folder))
    print(json.dumps(result, indent=2))
    if args.json:
        args.json.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
