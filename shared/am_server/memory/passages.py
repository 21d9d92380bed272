"""The passage of a text that answers a query."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from am_server.memory.tokens import read_tokens, tokens

_PIECE = re.compile(r"\S{1,24}")
"""Pieces to look at: words, and stretches of scripts that have no blanks between words."""

_BEGIN = re.compile(r"""(?:^|\n+|[.!?…]["'”’)\]]*\s+|[。！？｡][」』”’）]*)(?=\S)""")


def passage(text: str, query: str, most: int) -> str:
    """At most `most` characters of the text: those that hold most of the query's words, rare ones first; else its head."""
    if len(text) <= most:
        return text
    found = _matches(text, query)
    if not found:
        return _cut(text, 0, most)
    frequency = Counter(term for _, _, terms in found for term in terms)
    start, end = _best_window(found, {term: 1 / count for term, count in frequency.items()}, most)
    earliest = max(0, min(start, end - most))
    begins = [begin.end() for begin in _BEGIN.finditer(text, max(0, earliest - 3), start + 1) if earliest <= begin.end() <= start]
    return _cut(text, begins[-1] if begins else start, most)


def _matches(text: str, query: str) -> list[tuple[int, int, set[str]]]:
    """Where pieces of the text hold terms of the query: begin, end, and which terms."""
    wanted = set(tokens(query))
    found = []
    for piece in _PIECE.finditer(text):
        terms = wanted.intersection(token.term for token in read_tokens(piece[0], every_character=True))
        if terms:
            found.append((piece.start(), piece.end(), terms))
    return found


def _best_window(found: Sequence[tuple[int, int, set[str]]], weights: dict[str, float], most: int) -> tuple[int, int]:
    """Begin and end of the stretch of at most `most` characters whose distinct terms weigh most; the shortest such."""
    inside: Counter[str] = Counter()
    best, best_key, last = (0, 0), (0.0, 0), 0
    for start, _, terms in found:
        while last < len(found) and (found[last][1] <= start + most or found[last][0] == start):
            inside.update(found[last][2])
            last += 1
        end = _needed(found, last, +inside)
        key = (round(sum(weights[term] for term in +inside), 9), start - end)
        if key > best_key or best == (0, 0):
            best, best_key = (start, end), key
        inside.subtract(terms)
    return best


def _needed(found: Sequence[tuple[int, int, set[str]]], last: int, inside: Counter[str]) -> int:
    """The end of the last match before `last` that adds a term to those before it."""
    spare = Counter(inside)
    while last and all(spare[term] > 1 for term in found[last - 1][2]):
        last -= 1
        spare.subtract(found[last][2])
    return found[last - 1][1]


def _cut(text: str, start: int, most: int) -> str:
    """At most `most` characters from `start`, ending with a whole word where that costs little."""
    piece = text[start : start + most]
    if start + most < len(text) and not text[start + most].isspace():
        blank = max(piece.rfind(" "), piece.rfind("\n"))
        if blank > most // 2:
            piece = piece[:blank]
    return piece.strip()
