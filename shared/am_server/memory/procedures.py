"""Which procedure fits a task: by its words, and by how often it worked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from am_server.memory.lexical import idf, length_norm, saturate
from am_server.memory.names import folded
from am_server.memory.tokens import read_tokens, tokens


def success_rate(successes: int, failures: int) -> float:
    """(s + 1) / (s + f + 2): Laplace's rule of succession. Never tried is 0.5."""
    return (successes + 1) / (successes + failures + 2)


@dataclass(frozen=True)
class Procedure:
    """The newest version of a procedure."""

    id: str
    name: str
    version: int
    description: str = ""
    steps: Sequence[Any] = ()
    """Texts, or objects {action, tool?, expected_output?}."""
    tags: Sequence[str] = ()
    preconditions: Sequence[str] = ()
    successes: int = 0
    failures: int = 0

    @cached_property
    def terms(self) -> Mapping[str, float]:
        """Counts of its index terms; those of the name and the tags count twice."""
        counts: Counter[str] = Counter()
        for weight, texts in ((2, [self.name, *self.tags]), (1, [self.description, *self.preconditions, *_texts(self.steps)])):
            for text in texts:
                for token in read_tokens(text, every_character=True):
                    counts[token.term] += weight
        return counts


@dataclass(frozen=True)
class Procedures:
    """All procedures of an agent, by the id of their name."""

    by_name_id: Mapping[str, Procedure] = field(default_factory=dict)

    def nearly(self, name: str) -> str | None:
        """The name of the procedure that folds to the same form."""
        form = folded(name)
        return next((one.name for one in self.by_name_id.values() if folded(one.name) == form), None)

    def match(self, task: str, limit: int) -> list[tuple[Procedure, float]]:
        """The procedures that share words with a task, best first, with their scores.

        The score is the sum over the words of idf times saturated frequency, times 0.5 + the smoothed success rate.
        """
        known = list(self.by_name_id.values())
        scores = np.zeros(len(known), np.float32)
        lengths = np.array([min(sum(one.terms.values()), 65_535) for one in known], np.uint16)
        for term in dict.fromkeys(tokens(task)):
            frequency = np.array([one.terms.get(term, 0) for one in known], np.float32)
            holding = np.flatnonzero(frequency)
            if len(holding):
                frequency = frequency / length_norm(lengths)
                scores[holding] += np.float32(idf(len(holding), len(known))) * saturate(frequency[holding])
        scores *= np.array([0.5 + success_rate(one.successes, one.failures) for one in known], np.float32)
        order = sorted(np.flatnonzero(scores).tolist(), key=lambda number: (-scores[number], known[number].name))
        return [(known[number], float(scores[number])) for number in order[:limit]]


def _texts(value: Any) -> list[str]:
    """Every text inside a step."""
    if isinstance(value, str):
        return [value]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
    return [text for item in inner for text in _texts(item)]
