"""What is true of documents and commits on every adapter: which are allowed, how large they are, what a write makes of one."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime

from am_server.errors import Invalid
from am_server.store.indexes import COMMIT_TIME, INDEXED
from am_server.store.port import (
    MAX_COMMIT_BYTES,
    MAX_COMMIT_WRITES,
    MAX_DOCUMENT_BYTES,
    Field,
    Increment,
    Scalar,
    ServerTime,
    TooLarge,
    Write,
)

_INT64 = 2**63
_RESERVED = re.compile(r"\.\.?|__.*__", re.DOTALL)
_FIELD_NAME = re.compile(r"(?!__)[A-Za-z_][A-Za-z0-9_]*")
_MAX_ID_BYTES = 1500


def check_commit(writes: Sequence[Write]) -> None:
    """Raise TooLarge, Invalid or ValueError when no adapter could commit this."""
    if len(writes) > MAX_COMMIT_WRITES:
        raise TooLarge(f"one commit takes at most {MAX_COMMIT_WRITES} changes, this one has {len(writes)}; send fewer at once")
    if sum(check_document(write.path, write.data) for write in writes) > MAX_COMMIT_BYTES:
        raise TooLarge(f"one commit takes at most {MAX_COMMIT_BYTES:,} bytes; send less at once")
    for write in writes:
        _check_server_times(write)
        if sum(isinstance(value, Increment) for value in write.data.values()) > 1:
            raise ValueError(f"more than one increment in {write.path}")


def check_document(path: str, data: Mapping[str, Field]) -> int:
    """The bytes a document takes, as Firestore counts them: https://cloud.google.com/firestore/docs/storage-size

    Raises TooLarge, Invalid or ValueError when it cannot be stored.
    """
    size = 48 + _path_size(path)
    for name, value in data.items():
        if not _FIELD_NAME.fullmatch(name):
            raise ValueError(f"not the name of a field: {name!r}")
        size += len(name) + 1 + _value_size(name, value)
    if size > MAX_DOCUMENT_BYTES:
        raise TooLarge(f"this would take {size:,} bytes and at most {MAX_DOCUMENT_BYTES:,} fit; shorten it or split it")
    return size


def check_path(path: str) -> None:
    """Raise ValueError when this is no path of a document."""
    _path_size(path)


def collection_name(collection: str) -> str:
    """The last part of a collection's path, under which `indexes` declares its fields."""
    return collection.rpartition("/")[2]


def apply(write: Write, current: Mapping[str, Scalar] | None, time: datetime) -> tuple[dict[str, Scalar], int | float | None]:
    """The document that a create, set, merge or update leaves, and the new value of the field it increments.

    `current` is the document before, None when absent; `time` is the commit's.
    """
    before: Mapping[str, Scalar] = current or {} if write.op in ("merge", "update") else {}
    after, incremented = dict(before), None
    for name, value in write.data.items():
        if isinstance(value, Increment):
            after[name] = incremented = _add(before.get(name), value.by)
        elif isinstance(value, ServerTime):
            after[name] = time
        else:
            after[name] = value
    return after, incremented


def _check_server_times(write: Write) -> None:
    """Raise RuntimeError unless a server time is in the one field that `indexes.COMMIT_TIME` describes, and is there."""
    declared = COMMIT_TIME in INDEXED.get(collection_name(write.path.rpartition("/")[0]), ())
    if any(isinstance(value, ServerTime) and not (declared and name == COMMIT_TIME) for name, value in write.data.items()):
        raise RuntimeError(f"a server time belongs into '{COMMIT_TIME}' of a collection that declares it: {write.path}")
    if declared and write.op != "delete" and not isinstance(write.data.get(COMMIT_TIME), ServerTime):
        raise RuntimeError(f"a write to this collection sets '{COMMIT_TIME}' to SERVER_TIME: {write.path}")


def _add(current: Scalar, by: int | float) -> int | float:
    """Firestore's increment: a field that holds no number counts as 0, and integers stop at the ends of 64 bits."""
    if isinstance(current, bool) or not isinstance(current, int | float):
        return by
    total = current + by
    return total if isinstance(total, float) else max(-_INT64, min(_INT64 - 1, total))


def _path_size(path: str) -> int:
    parts = path.split("/")
    if len(parts) % 2:
        raise ValueError(f"not the path of a document: {path!r}")
    size = 0
    for part in parts:
        part_size = _text_size("id", part)
        if part_size == 1 or part_size > _MAX_ID_BYTES + 1 or _RESERVED.fullmatch(part):
            raise ValueError(f"not the path of a document: {path!r}")
        size += part_size
    return size


def _value_size(name: str, value: Field) -> int:
    if isinstance(value, str):
        return _text_size(name, value)
    if value is None or isinstance(value, bool):
        return 1
    if isinstance(value, int):
        if not -_INT64 <= value < _INT64:
            raise Invalid(name, "the number does not fit 64 bits")
        return 8
    if isinstance(value, float):
        if value != value:
            raise Invalid(name, "expected a number")
        return 8
    if isinstance(value, bytes):
        return len(value)
    if isinstance(value, datetime):
        if value.tzinfo is None:
            raise ValueError(f"{name} is a time without a zone")
        return 8
    if isinstance(value, Increment | ServerTime):
        return 8
    raise ValueError(f"{name} is a {type(value).__name__}, which no document holds")


def _text_size(name: str, text: str) -> int:
    if text.isascii():
        return len(text) + 1
    try:
        return len(text.encode()) + 1
    except UnicodeEncodeError:
        raise Invalid(name, "the text holds half of a surrogate pair, which is not Unicode") from None
