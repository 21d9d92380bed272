"""Trying a compare-and-set again."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator

from am_server.errors import Conflict

ATTEMPTS = 12


def attempts(message: str) -> Iterator[int]:
    """Numbers of attempts at a commit that a rival may get ahead of; raises Conflict with this message after the last.

    The pauses in between grow and are random, so that rivals do not meet again.
    """
    for attempt in range(ATTEMPTS):
        if attempt:
            time.sleep(random.uniform(0, 0.01 * 2 ** min(attempt, 6)))  # noqa: S311 - no secret
        yield attempt
    raise Conflict(message)
