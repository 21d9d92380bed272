"""Packed snapshots of a collection: a small head document, and blocks under the store's document limit.

The head lists the blocks, oldest first, says up to which time they cover the collection, and carries the newest rows
itself, so that most agents' whole snapshot is the head. When the newest rows outgrow it they become a block, which
absorbs the younger blocks that are not much larger than itself: the number of blocks stays logarithmic, as in any
log-structured merge tree. A block also names the documents that are gone, which hides their rows in older blocks.

Whoever folds moves the head by compare-and-set in the same commit that adds and deletes blocks; a loser writes nothing.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, Protocol, TypeVar, cast

import msgpack

from am_server.errors import Unavailable
from am_server.store.metered import concurrently
from am_server.store.port import Document, DocumentStore, Scalar, Write, create, delete, update

Row = Mapping[str, Scalar]
"""The fields of one document that a view reads."""

FORMAT = 1
"""Of heads and blocks; snapshots of another format are made again."""

HEAD_BYTES = 128 * 1024
"""The newest rows stay in the head up to this size."""

BLOCK_BYTES = 900_000
"""The largest block."""

ABSORB = 4
"""A new block absorbs its predecessor when that is at most this many times its size."""

GARBAGE_ROWS = 4_096
"""So many hidden rows, beside as many as there are live ones, are tolerated before all blocks are merged."""

COMMIT_BYTES = 3_000_000
"""Larger sets of new blocks are committed ahead of the head, in several commits."""

T = TypeVar("T")
Rows = TypeVar("Rows")


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of a collection's log: packed live rows, and the ids of documents whose rows in older segments are gone."""

    data: bytes
    gone: Sequence[str] = ()


class Codec(Protocol[Rows]):
    """How a view packs rows; `Rows` is what it packs them from."""

    @property
    def version(self) -> int:
        """Segments of another version are made again from the documents."""
        ...

    def build(self, rows: Mapping[str, Row]) -> Rows:
        """Rows by document id."""
        ...

    def merge(self, older: Rows, newer: Rows, gone: Collection[str]) -> Rows:
        """Both; of the older without what the newer has as well and without the `gone`."""
        ...

    def split(self, rows: Rows) -> tuple[Rows, Rows]:
        """Two halves."""
        ...

    def count(self, rows: Rows) -> int: ...

    def pack(self, rows: Rows) -> bytes: ...

    def unpack(self, data: bytes) -> Rows:
        """What was packed."""
        ...


@dataclass(frozen=True, slots=True)
class Block:
    """What the head knows of a block."""

    id: str
    rows: int
    bytes: int
    sum: str


@dataclass(frozen=True, slots=True)
class Head:
    """The head document as read or written."""

    version: datetime
    """Of the document, for compare-and-set."""
    covered: datetime | None
    """Every change up to here is in the snapshot; None when there is nothing usable in it."""
    blocks: tuple[Block, ...] = ()
    """Oldest first."""
    newest: bytes = b""
    """The newest rows: an encoded segment."""
    doomed: tuple[Block, ...] = ()
    """Blocks that are to be deleted with the next fold."""

    def emptied(self) -> Head:
        """This head with nothing in it: the next fold replaces it and deletes its blocks."""
        return Head(self.version, None, doomed=self.blocks + self.doomed)


@dataclass(frozen=True, slots=True)
class Reading(Generic[T]):
    """A snapshot, and what changed since. A head that is damaged is `emptied`, and `tail` then reaches back for ever."""

    head: Head | None
    segments: Sequence[Segment]
    tail: T


class Snapshots:
    """The snapshots of one collection of one agent, under the collection's name or another."""

    def __init__(self, store: DocumentStore, root: str, collection: str, codec: Codec[Any], name: str | None = None) -> None:
        self._store = store
        self._codec = codec
        self._path = f"{root}/snapshots/{name or collection}"
        self._marker = f"{root}/{collection}/erased"

    def head(self) -> Head | None:
        """The head as it stands; without a usable word in it when it cannot be read. One round trip."""
        document = self._store.get(self._path)
        if document is None:
            return None
        try:
            return _read_head(document, self._codec.version)
        except (KeyError, TypeError, ValueError, AttributeError):
            return Head(document.updated_at, None)

    def read(self, tail: Callable[[datetime | None], T]) -> Reading[T]:
        """The snapshot and what `tail` answers for the time it covers, in two round trips."""
        head = self.head()
        for attempt in range(2):
            if head is None or head.covered is None:
                break
            changes, segments = self._blocks_and_tail(head, tail)
            if segments is not None:
                return Reading(head, segments, changes)
            fresh = self.head() if attempt == 0 else head
            if fresh is not None and fresh.version == head.version:
                head = head.emptied()
            else:
                head = fresh  # somebody folded between our two round trips
        return Reading(head, (), tail(None))

    def _blocks_and_tail(self, head: Head, tail: Callable[[datetime | None], T]) -> tuple[T, list[Segment] | None]:
        def blocks() -> Any:
            return self._segments(head.blocks)

        def changes() -> Any:
            return tail(head.covered)

        segments, found = concurrently(blocks, changes) if head.blocks else ([], changes())
        if segments is not None and head.newest:
            segments = [*segments, _decode(head.newest)]
        return cast(T, found), segments

    def _segments(self, blocks: Sequence[Block]) -> list[Segment] | None:
        """Blocks as segments; None when one of them is missing or damaged."""
        documents = self._store.get_many([self._block_path(block) for block in blocks])
        try:
            return [_read_block(document, block) for document, block in zip(documents, blocks, strict=True)]
        except (KeyError, TypeError, ValueError):
            return None

    def fold(self, head: Head | None, changes: Mapping[str, Row | None], covered: datetime, live: int) -> Head | None:
        """Fold changes into the snapshot that `head`, just read, describes; `live` is how many rows the collection has.

        Returns the new head, or None when a block that had to be merged was found missing or damaged.
        Raises PreconditionFailed when somebody else moved the head; nothing is written then.
        """
        blocks, doomed = (head.blocks, head.doomed) if head else ((), ())
        rows = self._codec.build({id: row for id, row in changes.items() if row is not None})
        gone = frozenset(id for id, row in changes.items() if row is None)
        if head and head.newest:
            rows, gone = self._merged([_decode(head.newest)], rows, gone)
        newest = self._encode(rows, gone if blocks else ())
        absorbed = _absorbed(blocks, len(newest), self._codec.count(rows), live)
        kept = blocks[: len(blocks) - len(absorbed)]
        if not absorbed and len(newest) <= HEAD_BYTES:
            return self._commit(head, covered, kept, newest, [], doomed)
        if absorbed:
            older = self._segments(absorbed)
            if older is None:
                return None
            rows, gone = self._merged(older, rows, gone)
        made = self._cut(rows, gone if kept else ())
        return self._commit(head, covered, (*kept, *(block for block, _ in made)), b"", made, (*absorbed, *doomed))

    def _merged(self, older: Sequence[Segment], rows: Any, gone: frozenset[str]) -> tuple[Any, frozenset[str]]:
        """Segments, oldest first, under newer rows and tombstones."""
        for segment in reversed(older):
            rows = self._codec.merge(self._codec.unpack(segment.data), rows, gone)
            gone |= frozenset(segment.gone)
        return rows, gone

    def _encode(self, rows: Any, gone: Collection[str]) -> bytes:
        return cast(bytes, msgpack.packb([sorted(gone), self._codec.pack(rows)]))

    def _cut(self, rows: Any, gone: Collection[str]) -> list[tuple[Block, bytes]]:
        """Rows as blocks that fit a document; the tombstones go with the first, the oldest."""
        data = self._encode(rows, gone)
        count = self._codec.count(rows)
        if len(data) > BLOCK_BYTES and count > 1:
            first, second = self._codec.split(rows)
            return self._cut(first, gone) + self._cut(second, ())
        return [(Block(secrets.token_hex(8), count, len(data), _sum(data)), data)]

    def _commit(
        self,
        head: Head | None,
        covered: datetime,
        blocks: Sequence[Block],
        newest: bytes,
        made: Sequence[tuple[Block, bytes]],
        doomed: Sequence[Block],
    ) -> Head:
        data = _head_data(self._codec.version, covered, blocks, newest)
        creates = [create(self._block_path(block), {"data": body}) for block, body in made]
        moved = create(self._path, data) if head is None else update(self._path, data, head.version)
        deletes = [delete(self._block_path(block)) for block in doomed]
        if sum(len(body) for _, body in made) <= COMMIT_BYTES:
            result = self._store.commit([*creates, moved, *deletes])
        else:
            result = self._commit_in_parts(creates, [moved, *deletes])
        if head is None:
            self._check_erasure(covered, [self._path, *(write.path for write in creates)])
        return Head(result.time, covered, tuple(blocks), newest)

    def _commit_in_parts(self, creates: Sequence[Write], last: Sequence[Write]) -> Any:
        per_commit = COMMIT_BYTES // BLOCK_BYTES
        try:
            for start in range(0, len(creates), per_commit):
                self._store.commit(creates[start : start + per_commit])
            return self._store.commit(last)
        except Unavailable:
            raise  # the head may have moved all the same, and then lists them; upkeep deletes blocks that no head lists
        except Exception:
            self._store.commit([delete(write.path) for write in creates])
            raise

    def _check_erasure(self, covered: datetime, written: Sequence[str]) -> None:
        """Take back a first snapshot that an erasure has overtaken: its sweep may have passed before the head was there."""
        marker = self._store.get(self._marker)
        if marker is not None and marker.updated_at > covered:
            self._store.commit([delete(path) for path in written])

    def _block_path(self, block: Block) -> str:
        return f"{self._path}-{block.id}"


def _absorbed(blocks: Sequence[Block], size: int, rows: int, live: int) -> tuple[Block, ...]:
    """The youngest blocks that are merged with `rows` new rows of `size` bytes."""
    if sum(block.rows for block in blocks) + rows > 2 * live + GARBAGE_ROWS:
        return tuple(blocks)
    if size <= HEAD_BYTES:
        return ()
    first = len(blocks)
    while first and blocks[first - 1].bytes <= ABSORB * size and size + blocks[first - 1].bytes <= BLOCK_BYTES:
        first -= 1
        size += blocks[first].bytes
    return tuple(blocks[first:])


def _decode(data: bytes) -> Segment:
    gone, packed = msgpack.unpackb(data)
    return Segment(packed, gone)


def _sum(*parts: bytes) -> str:
    digest = hashlib.blake2b(digest_size=12)
    for part in parts:
        digest.update(part)
    return digest.hexdigest()


def _read_block(document: Document | None, block: Block) -> Segment:
    if document is None:
        raise KeyError(block.id)
    data = document.data["data"]
    if not isinstance(data, bytes) or _sum(data) != block.sum:
        raise ValueError("damaged block")
    return _decode(data)


def _head_data(codec_version: int, covered: datetime, blocks: Sequence[Block], newest: bytes) -> dict[str, Scalar]:
    listed = json.dumps([[block.id, block.rows, block.bytes, block.sum] for block in blocks])
    data: dict[str, Any] = {"format": f"{FORMAT}.{codec_version}", "covered": covered, "blocks": listed, "newest": newest}
    return {**data, "sum": _head_sum(data)}


def _head_sum(data: Mapping[str, Any]) -> str:
    return _sum(data["format"].encode(), data["covered"].isoformat().encode(), data["blocks"].encode(), data["newest"])


def _read_head(document: Document, codec_version: int) -> Head:
    data = cast(Any, document.data)
    if _head_sum(data) != data["sum"]:
        raise ValueError("damaged head")
    blocks = tuple(Block(*entry) for entry in json.loads(data["blocks"]))
    head = Head(document.updated_at, data["covered"], blocks, data["newest"])
    return head if data["format"] == f"{FORMAT}.{codec_version}" else head.emptied()
