"""Queries by commit time on Firestore, where the stored field is a little earlier than the commit.

A server time is evaluated when a commit arrives. It may become visible after another one that arrived later, so a reader
that asks for what is stored as later than the last change it saw would miss it for ever. Two facts help: the server tells
each document's true commit time beside its fields, and an acknowledged commit took at most COMMIT_SECONDS. So we ask for
everything stored since that long before, and keep what was committed in the range.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from am_server.store.firestore_wire import COMMIT_SECONDS
from am_server.store.indexes import COMMIT_TIME
from am_server.store.port import Document, Query, Where

LATENESS = timedelta(seconds=COMMIT_SECONDS + 1)
"""How much earlier than its commit a stored time may be."""

_SKEW = timedelta(milliseconds=50)
"""How much later it may be, because two machines' clocks differ."""

_EARLIEST = datetime(1970, 1, 1, tzinfo=UTC)

_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def by_stored_time(query: Query) -> Query:
    """A query whose answer holds that of a query by commit time."""
    where = [bound for condition in query.where for bound in _bounds(condition.op, condition.value)]
    return Query(query.collection, where, COMMIT_TIME, select=query.select)


def only_committed(query: Query, found: Sequence[Document]) -> list[Document]:
    """Of what `by_stored_time` found, what the query by commit time asked for, in its order."""
    wanted = (
        document
        for document in found
        if all(_COMPARE[condition.op](document.updated_at, condition.value) for condition in query.where)
    )
    return sorted(wanted, key=lambda document: (document.updated_at, document.id))


def known_until(since: datetime | None, found: Sequence[Document], read_at: datetime) -> datetime:
    """Up to where a reader knows the log who asked for what came after `since` and found this, as of `read_at`.

    What was committed well before `read_at` is known even when nothing was found: without that, the last commits before
    a pause would be read again with every query.
    """
    moments = [read_at - LATENESS, *(document.updated_at for document in found)]
    return max(moments if since is None else [since, *moments])


def _bounds(op: str, value: Any) -> list[Where]:
    """Conditions on the stored time that hold whenever the one on the commit time does."""
    bounds = []
    if op in ("==", ">", ">="):
        bounds.append(Where(COMMIT_TIME, ">=", max(value, _EARLIEST) - LATENESS))
    if op in ("==", "<", "<="):
        bounds.append(Where(COMMIT_TIME, "<=", value + _SKEW))
    return bounds
