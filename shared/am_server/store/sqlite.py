"""The embedded document store: one SQLite file, shared by threads and processes, durable at every acknowledged commit."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any

from am_server.store.documents import apply, check_commit, check_document, check_path
from am_server.store.indexes import COMMIT_TIME
from am_server.store.port import (
    AlreadyExists,
    Changed,
    Changes,
    CommitResult,
    Document,
    Missing,
    Query,
    Scalar,
    StoreUnavailable,
    Where,
    Write,
)
from am_server.store.queries import field_of, ordered_by_id
from am_server.store.sqlite_file import SqliteFile, decode, encode, index_rows, replace_rows, sort_key
from am_server.times import from_datetime, to_datetime

_SWEEP_SECONDS = 600.0
_SWEEP_DOCUMENTS = 500


class SqliteStore:
    """The `DocumentStore` that needs nothing but Python. `path` is the file; it and its folder are made when absent."""

    def __init__(self, path: Path) -> None:
        self._file = SqliteFile(path)
        self._next_sweep = 0.0

    def get(self, path: str) -> Document | None:
        return self.get_many([path])[0]

    def get_many(self, paths: Sequence[str]) -> list[Document | None]:
        for path in paths:
            check_path(path)
        with self._file.reading() as connection:
            if len(paths) == 1:
                return [_get(connection, paths[0])]
            connection.execute("BEGIN")
            found = [_get(connection, path) for path in paths]
            connection.execute("COMMIT")
            return found

    def query(self, query: Query) -> list[Document]:
        with self._file.reading() as connection:
            return _documents(connection, query)

    def changes(self, collection: str, since: datetime | None, select: Sequence[str] | None = None) -> Changes:
        where = [] if since is None else [Where(COMMIT_TIME, ">", since)]
        query = Query(collection, where, COMMIT_TIME, select=select)
        with self._file.reading() as connection:
            connection.execute("BEGIN")
            until = connection.execute("SELECT last_commit FROM meta").fetchone()[0]
            documents = _documents(connection, query)
            connection.execute("COMMIT")
        return Changes(documents, to_datetime(until))

    def count(self, query: Query) -> int:
        sql, values = _select(query, None)
        with self._file.reading() as connection:
            total: int = connection.execute(f"SELECT count(*) FROM ({sql})", values).fetchone()[0]  # noqa: S608
        return total

    def commit(self, writes: Sequence[Write]) -> CommitResult:
        check_commit(writes)
        with self._file.writing() as connection:
            micros = _next_commit_time(connection)
            increments = [_write(connection, write, micros) for write in writes]
        self._sweep_sometimes()
        return CommitResult(to_datetime(micros), increments)

    def delete_tree(self, path: str) -> int:
        collection, name = _split(path)
        below = "collection = ? OR collection > ? AND collection < ? OR collection = ? AND name = ?"
        bounds = (path, path + "/", path + "0", collection, name)  # "0" is the character after "/"
        with self._file.writing() as connection:
            _next_commit_time(connection)
            doomed = connection.execute(f"SELECT collection, name, data FROM documents WHERE {below}", bounds).fetchall()  # noqa: S608
            for row in doomed:
                _remove(connection, *row)
        return len(doomed)

    def close(self) -> None:
        self._file.close()

    def _sweep_sometimes(self) -> None:
        """Remove expired documents now and then, on the back of a commit, as Firestore's time-to-live would."""
        now = time.monotonic()
        if now < self._next_sweep:
            return
        self._next_sweep = now + _SWEEP_SECONDS
        with suppress(StoreUnavailable), self._file.writing() as connection:  # the commit before it is done in any case
            micros = _next_commit_time(connection)
            expired = connection.execute(
                "SELECT name FROM fields WHERE collection = '' AND field = 'expires' AND kind = 3 AND value < ? LIMIT ?",
                (micros, _SWEEP_DOCUMENTS),
            ).fetchall()
            for (path,) in expired:
                collection, name = _split(path)
                found = _row(connection, collection, name)
                if found:
                    _remove(connection, collection, name, found[1])


def _split(path: str) -> tuple[str, str]:
    collection, _, name = path.rpartition("/")
    return collection, name


def _row(connection: sqlite3.Connection, collection: str, name: str) -> tuple[int, bytes] | None:
    """(updated_at in microseconds, packed data) of a document."""
    found: tuple[int, bytes] | None = connection.execute(
        "SELECT updated_at, data FROM documents WHERE collection = ? AND name = ?", (collection, name)
    ).fetchone()
    return found


def _get(connection: sqlite3.Connection, path: str) -> Document | None:
    found = _row(connection, *_split(path))
    return Document(path, decode(found[1]), to_datetime(found[0])) if found else None


def _documents(connection: sqlite3.Connection, query: Query) -> list[Document]:
    wants_data = query.select is None or len(query.select) > 0
    sql, values = _select(query, "d.name, d.updated_at, d.data" if wants_data else "d.name, d.updated_at, NULL")
    return [
        Document(f"{query.collection}/{name}", _only(query.select, decode(data)) if wants_data else {}, to_datetime(updated))
        for name, updated, data in connection.execute(sql, values)
    ]


def _next_commit_time(connection: sqlite3.Connection) -> int:
    """Within a transaction: its time in microseconds, later than that of every commit before it, by any process."""
    micros: int = connection.execute(
        "UPDATE meta SET last_commit = max(last_commit + 1, ?) RETURNING last_commit", (time.time_ns() // 1000,)
    ).fetchone()[0]
    return micros


def _write(connection: sqlite3.Connection, write: Write, micros: int) -> int | float | None:
    """Do one write of a commit; the new value of the field it increments."""
    collection, name = _split(write.path)
    found = _row(connection, collection, name)
    _check_precondition(write, found[0] if found else None)
    before = decode(found[1]) if found else None
    if write.op == "delete":
        if found:
            _remove(connection, collection, name, found[1])
        return None
    after, incremented = apply(write, before, to_datetime(micros))
    if before:
        check_document(write.path, after)
    connection.execute(
        "INSERT INTO documents (collection, name, updated_at, data) VALUES (?, ?, ?, ?) "
        "ON CONFLICT DO UPDATE SET updated_at = excluded.updated_at, data = excluded.data",
        (collection, name, micros, encode(after)),
    )
    replace_rows(connection, index_rows(collection, name, before or {}), index_rows(collection, name, after))
    return incremented


def _check_precondition(write: Write, updated_at: int | None) -> None:
    if updated_at is None:
        if write.op == "update" or write.unchanged_since is not None:
            raise Missing(write.path)
    elif write.op == "create":
        raise AlreadyExists(write.path)
    elif write.unchanged_since is not None and from_datetime(write.unchanged_since) != updated_at:
        raise Changed(write.path)


def _remove(connection: sqlite3.Connection, collection: str, name: str, data: bytes) -> None:
    replace_rows(connection, index_rows(collection, name, decode(data)), set())
    connection.execute("DELETE FROM documents WHERE collection = ? AND name = ?", (collection, name))


def _select(query: Query, columns: str | None) -> tuple[str, list[Any]]:
    """SQL for a query, with its values; without columns, for counting its rows.

    CROSS JOIN makes SQLite walk the index rows in order and look each document up.
    """
    field = field_of(query)
    if field is None:
        sql, name = f"SELECT {columns or 1} FROM documents d WHERE d.collection = ?", "d.name"  # noqa: S608
        values: list[Any] = [query.collection]
    else:
        join = "CROSS JOIN documents d ON d.collection = f.collection AND d.name = f.name" if columns else ""
        sql, name = f"SELECT {columns or 1} FROM fields f {join} WHERE f.collection = ? AND f.field = ?", "f.name"  # noqa: S608
        values = [query.collection, field]
    for condition in query.where:
        sql += f" AND f.kind = ? AND f.value {condition.op} ?"
        values += sort_key(condition.value)
    order = (name,) if field is None or ordered_by_id(query) else ("f.kind", "f.value", name)
    if query.after is not None:
        value, name_after = query.after
        sql += f" AND ({', '.join(order)}) {'<' if query.descending else '>'} ({', '.join('?' * len(order))})"
        values += [name_after] if len(order) == 1 else [*sort_key(value), name_after]
    direction = " DESC" if query.descending else ""
    sql += " ORDER BY " + ", ".join(column + direction for column in order)
    if query.limit is not None:
        sql += " LIMIT ?"
        values.append(query.limit)
    return sql, values


def _only(select: Sequence[str] | None, data: dict[str, Scalar]) -> dict[str, Scalar]:
    return data if select is None else {name: data[name] for name in select if name in data}
