"""The SQLite file behind the embedded store: its tables, and connections that survive threads, forks and failures."""

from __future__ import annotations

import json
import os
import sqlite3
import time
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from threading import Lock

import msgpack

from am_server.store.documents import collection_name
from am_server.store.indexes import EXPIRING, INDEXED
from am_server.store.port import Scalar, StoreUnavailable
from am_server.times import from_datetime

LAYOUT = 1
"""The number of the table layout below, kept in the file as its user_version."""

BUSY_SECONDS = 5.0
"""How long to wait for another process's commit."""

_TABLES = """
CREATE TABLE documents (
    id INTEGER PRIMARY KEY, collection TEXT NOT NULL, name TEXT NOT NULL, updated_at INTEGER NOT NULL, data BLOB NOT NULL,
    UNIQUE (collection, name)
);
CREATE TABLE fields (
    collection TEXT NOT NULL, field TEXT NOT NULL, kind INTEGER NOT NULL, value NOT NULL, name TEXT NOT NULL,
    PRIMARY KEY (collection, field, kind, value, name)
) WITHOUT ROWID;
CREATE TABLE meta (last_commit INTEGER NOT NULL, indexed TEXT NOT NULL);
INSERT INTO meta VALUES (0, '');
"""

IndexRow = tuple[str, str, int, Scalar, str]
"""(collection, field, kind, value, document id). Rows of the collection '' hold when whole paths expire."""

_INSERT_FIELD = "INSERT OR REPLACE INTO fields VALUES (?, ?, ?, ?, ?)"


def encode(data: Mapping[str, Scalar]) -> bytes:
    """A document's fields as msgpack."""
    packed: bytes = msgpack.packb(data, datetime=True)
    return packed


def decode(packed: bytes) -> dict[str, Scalar]:
    """The fields that `encode` packed; times come back as aware datetimes in UTC."""
    data: dict[str, Scalar] = msgpack.unpackb(packed, timestamp=3)
    return data


def sort_key(value: Scalar) -> tuple[int, Scalar]:
    """(kind, value) such that SQLite orders them as Firestore orders values: null, booleans, numbers, times, text, bytes.

    https://firebase.google.com/docs/firestore/manage-data/data-types#value_type_ordering
    """
    if value is None:
        return 0, 0
    if isinstance(value, bool):
        return 1, int(value)
    if isinstance(value, int | float):
        return 2, value
    if isinstance(value, datetime):
        return 3, from_datetime(value)
    return (4, value) if isinstance(value, str) else (5, value)


def index_rows(collection: str, name: str, data: Mapping[str, Scalar]) -> set[IndexRow]:
    """The rows of `fields` that a document has."""
    kind_of_collection = collection_name(collection)
    rows = {(collection, field, *sort_key(data[field]), name) for field in INDEXED.get(kind_of_collection, ()) if field in data}
    expires = data.get(EXPIRING.get(kind_of_collection, ""))
    if isinstance(expires, datetime):
        rows.add(("", "expires", 3, from_datetime(expires), f"{collection}/{name}"))
    return rows


def replace_rows(connection: sqlite3.Connection, before: set[IndexRow], after: set[IndexRow]) -> None:
    """Within a transaction, turn a document's rows of `fields` into others."""
    gone = before - after
    if gone:
        connection.executemany(
            "DELETE FROM fields WHERE collection = ? AND field = ? AND kind = ? AND value = ? AND name = ?", gone
        )
    connection.executemany(_INSERT_FIELD, after - before)


class SqliteFile:
    """Connections to one file. Every process opens its own, at first use; threads borrow them."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._readers: list[sqlite3.Connection] = []
        self._writer: sqlite3.Connection | None = None
        self._lock = Lock()
        # Closing a connection that a fork copied would disturb the parent's file: keep such connections, unused.
        self._inherited: list[object] = []
        this = weakref.WeakMethod(self._forget)
        os.register_at_fork(after_in_child=lambda: (forget := this()) and forget())

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """A connection that nobody else uses meanwhile. Raises StoreUnavailable for whatever goes wrong in the file."""
        with self._errors():
            try:
                connection = self._readers.pop()
            except IndexError:
                connection = self._open()
            try:
                yield connection
            except BaseException:
                connection.close()
                raise
            self._readers.append(connection)

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """A transaction with the only right to write: durable when the block ends, undone when it raises."""
        with self._lock, self._errors():
            connection = self._writer or self._open()
            self._writer = connection
            try:
                connection.execute("BEGIN IMMEDIATE")
                yield connection
                connection.execute("COMMIT")
            except sqlite3.Error:
                self._writer = None
                connection.close()
                raise
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise

    def close(self) -> None:
        with self._lock:
            connections = [*self._readers, *filter(None, [self._writer])]
            self._readers, self._writer = [], None
            for connection in connections:
                connection.close()

    def _forget(self) -> None:
        self._inherited += [*self._readers, self._writer]
        self._readers, self._writer, self._lock = [], None, Lock()

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            raise StoreUnavailable(f"{_advice(error)} ({self._path.name}: {error})") from error

    def _open(self) -> sqlite3.Connection:
        if not self._path.exists():
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._path.touch(mode=0o600)
        connection = sqlite3.connect(self._path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
        try:
            _patiently(lambda: connection.execute("PRAGMA journal_mode = WAL"))
            connection.execute("PRAGMA synchronous = FULL")
            _prepare(connection)
        except BaseException:
            connection.close()
            raise
        return connection


def _patiently(step: Callable[[], object]) -> None:
    """Repeat while the file is locked: SQLite's own busy timeout does not cover the change to write-ahead logging."""
    give_up = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            step()
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > give_up:
                raise
            time.sleep(0.01)


def _prepare(connection: sqlite3.Connection) -> None:
    """Make the tables, and rebuild the index rows when `indexes.py` declares other fields than the file was written with."""
    indexed = json.dumps([INDEXED, EXPIRING], sort_keys=True)
    if _layout(connection) == LAYOUT and connection.execute("SELECT indexed FROM meta").fetchone()[0] == indexed:
        return
    connection.execute("BEGIN IMMEDIATE")
    if _layout(connection) == 0:
        for statement in filter(str.strip, _TABLES.split(";")):
            connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {LAYOUT}")
    connection.execute("DELETE FROM fields")
    for collection, name, data in connection.execute("SELECT collection, name, data FROM documents"):
        connection.executemany(_INSERT_FIELD, index_rows(collection, name, decode(data)))
    connection.execute("UPDATE meta SET indexed = ?", (indexed,))
    connection.execute("COMMIT")


def _layout(connection: sqlite3.Connection) -> int:
    layout: int = connection.execute("PRAGMA user_version").fetchone()[0]
    if layout > LAYOUT:
        raise sqlite3.DatabaseError(f"layout {layout} is of a newer version of am-server")
    return layout


def _advice(error: Exception) -> str:
    if isinstance(error, OSError):
        return "the data file cannot be made; check AM_DATA_DIR and its permissions"
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code == sqlite3.SQLITE_BUSY:
        return "another process keeps the data file locked; try again, or stop that process"
    if code in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR):
        return "the data file cannot be written; free disk space, then try again"
    if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM):
        return "the data file cannot be opened for writing; check AM_DATA_DIR and its permissions"
    if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return "the data file is damaged; put back a copy of it or move it away"
    return "the data file cannot be used"
