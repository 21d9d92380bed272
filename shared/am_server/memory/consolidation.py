"""What becomes of old episodes, without a model: which belong together, and what of them is kept in few sentences."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from am_server.memory.statements import sentences
from am_server.memory.tokens import tokens
from am_server.times import to_datetime

SIMILAR = 0.25
"""The cosine from which an episode belongs to a group of others that are in no session."""

MOST_TOGETHER = 40
"""A longer session becomes several groups."""

SUMMARY_CHARS = 2_000
SENTENCE_CHARS = 400
"""The longest summary, and the longest sentence that is taken into one."""

FIRST_SENTENCES, FIRST_CHARS = 25, 2_000
"""How much of an episode is read for a summary, and how much to tell what it is like: a long text says early what it is about."""


@dataclass(frozen=True, slots=True)
class Old:
    """An old episode, all chunks of it."""

    text: str
    valid_at: int
    """Microseconds since 1970."""
    session: str = ""
    speaker: str = ""
    faint: bool = True
    """Whether its trail has faded, so that it may go."""


def groups(episodes: Sequence[Old]) -> list[list[int]]:
    """Positions of episodes that belong together, each at most once: of one session, else alike, else of one month.

    A group has two members at least, one of them faint, in the order of time.
    """
    by_session: dict[str, list[int]] = defaultdict(list)
    for number in sorted(range(len(episodes)), key=lambda number: (episodes[number].valid_at, number)):
        by_session[episodes[number].session].append(number)
    alone = by_session.pop("", [])
    found = [part for members in by_session.values() for part in _parts(members)]
    alone += [number for part in found if len(part) == 1 for number in part]
    alike = _alike(episodes, sorted(alone, key=lambda number: (episodes[number].valid_at, number)))
    months: dict[tuple[int, int], list[int]] = defaultdict(list)
    for [number] in (group for group in alike if len(group) == 1):
        day = to_datetime(episodes[number].valid_at)
        months[day.year, day.month].append(number)
    found += [part for group in (*(group for group in alike if len(group) > 1), *months.values()) for part in _parts(group)]
    return [group for group in found if len(group) > 1 and any(episodes[number].faint for number in group)]


def summary(episodes: Sequence[Old]) -> str:
    """The sentences that say most of what the episodes say, in their order, with their speakers; SUMMARY_CHARS at most.

    Greedy coverage: each sentence is worth the terms that no chosen one has yet, by how often the episodes use them
    (in the manner of Lin and Bilmes, "A class of submodular functions for document summarization", ACL 2011).
    """
    lines = list(dict.fromkeys(line for episode in episodes for line in _lines(episode)))
    terms = [frozenset(tokens(line)) for line in lines]
    weights = {term: math.log1p(count) for term, count in Counter(term for each in terms for term in each).items()}
    chosen: set[int] = set()
    covered: set[str] = set()
    room = SUMMARY_CHARS
    while True:
        best, best_value = -1, 0.0
        for number, line in enumerate(lines):
            if number not in chosen and len(line) < room:
                value = sum(weights[term] for term in terms[number] - covered) / (20 + len(line))
                if value > best_value:
                    best, best_value = number, value
        if best < 0:
            return "\n".join(lines[number] for number in sorted(chosen))
        chosen.add(best)
        covered |= terms[best]
        room -= len(lines[best]) + 1


def _lines(episode: Old) -> Iterable[str]:
    for sentence in sentences(episode.text)[:FIRST_SENTENCES] or [episode.text.strip()]:
        text = sentence if len(sentence) <= SENTENCE_CHARS else sentence[: SENTENCE_CHARS - 1].rstrip() + "…"
        yield f"{episode.speaker}: {text}" if episode.speaker else text


def _parts(members: Sequence[int]) -> list[list[int]]:
    """Members in order, in parts of like size that are not too large."""
    count = -(-len(members) // MOST_TOGETHER)
    return [list(members[len(members) * part // count : len(members) * (part + 1) // count]) for part in range(count)]


def _alike(episodes: Sequence[Old], numbers: Sequence[int]) -> list[list[int]]:
    """Leader clustering (Hartigan, 1975) over TF-IDF vectors: each joins the most similar group so far, or begins one."""
    counts = {number: Counter(tokens(episodes[number].text[:FIRST_CHARS])) for number in numbers}
    holding = Counter(term for each in counts.values() for term in each)
    found: list[_Group] = []
    for number in numbers:
        weights = {term: (1 + math.log(n)) * math.log(1 + len(numbers) / holding[term]) for term, n in counts[number].items()}
        vector = _unit(weights)
        likeness, best = max(((group.cosine(vector), place) for place, group in enumerate(found)), default=(0.0, -1))
        if likeness >= SIMILAR:
            found[best].add(number, vector)
        else:
            found.append(_Group([number], vector))
    return [group.members for group in found]


class _Group:
    """Episodes that are alike, and the sum of their vectors."""

    def __init__(self, members: list[int], total: dict[str, float]) -> None:
        self.members, self._total, self._norm = members, total, 1.0

    def cosine(self, unit: Mapping[str, float]) -> float:
        return sum(value * self._total.get(term, 0.0) for term, value in unit.items()) / self._norm

    def add(self, member: int, unit: Mapping[str, float]) -> None:
        self.members.append(member)
        for term, value in unit.items():
            self._total[term] = self._total.get(term, 0.0) + value
        self._norm = _norm(self._total)


def _unit(vector: Mapping[str, float]) -> dict[str, float]:
    norm = _norm(vector)
    return {term: value / norm for term, value in vector.items()}


def _norm(vector: Mapping[str, float]) -> float:
    return math.sqrt(sum(value * value for value in vector.values())) or 1.0
