"""Synthetic conversations: English words as often as they are in English, the same ones every time."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from itertools import accumulate, islice
from pathlib import Path
from typing import Any

SPEAKERS = ("Alice", "Bruno", "Chiara", "Dmitri", "Elif", "Farid", "Greta", "Hugo")
TURNS = 20
"""Turns of a session."""

FIRST_MOMENT = 1_735_689_600_000_000
"""2025-01-01T00:00:00Z, in microseconds; a turn every minute from then on."""

MINUTE = 60_000_000


@dataclass(frozen=True, slots=True)
class Turn:
    """One episode."""

    content: str
    session: str
    speaker: str
    valid_at: int

    @property
    def metadata(self) -> dict[str, Any]:
        return {"session_id": self.session, "speaker": self.speaker}


@cache
def vocabulary() -> tuple[list[str], list[float]]:
    """Words, and the running sum of their frequencies by Zipf's law; the words are whole pieces of the built-in word table."""
    package = find_spec("wordllama")
    assert package is not None, "wordllama is not installed"
    assert package.submodule_search_locations
    file = Path(package.submodule_search_locations[0]) / "tokenizers" / "l2_supercat_tokenizer_config.json"
    pieces = json.loads(file.read_text())["model"]["vocab"]
    words = sorted(piece[1:] for piece in pieces if re.fullmatch("\u2581[a-z]{4,}", piece))
    random.Random(1).shuffle(words)
    return words, list(accumulate(1 / (rank + 5) for rank in range(len(words))))


def turns(seed: int = 0) -> Iterator[Turn]:
    """Turns without end, of some 20 words each."""
    draw, number = random.Random(seed), 0
    words, sums = vocabulary()
    while True:
        text = " ".join(draw.choices(words, cum_weights=sums, k=draw.randint(8, 32)))
        session, speaker = f"session-{seed}-{number // TURNS}", draw.choice(SPEAKERS)
        yield Turn(text.capitalize() + ".", session, speaker, FIRST_MOMENT + number * MINUTE)
        number += 1


def some_turns(count: int, seed: int = 0) -> list[Turn]:
    return list(islice(turns(seed), count))


def question(turn: Turn, draw: random.Random) -> str:
    """A question that this turn answers: its rarer words, in a sentence."""
    words, _ = vocabulary()
    rank = {word: number for number, word in enumerate(words)}
    rare = sorted(set(turn.content.lower().rstrip(".").split()), key=lambda word: -rank.get(word, 0))[:6]
    return f"What did {turn.speaker} say about {' and '.join(draw.sample(rare, min(3, len(rare))))}?"
