"""Every spelling of a time that MemMachine's clients send, as microseconds since 1970."""

from __future__ import annotations

import math
from datetime import UTC, datetime

from am_server import times

FIRST_MILLISECOND = 10**12
"""Numbers from here on are milliseconds, smaller ones seconds (as seconds this one would be the year 33658)."""


def read(written: object) -> int:
    """ISO 8601 text (without a zone it is UTC), or seconds or milliseconds since 1970.

    Raises ValueError with a reason for anything else, booleans included, and outside the years 1 to 9999.
    """
    if isinstance(written, bool) or not isinstance(written, str | int | float):
        raise ValueError("expected ISO 8601 text or a number of seconds or milliseconds since 1970")
    return _text(written) if isinstance(written, str) else _number(written)


def _text(written: str) -> int:
    try:
        if written.isdecimal():  # a compact date alone would be taken for a number by most readers
            raise ValueError
        moment = datetime.fromisoformat(written)
    except ValueError:
        raise ValueError("expected ISO 8601 such as 2024-01-02T03:04:05Z; a number of seconds is sent without quotes") from None
    return times.from_datetime(moment if moment.tzinfo else moment.replace(tzinfo=UTC))


def _number(written: int | float) -> int:
    if isinstance(written, float) and not math.isfinite(written):
        raise ValueError("expected a finite number")
    unit = 1000 if written >= FIRST_MILLISECOND else times.SECOND
    micros = round(written * unit) if abs(written) < 2**63 else written
    times.to_datetime(int(micros))
    return int(micros)
