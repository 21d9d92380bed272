"""The LoCoMo conversations through /api/v2, as MemMachine's own evaluation sends them: throughput, latency and recall.

    python -m tests.bench.rest --data locomo.json [--base-url URL] [--json FILE]

Each conversation becomes a project. Each session is posted in batches of 10 messages (producer = speaker, timestamp = the
session's time plus a second a turn, captions appended), then every question is searched with `top_k` 30. Without
`--base-url` a service is started on the embedded default. The data is CC BY-NC and not part of this project:
https://github.com/snap-research/locomo has it.
"""

from __future__ import annotations

import argparse
import json
import re
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import mean
from typing import Any

from infra.serving import served
from tests.bench.client import Client, quantiles, throughput

BATCH = 10
TOP_K = 30
RECALL_AT = (5, 10, 30)


@dataclass
class Conversation:
    """One record of the data set."""

    sessions: list[list[dict[str, Any]]] = field(default_factory=list)
    """Messages in order; each holds its turn's name as `turn` until it is sent."""
    questions: list[tuple[str, set[str]]] = field(default_factory=list)
    """A question of categories 1 to 4, and the turns that answer it."""


def conversations(path: Path) -> Iterator[Conversation]:
    """The conversations of a LoCoMo file."""
    for record in json.loads(path.read_text()):
        talk, made = record["conversation"], Conversation()
        number = 1
        while f"session_{number}_date_time" in talk:
            start = datetime.strptime(talk[f"session_{number}_date_time"], "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)
            turns = talk.get(f"session_{number}") or []
            made.sessions.append([_message(turn, start + timedelta(seconds=second)) for second, turn in enumerate(turns)])
            number += 1
        known = {message["turn"] for session in made.sessions for message in session}
        for question in record["qa"]:
            named = re.findall(r"D:?(\d+):(\d+)", " ".join(map(str, question.get("evidence") or [])))
            evidence = {f"D{int(session)}:{int(turn)}" for session, turn in named} & known
            if evidence and question["category"] <= 4:
                made.questions.append((question["question"], evidence))
        yield made


def _message(turn: dict[str, Any], moment: datetime) -> dict[str, Any]:
    caption = f" [image: {turn['blip_caption']}]" if turn.get("blip_caption") else ""
    spoken = {"content": turn["text"] + caption, "producer": turn["speaker"], "timestamp": moment.isoformat()}
    return {**spoken, "turn": turn["dia_id"]}


def ingest(client: Client, where: dict[str, str], conversation: Conversation, taken: list[float]) -> dict[str, str]:
    """Add every message; which turn each uid stands for. Appends the seconds of each request to `taken`."""
    turns: dict[str, str] = {}
    for session in conversation.sessions:
        for start in range(0, len(session), BATCH):
            batch = [dict(message) for message in session[start : start + BATCH]]
            names = [message.pop("turn") for message in batch]
            began = time.perf_counter()
            answer = client.post("/api/v2/memories", {**where, "messages": batch})
            taken.append(time.perf_counter() - began)
            turns.update(zip((result["uid"] for result in answer["results"]), names, strict=True))
    return turns


def ask(client: Client, where: dict[str, str], question: str, taken: list[float]) -> list[str]:
    """The uids that a search finds, best first."""
    began = time.perf_counter()
    answer = client.post("/api/v2/memories/search", {**where, "query": question, "top_k": TOP_K, "types": ["episodic"]})
    taken.append(time.perf_counter() - began)
    return [hit["uid"] for hit in answer["content"]["episodic_memory"]["long_term_memory"]["episodes"]]


def run(base_url: str, data: Path) -> dict[str, Any]:
    """Figures of one run."""
    client = Client(base_url)
    adding: list[float] = []
    searching: list[float] = []
    recall: dict[int, list[float]] = {k: [] for k in RECALL_AT}
    messages = 0
    for conversation in conversations(data):
        where = {"org_id": "bench", "project_id": uuid.uuid4().hex}
        turns = ingest(client, where, conversation, adding)
        messages += len(turns)
        for question, evidence in conversation.questions:
            ranked = [turns[uid] for uid in ask(client, where, question, searching)]
            for k, shares in recall.items():
                shares.append(len(evidence.intersection(ranked[:k])) / len(evidence))
    return {
        "messages": messages,
        "messages_per_s": round(messages / sum(adding)),
        "add_batch_of_10_ms": quantiles(adding),
        "questions": len(searching),
        "questions_per_s": round(len(searching) / sum(searching)),
        "search_ms": quantiles(searching),
        "recall_percent": {f"@{k}": round(100 * mean(shares), 1) for k, shares in recall.items()},
        "parallel": parallel(client),
    }


def parallel(client: Client) -> dict[str, Any]:
    """Batches of 10 and searches a second with 8 clients at once on one project."""
    clients = [client.again() for _ in range(8)]
    where = {"org_id": "bench", "project_id": uuid.uuid4().hex}
    batch = {**where, "messages": [{"content": f"The pump in hall {n} was inspected on Monday."} for n in range(BATCH)]}
    search = {**where, "query": "Which pump was inspected?"}
    return {
        "add_batches_per_s": throughput(clients, 3, lambda c, _: c.post("/api/v2/memories", batch)),
        "searches_per_s": throughput(clients, 3, lambda c, _: c.post("/api/v2/memories/search", search)),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--base-url")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as folder,
        nullcontext(args.base_url) if args.base_url else served(Path(folder)) as base_url,
    ):
        result = run(base_url, args.data)
    print(json.dumps(result, indent=2))
    if args.json:
        args.json.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
