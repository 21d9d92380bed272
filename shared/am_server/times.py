"""Time as the service keeps it: whole microseconds since 1970 in UTC.

Integers compare, subtract and sort without a time zone in sight; text and `datetime` appear only where a caller or
the document store asks for them.
"""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime, timedelta
from threading import Lock

SECOND = 1_000_000
DAY = 86_400 * SECOND

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_RFC3339 = re.compile(r"\d{4}-\d\d-\d\d(?:[Tt ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:[Zz]|[+-]\d\d:?\d\d)?)?", re.ASCII)


def parse(text: str) -> int:
    """Microseconds since 1970 for an RFC 3339 time; a date alone is its midnight, a time without a zone is UTC.

    Raises ValueError when the text is no such time or lies outside the years 1 to 9999.
    """
    text = text.strip()
    if not _RFC3339.fullmatch(text):
        raise ValueError("expected an RFC 3339 time such as 2026-03-01T10:00:00Z")
    fraction = re.search(r"\.(\d+)", text)
    if fraction and len(fraction[1]) > 6:
        text = text.replace(fraction[0], "." + fraction[1][:6])
    try:
        moment = datetime.fromisoformat(text.upper())
        return from_datetime(moment if moment.tzinfo else moment.replace(tzinfo=UTC))
    except OverflowError:
        raise ValueError("the time lies outside the years 1 to 9999") from None


def show(micros: int) -> str:
    """RFC 3339 in UTC with a `Z`; the fraction is left out when it is zero."""
    return (_EPOCH + timedelta(microseconds=micros)).isoformat().replace("+00:00", "Z")


def from_datetime(moment: datetime) -> int:
    """Microseconds since 1970 of an aware datetime. Raises ValueError when UTC would leave the years 1 to 9999."""
    micros = (moment - _EPOCH) // timedelta(microseconds=1)
    to_datetime(micros)
    return micros


def to_datetime(micros: int) -> datetime:
    """The aware datetime in UTC. Raises ValueError outside the years 1 to 9999."""
    try:
        return _EPOCH + timedelta(microseconds=micros)
    except OverflowError:
        raise ValueError("the time lies outside the years 1 to 9999") from None


class Clock:
    """Wall time that never repeats and never runs backwards within one process."""

    def __init__(self) -> None:
        self._last = 0
        self._lock = Lock()

    def now(self) -> int:
        """Microseconds since 1970, larger than any answer before."""
        with self._lock:
            self._last = max(self._last + 1, time.time_ns() // 1000)
            return self._last
