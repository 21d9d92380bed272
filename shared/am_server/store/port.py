"""The document store as the service sees it: Firestore's semantics, without Firestore.

Documents are flat maps at paths such as `agents/{uid}/episodes/{id}`; a collection is the path without its last part.
A commit is atomic. A query is strongly consistent: it sees every commit that was acknowledged before it began.
Only fields that `indexes.INDEXED` declares for a collection can be queried, on every adapter.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, Protocol

from am_server.errors import AmError, Unavailable

Scalar = None | bool | int | float | str | bytes | datetime
"""A field's value. Integers fit 64 bits; datetimes are aware; lists and maps travel as JSON text in a string."""

MAX_DOCUMENT_BYTES = 1_000_000
"""The largest document any adapter takes (Firestore's own limit is 1,048,576 bytes with names and overhead)."""

MAX_COMMIT_BYTES = 9_000_000
"""The most that the documents of one commit may take together (Firestore's own limit is 10 MiB a request)."""

MAX_COMMIT_WRITES = 5_000
"""The most writes in one commit, for what must become visible at once; bulk work is quicker in commits of a few hundred."""


@dataclass(frozen=True, slots=True)
class Increment:
    """A transform: add to the number in this field, or start from 0. At most one a document and commit."""

    by: int | float


class ServerTime:
    """A transform: this field becomes the commit's time. Only for the field that `indexes.COMMIT_TIME` names."""

    __slots__ = ()


SERVER_TIME = ServerTime()

Field = Scalar | Increment | ServerTime


@dataclass(frozen=True, slots=True)
class Document:
    """A document as read."""

    path: str
    data: Mapping[str, Scalar]
    updated_at: datetime
    """The time of the commit that last changed it; the value that `unchanged_since` compares."""

    @property
    def id(self) -> str:
        """The last part of the path."""
        return self.path.rpartition("/")[2]


@dataclass(frozen=True, slots=True)
class Write:
    """One change within a commit; made by the functions below."""

    op: Literal["create", "set", "merge", "update", "delete"]
    path: str
    data: Mapping[str, Field] = field(default_factory=dict)
    unchanged_since: datetime | None = None


def create(path: str, data: Mapping[str, Field]) -> Write:
    """A new document; the commit fails with AlreadyExists when there is one."""
    return Write("create", path, data)


def put(path: str, data: Mapping[str, Field]) -> Write:
    """The whole document, new or replaced."""
    return Write("set", path, data)


def merge(path: str, data: Mapping[str, Field]) -> Write:
    """These fields of a document, which is made when absent; other fields stay."""
    return Write("merge", path, data)


def update(path: str, data: Mapping[str, Field], unchanged_since: datetime | None = None) -> Write:
    """These fields of an existing document; Missing when absent, Changed when committed to after `unchanged_since`."""
    return Write("update", path, data, unchanged_since)


def delete(path: str, unchanged_since: datetime | None = None) -> Write:
    """No document here any more; with `unchanged_since`, Changed (or Missing) when it is not that version."""
    return Write("delete", path, {}, unchanged_since)


@dataclass(frozen=True, slots=True)
class CommitResult:
    """What a commit did."""

    time: datetime
    increments: Sequence[int | float | None]
    """For each write in order: the new value of its incremented field, or None."""


@dataclass(frozen=True, slots=True)
class Where:
    """A condition on one indexed field."""

    field: str
    op: Literal["==", "<", "<=", ">", ">="]
    value: Scalar


@dataclass(frozen=True, slots=True)
class Query:
    """Documents of one collection.

    Conditions and order concern one indexed field (Firestore needs no composite index then). Without `order_by` the
    order is that field if a condition is a range, and the document id otherwise, which is never descending. Ties are
    broken by the document id in the same direction. `after` is the position of the last document of the page before:
    (value of the ordered field, document id). A query by `indexes.COMMIT_TIME` is answered whole and ascending.
    """

    collection: str
    where: Sequence[Where] = ()
    order_by: str | None = None
    descending: bool = False
    limit: int | None = None
    after: tuple[Scalar, str] | None = None
    select: Sequence[str] | None = None
    """Only these fields; the cost is the same, the bytes are fewer. An empty sequence gives the ids alone."""


@dataclass(frozen=True, slots=True)
class Changes:
    """What a collection's log says after some moment."""

    documents: Sequence[Document]
    """In the order of their commits."""
    until: datetime
    """Every commit up to here has been told, now or before: the moment from which to ask next."""


class DocumentStore(Protocol):
    """What every adapter offers. Safe under threads."""

    def get(self, path: str) -> Document | None: ...

    def get_many(self, paths: Sequence[str]) -> list[Document | None]:
        """In the order of the paths, in one round trip."""
        ...

    def query(self, query: Query) -> list[Document]: ...

    def count(self, query: Query) -> int: ...

    def changes(self, collection: str, since: datetime | None, select: Sequence[str] | None = None) -> Changes:
        """The documents of a collection that were committed after `since` (None: ever), as they are now.

        For collections with `changed_at`. Whoever asks again from the `until` of the answer misses no acknowledged commit,
        and on a quiet collection reads nothing twice.
        """
        ...

    def commit(self, writes: Sequence[Write]) -> CommitResult:
        """All of the writes or none. Never retried by the adapter: an increment could count twice.

        Raises AlreadyExists, Missing, Changed, TooLarge; Unavailable when the store cannot be reached, in which case
        the commit may or may not have been applied.
        """
        ...

    def delete_tree(self, path: str) -> int:
        """Every document at or below a path (a document or a collection). Returns how many there were."""
        ...

    def close(self) -> None: ...


class PreconditionFailed(AmError):
    """A commit's condition did not hold; nothing was written. `path` is the document concerned."""

    code, type, status = -32006, "conflict", 409

    def __init__(self, path: str) -> None:
        super().__init__("the document changed at the same time; try again")
        self.path = path


class AlreadyExists(PreconditionFailed):
    """`create` found a document."""


class Missing(PreconditionFailed):
    """`update` found none."""


class Changed(PreconditionFailed):
    """The document was committed to after `unchanged_since`."""


class TooLarge(AmError):
    """A document exceeds MAX_DOCUMENT_BYTES, or a commit MAX_COMMIT_WRITES or MAX_COMMIT_BYTES."""

    code, type, status = -32004, "validation_error", 413


class StoreUnavailable(Unavailable):
    """The store did not answer in time."""
