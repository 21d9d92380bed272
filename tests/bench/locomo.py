"""LoCoMo as a search benchmark: turns become episodes, questions become queries, evidence turns are what should be found.

Maharana et al., "Evaluating Very Long-Term Conversational Memory of LLM Agents" (ACL 2024). The data is CC BY-NC and not
part of this project: https://github.com/snap-research/locomo has it.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import fmean
from typing import Any

RECALL_AT = (5, 10, 12, 20, 50)
KINDS = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}
MEASURES = (*(f"R@{k}" for k in RECALL_AT), "nDCG@10", "MRR")


@dataclass(frozen=True)
class Turn:
    """What one person said."""

    name: str
    text: str
    session: str
    speaker: str
    at: datetime

    @property
    def as_line(self) -> str:
        """The turn as one bare text."""
        return f"{self.at:%Y-%m-%d} {self.speaker}: {self.text}"


@dataclass(frozen=True)
class Question:
    """A question, its kind, and the names of the turns that answer it."""

    text: str
    kind: int
    evidence: frozenset[str]


@dataclass(frozen=True)
class Conversation:
    """Turns in order, and the questions about them."""

    turns: Sequence[Turn]
    questions: Sequence[Question]


def conversations(path: Path) -> Iterator[Conversation]:
    """The conversations of a LoCoMo file. A turn lasts a second; an image counts by its caption."""
    for record in json.loads(path.read_text()):
        turns = list(_turns(record["conversation"]))
        known = {turn.name for turn in turns}
        asked = [Question(q["question"], q["category"], _evidence(q.get("evidence"), known)) for q in record["qa"]]
        yield Conversation(turns, [question for question in asked if question.evidence])


def score(ranked: Sequence[str], evidence: Collection[str]) -> dict[str, float]:
    """The share of the evidence in the first k, nDCG at 10, and the reciprocal rank of the first evidence."""
    hits = [place for place, name in enumerate(ranked) if name in evidence]
    found = {f"R@{k}": sum(hit < k for hit in hits) / len(evidence) for k in RECALL_AT}
    ideal = sum(1 / math.log2(place + 2) for place in range(min(len(evidence), 10)))
    found["nDCG@10"] = sum(1 / math.log2(hit + 2) for hit in hits if hit < 10) / ideal
    found["MRR"] = 1 / (hits[0] + 1) if hits else 0.0
    return found


def means(scores: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Each measure's mean, in percent."""
    return {measure: round(100 * fmean(each[measure] for each in scores), 1) for measure in MEASURES} if scores else {}


def table(title: str, rows: Mapping[str, Mapping[str, float]]) -> str:
    """A table in Markdown."""
    lines = [f"| {title} | " + " | ".join(MEASURES) + " |", "| --- |" + " --: |" * len(MEASURES)]
    lines += [
        f"| {name} | " + " | ".join(f"{row[measure]:.1f}" for measure in MEASURES) + " |" for name, row in rows.items() if row
    ]
    return "\n".join(lines)


def _turns(talk: Mapping[str, Any]) -> Iterator[Turn]:
    number = 1
    while f"session_{number}_date_time" in talk:
        start = datetime.strptime(talk[f"session_{number}_date_time"], "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)
        for second, turn in enumerate(talk.get(f"session_{number}") or []):
            caption = f" [image: {turn['blip_caption']}]" if turn.get("blip_caption") else ""
            at = start + timedelta(seconds=second)
            yield Turn(turn["dia_id"], turn["text"] + caption, f"session_{number}", turn["speaker"], at)
        number += 1


def _evidence(raw: Any, known: Collection[str]) -> frozenset[str]:
    """Some ids are misspelt in the data; those of no turn are dropped."""
    found = (f"D{int(session)}:{int(turn)}" for item in raw or [] for session, turn in re.findall(r"D:?(\d+):(\d+)", str(item)))
    return frozenset(name for name in found if name in known)
