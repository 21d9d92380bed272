"""Recall on LoCoMo, on plain documents, and the speed of search.

    python -m tests.bench.recall --data locomo10.json            in process: other methods and ours in one table
    python -m tests.bench.recall --data locomo10.json --http     through a started service (--base-url for a running one)
    python -m tests.bench.recall --cranfield FOLDER              documents without sessions or speakers
    python -m tests.bench.recall --speed                         time and memory at 1,000, 10,000 and 100,000 episodes

`tests/bench/locomo.py` and `tests/bench/cranfield.py` say where the data comes from. Main figure: categories 1 to 4.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from am_server.times import from_datetime

from infra.serving import served
from tests.bench.client import Client, quantiles
from tests.bench.cranfield import cranfield
from tests.bench.locomo import KINDS, Conversation, conversations, means, score, table
from tests.bench.rankers import DEPTH, Document, best, installed_encoder, ours, plain
from tests.bench.recall_speed import speed

ADVERSARIAL = 5
Rows = dict[str, list[tuple[int, dict[str, float]]]]
"""For each method the kind of every question and how it did."""


def bare(conversation: Conversation) -> list[Document]:
    """The turns as texts that tell date and speaker: all that a method without metadata can use."""
    return [Document(turn.as_line, from_datetime(turn.at)) for turn in conversation.turns]


def known(conversation: Conversation) -> list[Document]:
    """The turns with their metadata."""
    return [Document(turn.text, from_datetime(turn.at), turn.session, turn.speaker) for turn in conversation.turns]


def in_process(talks: Sequence[Conversation]) -> Rows:
    """Every method on every question. Plain methods get the turns as bare lines; ours get metadata, and bare lines too."""
    rows: Rows = defaultdict(list)
    encoder = installed_encoder()
    for talk in talks:
        rankers = plain(bare(talk), encoder) | ours(known(talk), encoder)
        rankers |= {f"{name}, bare lines": rank for name, rank in ours(bare(talk)).items()}
        for name, rank in rankers.items():
            for question in talk.questions:
                ranked = [talk.turns[number].name for number in best(rank(question.text))]
                rows[name].append((question.kind, score(ranked, question.evidence)))
    return rows


def over_http(talks: Sequence[Conversation], base_url: str) -> tuple[Rows, dict[str, dict[str, float]]]:
    """The default search of a service, without its dense side, and over bare lines; and how long its calls took."""
    rows: Rows = defaultdict(list)
    seconds: dict[str, list[float]] = defaultdict(list)
    for text_only in (False, True):
        for talk in talks:
            client = Client(base_url)
            names = dict(_stored(client, talk, text_only, seconds["store, handler"]))
            for label, arguments in (("hybrid", {}), ("lexical", {"use_hybrid": False})):
                method = f"{label}, bare lines" if text_only else label
                for question in talk.questions:
                    answer = client.call("memory_search_episodes", query=question.text, limit=DEPTH, **arguments)
                    seconds[f"{label}, handler"].append(client.handler_ms() / 1000)
                    ranked = [names[result["episode"]["id"]] for result in answer["results"]]
                    rows[method].append((question.kind, score(ranked, question.evidence)))
    return rows, {name: quantiles(times) for name, times in seconds.items()}


def _stored(client: Client, talk: Conversation, text_only: bool, seconds: list[float]) -> Iterator[tuple[str, str]]:
    """Store the turns; yields the id of each episode and the turn's name."""
    for turn in talk.turns:
        metadata = {"session_id": turn.session, "speaker": turn.speaker}
        told = {"content": turn.as_line} if text_only else {"content": turn.text, "metadata": metadata}
        stored = client.call("memory_store_episode", **told, valid_at=turn.at.isoformat())
        seconds.append(client.handler_ms() / 1000)
        yield stored["id"], turn.name


def summary(rows: Rows) -> dict[str, dict[str, float]]:
    """Categories 1 to 4, in percent."""
    return {name: means([found for kind, found in scores if kind != ADVERSARIAL]) for name, scores in rows.items()}


def by_kind(scores: Sequence[tuple[int, dict[str, float]]]) -> dict[str, dict[str, float]]:
    """One method's figures for each kind of question."""
    return {label: means([found for each, found in scores if each == kind]) for kind, label in KINDS.items()}


def documents(folder: Path) -> dict[str, dict[str, float]]:
    """Every method on Cranfield."""
    texts, queries = cranfield(folder)
    names, encoder = list(texts), installed_encoder()
    abstracts = [Document(text) for text in texts.values()]
    return {
        method: means([score([names[number] for number in best(rank(query))], relevant) for query, relevant in queries])
        for method, rank in (plain(abstracts, encoder) | ours(abstracts, encoder)).items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--http", action="store_true")
    parser.add_argument("--base-url")
    parser.add_argument("--embedder", default="static", help="of the service that --http starts")
    parser.add_argument("--cranfield", type=Path)
    parser.add_argument("--speed", action="store_true")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    result: dict[str, Any] = {}
    talks = list(conversations(args.data)) if args.data else []
    if talks and not (args.http or args.base_url):
        rows = in_process(talks)
        result["LoCoMo"] = summary(rows)
        result["LoCoMo, default, by kind"] = by_kind(rows["ours C: B + pooled word vectors (default)"])
    elif talks:
        with tempfile.TemporaryDirectory() as folder:
            service = nullcontext(args.base_url) if args.base_url else served(Path(folder), {"AM_EMBEDDER": args.embedder})
            with service as base_url:
                rows, times = over_http(talks, base_url)
        result["LoCoMo, over HTTP"] = summary(rows)
        print(json.dumps({"milliseconds": times}, indent=2))
    if args.cranfield:
        result["Cranfield"] = documents(args.cranfield)
    for title, figures in result.items():
        print(f"\n{table(title, figures)}")
    if args.speed:
        speed()
    if args.json:
        args.json.write_text(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
