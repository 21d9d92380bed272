"""Time expressions in plain English: whether a text has one, and which dates the relative ones mean.

"Yesterday" in an episode of 8 May 2023 is 7 May 2023; indexed under that date it answers a question that names it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date, timedelta
from functools import cache

from am_server import times
from am_server.memory.tokens import MONTHS, stems

_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_NUMBERS = {
    word: n
    for n, word in enumerate("zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen".split())
} | {"a": 1, "an": 1, "couple of": 2, "a couple of": 2, "a few": 3, "few": 3, "several": 4}
_COUNT = "|".join(["\\d{1,3}", *sorted(_NUMBERS, key=len, reverse=True)])
_DAY = "|".join(_WEEKDAYS)
_UNIT = "day|night|week|weekend|month|year"

_RELATIVE = re.compile(
    rf"\b(?:(?P<near>yesterday|today|tonight|tomorrow|this morning|this afternoon|this evening|last night)"
    rf"|(?P<count>{_COUNT}) (?P<unit>{_UNIT})s? (?P<way>ago|back|earlier|before|from now|later)"
    rf"|(?P<step>last|past|previous|next|this|coming) (?P<what>weekend|week|month|year|{_DAY}|{'|'.join(MONTHS)})"
    rf"|on (?P<on>{_DAY}))\b"
)
_CLEAR_MONTHS = "|".join(month for month in MONTHS if month not in ("may", "march"))
_ABSOLUTE = re.compile(
    rf"\b(?:{_DAY}|{_CLEAR_MONTHS}|(?:in|last|next|this|\d+(?:st|nd|rd|th)?|of) (?:may|march)"
    r"|(?:may|march) \d+|(?:19|20)\d\d|\d{1,2}(?::\d\d)? ?[ap]\.?m|noon|midnight|o'clock"
    r"|(?:\d+|a|an|one|two|three|four|five|six|several|few|many) (?:minute|hour|day|week|month|year|decade)s?"
    r"|(?:last|next|this|past) (?:spring|summer|autumn|fall|winter|night|morning|evening|time)"
    r"|recently|lately|the other day|earlier)\b"
)
_WHEN = re.compile(
    r"^\W*(?:(?:and|but|so|since|until|by) )?when\b"
    r"|\bwhen (?:did|do|does|is|are|was|were|will|would|has|have|had|can|could|should)\b"
    r"|\b(?:tell me|know|remember|exactly) when\b|\b(?:what|which) (?:date|day|month|year|time|week|season)\b"
    r"|\bhow (?:long ago|recently)\b"
)


def has_time(text: str) -> bool:
    """Whether a text says when something happens, in absolute or in relative words."""
    text = text.lower()
    return bool(_RELATIVE.search(text) or _ABSOLUTE.search(text))


def asks_when(text: str) -> bool:
    """Whether a question asks for a time."""
    return bool(_WHEN.search(text.lower()))


@cache
def calendar_terms() -> frozenset[str]:
    """The index terms of months and weekdays: near in meaning to each other, and each a different time."""
    return frozenset(stems((*MONTHS, *_WEEKDAYS)))


def date_terms(valid_at: int) -> list[str]:
    """The index terms of a day (microseconds since 1970): day of the month, month name, year."""
    day = _day(valid_at)
    return _terms(day.day, day.month, day.year)


def meant_terms(text: str, valid_at: int) -> list[str]:
    """The index terms of the dates that a text's relative expressions mean, seen from `valid_at`."""
    today = _day(valid_at)
    found: list[str] = []
    for match in _RELATIVE.finditer(text.lower()):
        try:
            found += _meant(match, today)
        except (OverflowError, ValueError):
            continue  # "900 years ago" in the year 800
    return found


def _day(valid_at: int) -> date:
    return times.to_datetime(valid_at).date()


def _terms(day: int | None, month: int | None, year: int) -> list[str]:
    words = ([str(day)] if day else []) + ([_month_stems()[month - 1]] if month else [])
    return [*words, str(year)]


@cache
def _month_stems() -> list[str]:
    return stems(MONTHS)


def _whole(day: date) -> list[str]:
    return _terms(day.day, day.month, day.year)


def _meant(match: re.Match[str], today: date) -> list[str]:
    if match["near"]:
        shift = {"yesterday": -1, "last night": -1, "tomorrow": 1}.get(match["near"], 0)
        return _whole(today + timedelta(days=shift))
    if match["on"]:
        return _whole(_weekday(today, match["on"], -1))
    if match["count"]:
        count = _NUMBERS.get(match["count"]) or int(match["count"])
        return _counted(today, -count if match["way"] in ("ago", "back", "earlier", "before") else count, match["unit"])
    sign = {"next": 1, "coming": 1, "this": 0}.get(match["step"], -1)
    if match["what"] in _WEEKDAYS:
        return _whole(_weekday(today, match["what"], sign))
    if match["what"] in MONTHS:
        month = MONTHS.index(match["what"]) + 1
        later = month > today.month if sign < 0 else month < today.month
        return _terms(None, month, today.year + (sign if later else 0))
    return _counted(today, sign, match["what"])


def _weekday(today: date, name: str, sign: int) -> date:
    """The nearest such day before (-1), after (1), or on or after (0) today."""
    ahead = (_WEEKDAYS.index(name) - today.weekday()) % 7
    if sign < 0:
        return today - timedelta(days=(7 - ahead) % 7 or 7)
    return today + timedelta(days=ahead or (7 if sign else 0))


def _counted(today: date, count: int, unit: str) -> list[str]:
    if unit in ("day", "night"):
        return _whole(today + timedelta(days=count))
    if unit == "year":
        return _terms(None, None, today.year + count)
    if unit == "month":
        months = today.year * 12 + today.month - 1 + count
        return _terms(None, months % 12 + 1, months // 12)
    if unit == "week":
        day = today + timedelta(weeks=count)
        return _terms(None, day.month, day.year)
    saturday = _weekday(today, "saturday", 0) + timedelta(weeks=count)
    return [term for day in _weekend(saturday) for term in _whole(day)]


def _weekend(saturday: date) -> Iterator[date]:
    yield saturday
    yield saturday + timedelta(days=1)
