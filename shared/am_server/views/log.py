"""A collection read as a log: rows by document id, exactly current after one query.

Every write to a viewed collection sets `changed_at` to its commit's time. A view that has seen everything up to `T`
therefore asks one question, *what changed after T*, applies the answer and is current. What is older than the tail
lies in packed snapshots (`snapshots.py`), so that a cold instance reads a handful of documents instead of all of them;
whoever reads and finds the tail long folds it into them. The collection stays the truth: a snapshot that is gone,
damaged or written by another version is made again from the documents.

What the rows mean is a `Model`'s business. A view of another collection is one more model:

    class Names:                                      # state: frozenset of the names of all live rows
        collection, fields, codec = "graph", ("name",), RowCodec(version=1)
        def load(self, segments): return frozenset(row["name"] for row in newest_rows(segments, self.codec).values())
        def apply(self, state, changes): ...
        def rows(self, state): return len(state)
        def size(self, state): return 100 * len(state)

    names = LogView(store, f"agents/{uid}", Names()).current()
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from threading import Lock, RLock
from typing import Any, Generic, Protocol, TypeVar

from am_server.store.port import DocumentStore, PreconditionFailed
from am_server.views.snapshots import Codec, Head, Reading, Row, Segment, Snapshots

ERASED = "erased"
"""Id of the marker that erasure leaves in a viewed collection: rows that are not newer than it are gone."""

FOLD_ROWS = 128
"""A warm view folds a tail of this many rows."""

FOLD_ROWS_COLD = 32
"""A cold view folds a shorter one: it has just paid for reading it, and the next cold instance would pay again."""

UNFOLDED_BYTES = 1_000
"""About what a row that is not in a snapshot yet takes in memory."""

State = TypeVar("State")


class Model(Protocol[State]):
    """What a view makes of a collection's rows.

    A state is read by other threads while it is applied to: `apply` returns a changed copy, or the state has a lock.
    """

    @property
    def collection(self) -> str: ...

    @property
    def fields(self) -> Sequence[str]:
        """The fields to read, besides `deleted_at`."""
        ...

    @property
    def codec(self) -> Codec[Any]: ...

    def load(self, segments: Sequence[Segment]) -> State:
        """The state of these segments, oldest first; a row or a tombstone in a later one replaces an earlier row.

        Raises ValueError for a segment that cannot be read; the documents are read instead.
        """
        ...

    def apply(self, state: State, changes: Mapping[str, Row | None]) -> State:
        """The state after these changes: a new or newer row by document id, or None where the row is gone."""
        ...

    def rows(self, state: State) -> int:
        """How many live rows there are."""
        ...

    def size(self, state: State) -> int:
        """About how many bytes it holds in memory."""
        ...


@dataclass(frozen=True, slots=True)
class Tail:
    """The changes of a collection after some moment."""

    changes: Mapping[str, tuple[datetime, Row | None]]
    """The last change of each document id in the order of time, and when; None for a tombstone."""
    erased_at: datetime | None
    """When everything older was erased, if it was; `changes` then holds newer ones only."""
    until: datetime
    """Every change up to here is known after this."""


def read_tail(store: DocumentStore, path: str, fields: Sequence[str], since: datetime | None) -> Tail:
    """What changed in the collection at `path` after `since` (None: ever), asked in one query."""
    changes: dict[str, tuple[datetime, Row | None]] = {}
    erased_at = None
    found = store.changes(path, since, ["deleted_at", *fields])
    for document in found.documents:
        if document.id == ERASED:
            erased_at, changes = document.updated_at, {}
            continue
        gone = document.data.get("deleted_at") is not None
        row = None if gone else {name: document.data[name] for name in fields if name in document.data}
        changes[document.id] = (document.updated_at, row)
    return Tail(changes, erased_at, found.until)


@dataclass(slots=True)
class _Known(Generic[State]):
    """What an instance knows of a collection."""

    state: State
    until: datetime | None
    """Every change up to here is in `state`."""
    base: datetime | None
    """The changes after this are in `unfolded`; None when all of them are."""
    complete: bool
    """Whether `unfolded` holds every live row, because there was no usable snapshot or everything older was erased."""
    unfolded: dict[str, tuple[datetime, Row | None]] = field(default_factory=dict)
    """The last change of each document that may not be in the snapshot."""


class LogView(Generic[State]):
    """One collection of one agent in the memory of this instance. Safe under threads."""

    def __init__(self, store: DocumentStore, root: str, model: Model[State], snapshots: str | None = None) -> None:
        """`root` is the agent's path, `agents/{uid}`; `snapshots` names them where a collection has more than one view."""
        self._store = store
        self._model = model
        self._path = f"{root}/{model.collection}"
        self._snapshots = Snapshots(store, root, model.collection, model.codec, snapshots)
        self._known: _Known[State] | None = None
        self._lock = RLock()
        self._fold_lock = Lock()

    def current(self) -> State:
        """The state with every change that was acknowledged before this call. One round trip when warm."""
        with self._lock:
            known = self._known
            if known is None:
                # Under the lock, so that one thread loads and the others wait for it instead of loading as well.
                return self._load()
            since = known.until
        tail = self._tail(since)
        with self._lock:
            _advance(self._model, known, tail)
            state, due = known.state, len(known.unfolded) >= FOLD_ROWS
        if due:
            self._try_to_fold(known, self._snapshots.head)
        return state

    def drop(self, ids: Sequence[str]) -> None:
        """Take out rows whose documents turned out to be gone without a trace; the next fold takes them out for others too."""
        with self._lock:
            known = self._known
            if known is not None and known.until is not None:
                known.state = self._model.apply(known.state, dict.fromkeys(ids))
                later = known.until + timedelta(microseconds=1)  # than any snapshot that is known
                known.unfolded.update(dict.fromkeys(ids, (later, None)))

    def reload(self) -> None:
        """Begin anew with the next read."""
        with self._lock:
            self._known = None

    @property
    def size(self) -> int:
        """About how many bytes the view holds in memory."""
        known = self._known
        return 0 if known is None else self._model.size(known.state) + UNFOLDED_BYTES * len(known.unfolded)

    def _tail(self, since: datetime | None) -> Tail:
        return read_tail(self._store, self._path, self._model.fields, since)

    def _load(self) -> State:
        reading = self._snapshots.read(self._tail)
        try:
            state = self._model.load(reading.segments)
        except ValueError:
            reading, state = Reading(reading.head and reading.head.emptied(), (), self._tail(None)), self._model.load(())
        head = reading.head
        covered = None if head is None else head.covered
        known = _Known(state, covered, covered, complete=covered is None)
        _advance(self._model, known, reading.tail)
        self._known = known
        useless = head is not None and known.complete
        if len(known.unfolded) >= FOLD_ROWS_COLD or useless:
            self._try_to_fold(known, lambda: head)
        return known.state

    def _try_to_fold(self, known: _Known[State], read_head: Callable[[], Head | None]) -> None:
        """Fold the tail. Never fails and never waits: a read that cannot fold leaves it to a later one."""
        if not self._fold_lock.acquire(blocking=False):
            return
        try:
            self._fold(known, read_head())
        except PreconditionFailed:
            pass  # somebody else folded
        except Exception as problem:
            name = type(problem).__name__
            logging.getLogger("am_server").warning("a snapshot of %s was not written: %s", self._model.collection, name)
        finally:
            self._fold_lock.release()

    def _fold(self, known: _Known[State], head: Head | None) -> None:
        with self._lock:
            if not _follow(known, head):
                self._forget(known)
                return
            covered, live, folded = known.until, self._model.rows(known.state), dict(known.unfolded)
            if head is not None and known.complete:
                head = head.emptied()
        if covered is None or not _worthwhile(head, covered, len(folded)):
            return
        written = self._snapshots.fold(head, {id: row for id, (_, row) in folded.items()}, covered, live)
        with self._lock:
            if written is None:
                self._forget(known)
            elif known.base is None or known.base <= covered:
                known.base, known.complete = covered, False
                known.unfolded = {id: change for id, change in known.unfolded.items() if change[0] > covered}

    def _forget(self, known: _Known[State]) -> None:
        """Load anew at the next read."""
        if self._known is known:
            self._known = None


def _advance(model: Model[State], known: _Known[State], tail: Tail) -> None:
    """Bring `known` up to date; changes that another thread applied meanwhile are left out."""
    if known.until is not None and tail.until <= known.until:
        return
    new = {id: change for id, change in tail.changes.items() if known.until is None or change[0] > known.until}
    if tail.erased_at is not None and (known.until is None or tail.erased_at > known.until):
        known.state = model.load(())
        known.unfolded.clear()
        known.base, known.complete = tail.erased_at, True
    if new:
        known.state = model.apply(known.state, {id: row for id, (_, row) in new.items()})
        known.unfolded.update(new)
    known.until = tail.until


def _follow(known: _Known[State], head: Head | None) -> bool:
    """Continue from the head as it is now, whoever wrote it. False when what lies between it and `known` is unknown."""
    covered = None if head is None else head.covered
    if covered is None or (known.base is not None and covered < known.base):
        return known.complete
    known.unfolded = {id: change for id, change in known.unfolded.items() if change[0] > covered}
    known.base, known.complete = covered, False
    return True


def _worthwhile(head: Head | None, covered: datetime, rows: int) -> bool:
    """Whether to fold so many rows up to `covered` into a head, which may have been moved by somebody else just now."""
    if head is None or head.covered is None:
        return True
    return head.covered <= covered and rows >= FOLD_ROWS_COLD
