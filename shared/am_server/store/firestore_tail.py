"""Queries by commit time on Firestore, where the stored field is a little earlier than the commit.

A server time is evaluated when a commit arrives. It may become visible after another one that arrived later, so a reader
that asks for what is stored as later than the last change it saw would miss it for ever. Two facts help: the server tells
each document's true commit time beside its fields, and an acknowledged commit took at most COMMIT_SECONDS. So we ask for
everything stored since that long before, and keep what was committed in the range.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from am_server.store.firestore_values import from_timestamp, to_document
from am_server.store.firestore_wire import COMMIT_SECONDS
from am_server.store.indexes import COMMIT_TIME
from am_server.store.port import Document, Query, Where

LATENESS = timedelta(seconds=COMMIT_SECONDS + 1)
"""How much earlier than its commit a stored time may be."""

_SKEW = timedelta(milliseconds=50)
"""How much later it may be, because two machines' clocks differ."""

_EXTRA = 100
"""Documents to ask for beyond a limit: of the last ones of a page we cannot know yet whether others come before them."""

_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def find(query: Query, root: str, ask: Callable[[Query], list[Any]]) -> list[Document]:
    """The documents of a query by commit time, in its order. `ask` answers a query by stored time with messages."""
    asked = _by_stored_time(query)
    found: dict[str, Document] = {}
    while True:
        page = ask(asked)
        for message in page:
            document = to_document(message, root)
            found[document.path] = document
        wanted = sorted((one for one in found.values() if _matches(query, one)), key=lambda one: (one.updated_at, one.id))
        if asked.limit is None or query.limit is None or len(page) < asked.limit:
            break
        last = page[-1].fields[COMMIT_TIME].timestamp_value
        sure = sum(one.updated_at <= from_timestamp(last) - _SKEW for one in wanted)
        if sure >= query.limit:
            break
        asked = replace(asked, after=(from_timestamp(last), page[-1].name.rpartition("/")[2]))
    return [_selected(query, document) for document in wanted[: query.limit]]


def _by_stored_time(query: Query) -> Query:
    where = [bound for condition in query.where for bound in _bounds(condition.op, condition.value)]
    if query.after is not None:
        where += _bounds(">=", query.after[0])
    limit = None if query.limit is None else query.limit + _EXTRA
    select = None if query.select is None else [*query.select, COMMIT_TIME]
    return Query(query.collection, where, COMMIT_TIME, limit=limit, select=select)


def _bounds(op: str, value: Any) -> list[Where]:
    """Conditions on the stored time that hold whenever the one on the commit time does."""
    bounds = []
    if op in ("==", ">", ">="):
        bounds.append(Where(COMMIT_TIME, ">=", max(value, _EARLIEST) - LATENESS))
    if op in ("==", "<", "<="):
        bounds.append(Where(COMMIT_TIME, "<=", value + _SKEW))
    return bounds


_EARLIEST = datetime.fromisoformat("1970-01-02T00:00:00+00:00")


def _matches(query: Query, document: Document) -> bool:
    if not all(_COMPARE[condition.op](document.updated_at, condition.value) for condition in query.where):
        return False
    return query.after is None or (document.updated_at, document.id) > query.after


def _selected(query: Query, document: Document) -> Document:
    if query.select is None or COMMIT_TIME in query.select:
        return document
    return replace(document, data={name: value for name, value in document.data.items() if name != COMMIT_TIME})
