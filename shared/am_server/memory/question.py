"""What a query asks for, seen from the episodes it is asked of."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from am_server.memory import timewords
from am_server.memory.index import Index
from am_server.memory.tokens import content_terms, tokens

MAX_TERMS, MAX_WIDENED = 256, 24
"""A page of text as a query is answered by its first words; more cost time and change little."""


@dataclass(frozen=True, slots=True)
class Question:
    """A query, read."""

    terms: list[str]
    """Distinct terms to look up."""
    meaning: list[str]
    """Distinct content terms that are no names, of people or of months and weekdays: names mislead vectors, which know
    them as ordinary words, or as next to other names."""
    speaker: int
    """The one known speaker that it names, as a number of the index; 0 for none or several."""
    asks_when: bool


def read(query: str, index: Index, names: Collection[str] = ()) -> Question:
    """Read a query. `names` are known names besides those of the speakers, as terms."""
    terms = list(dict.fromkeys(tokens(query)))[:MAX_TERMS]
    known = index.speakers_by_term().keys() | timewords.calendar_terms() | set(names)
    meaning = [term for term in content_terms(query) if term not in known]
    return Question(terms, meaning[:MAX_WIDENED], _named_speaker(set(terms), index), timewords.asks_when(query))


def _named_speaker(terms: set[str], index: Index) -> int:
    """The speaker whose whole name is in the query, else the one whose first name is; 0 unless it is exactly one."""
    known = index.speakers_by_term()
    touched = {number for term in terms for number in known.get(term, ())}
    whole = [number for number in touched if terms.issuperset(index.speaker_terms[number])]
    first = [number for number in touched if index.speaker_terms[number][0] in terms]
    found = whole or first
    return found[0] if len(found) == 1 else 0
