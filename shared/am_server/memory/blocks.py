"""A block: an immutable index over a stretch of episodes, small enough for one document.

Its bytes are derived from the episodes and may be lost or damaged at any time; a checksum tells, and whoever reads
builds it again.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, TypeVar

import msgpack
import numpy as np
from numpy.typing import NDArray

from am_server.memory.postings import Postings, compact, invert, join
from am_server.memory.terms import Terms

_MAGIC = b"AMB1"
_MAX_LENGTH = 65_535

Name = TypeVar("Name", str, bytes)


@dataclass(frozen=True, slots=True)
class Row:
    """An episode as the index sees it."""

    id: bytes
    """16 bytes."""
    terms: Terms
    valid_at: int
    stored_at: int
    """Microseconds since 1970, both."""
    trail: float = 0.0
    group: bytes = b""
    """16 bytes that the chunks of one text share; empty for an episode that is no chunk."""


@dataclass(frozen=True, slots=True)
class Columns:
    """What is known of each of n episodes. Names are numbers into the tables of whoever holds the columns; 0 is none."""

    ids: NDArray[np.uint8]
    """uint8[n, 16]."""
    valid_at: NDArray[np.int64]
    stored_at: NDArray[np.int64]
    trail: NDArray[np.float64]
    length: NDArray[np.uint16]
    flags: NDArray[np.uint8]
    session: NDArray[np.uint32]
    speaker: NDArray[np.uint32]
    group: NDArray[np.uint32]

    def take(self, which: Any) -> Columns:
        """The same for some of the episodes: a slice, a mask or numbers."""
        return Columns(*(getattr(self, f.name)[which] for f in fields(self)))


COLUMN_TYPES: dict[str, np.dtype[Any]] = {
    "ids": np.dtype("u1"), "valid_at": np.dtype("<i8"), "stored_at": np.dtype("<i8"), "trail": np.dtype("<f8"),
    "length": np.dtype("<u2"), "flags": np.dtype("u1"), "session": np.dtype("<u4"), "speaker": np.dtype("<u4"),
    "group": np.dtype("<u4"),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Block:
    """Columns, inverted lists over them, and the names that the columns number."""

    columns: Columns
    postings: Postings
    sessions: Sequence[str]
    """Names of sessions; the first is "" and stands for none."""
    speakers: Sequence[str]
    groups: NDArray[np.uint8]
    """uint8[g, 16]; the first is zeros and stands for none."""

    @property
    def count(self) -> int:
        """How many episodes."""
        return len(self.columns.valid_at)

    @property
    def ids(self) -> NDArray[np.uint8]:
        """uint8[n, 16]."""
        return self.columns.ids

    @property
    def nbytes(self) -> int:
        """Bytes in memory, about."""
        columns: int = sum(getattr(self.columns, f.name).nbytes for f in fields(self.columns))
        names = sum(len(name) for name in (*self.sessions, *self.speakers))
        return columns + names + self.groups.nbytes + self.postings.nbytes

    def to_bytes(self) -> bytes:
        """The block for storage: checksum, then compressed little-endian arrays."""
        p, c = self.postings, self.columns
        gaps = np.diff(p.ordinals.astype(np.uint32), prepend=np.uint32(0)).astype(np.uint32)  # wraps where a new term begins
        parts = {name: np.ascontiguousarray(getattr(c, name), kind).tobytes() for name, kind in COLUMN_TYPES.items()}
        parts |= {
            "hashes": p.hashes.astype("<u8").tobytes(),
            "sizes": np.diff(p.offsets).astype("<u4").tobytes(),
            "gaps": _planes(gaps),
            "counts": p.counts.tobytes(),
            "words": p.words,
            "sessions": "\n".join(self.sessions).encode(),
            "speakers": "\n".join(self.speakers).encode(),
            "groups": self.groups.tobytes(),
        }
        body = zlib.compress(msgpack.packb(parts), 3)
        return _MAGIC + zlib.crc32(body).to_bytes(4, "little") + body

    @staticmethod
    def from_bytes(data: bytes) -> Block:
        """The block that `to_bytes` wrote. Raises ValueError when the bytes are damaged or something else."""
        body = data[8:]
        if data[:4] != _MAGIC or zlib.crc32(body).to_bytes(4, "little") != data[4:8]:
            raise ValueError("these bytes are no block, or are damaged")
        parts: dict[str, bytes] = msgpack.unpackb(zlib.decompress(body), max_bin_len=1 << 30)
        columns = {name: np.frombuffer(parts[name], kind) for name, kind in COLUMN_TYPES.items()}
        columns["ids"] = columns["ids"].reshape(-1, 16)
        sizes = np.frombuffer(parts["sizes"], "<u4")
        postings = Postings(
            hashes=np.frombuffer(parts["hashes"], "<u8"),
            offsets=np.concatenate([[0], np.cumsum(sizes)]).astype(np.uint32),
            ordinals=compact(np.cumsum(_from_planes(parts["gaps"]), dtype=np.uint32)),
            counts=np.frombuffer(parts["counts"], "u1"),
            words=parts["words"],
        )
        sessions, speakers = (parts[name].decode().split("\n") for name in ("sessions", "speakers"))
        return Block(Columns(**columns), postings, sessions, speakers, np.frombuffer(parts["groups"], "u1").reshape(-1, 16))


def build(rows: Sequence[Row]) -> Block:
    """A block over these episodes, in this order."""
    sessions, speakers, groups = {"": 0}, {"": 0}, {b"\0" * 16: 0}
    columns = Columns(
        ids=np.frombuffer(b"".join(row.id for row in rows), np.uint8).reshape(-1, 16),
        valid_at=np.array([row.valid_at for row in rows], np.int64),
        stored_at=np.array([row.stored_at for row in rows], np.int64),
        trail=np.array([row.trail for row in rows], np.float64),
        length=np.array([min(row.terms.length, _MAX_LENGTH) for row in rows], np.uint16),
        flags=np.array([row.terms.flags for row in rows], np.uint8),
        session=np.array([sessions.setdefault(_line(row.terms.session), len(sessions)) for row in rows], np.uint32),
        speaker=np.array([speakers.setdefault(_line(row.terms.speaker), len(speakers)) for row in rows], np.uint32),
        group=np.array([groups.setdefault(row.group, len(groups)) if row.group else 0 for row in rows], np.uint32),
    )
    group_ids = np.frombuffer(b"".join(groups), np.uint8).reshape(-1, 16)
    return Block(columns, invert([row.terms for row in rows]), list(sessions), list(speakers), group_ids)


def merge(blocks: Sequence[Block], alive: Sequence[NDArray[np.bool_] | None] | None = None) -> Block:
    """One block out of several, older first. `alive[i]` is a mask of the episodes of block i to keep; None keeps all."""
    masks = [
        np.ones(block.count, np.bool_) if m is None else m for block, m in zip(blocks, alive or [None] * len(blocks), strict=True)
    ]
    renumber, start = [], 0
    for mask in masks:
        renumber.append(np.where(mask, np.cumsum(mask) - 1 + start, -1))
        start += int(mask.sum())
    kept = [block.columns.take(mask) for block, mask in zip(blocks, masks, strict=True)]
    session, sessions = _unify([c.session for c in kept], [b.sessions for b in blocks])
    speaker, speakers = _unify([c.speaker for c in kept], [b.speakers for b in blocks])
    group, groups = _unify([c.group for c in kept], [[g.tobytes() for g in b.groups] for b in blocks])
    plain = ("ids", "valid_at", "stored_at", "trail", "length", "flags")
    columns = Columns(
        **{name: np.concatenate([getattr(c, name) for c in kept]) for name in plain},
        session=session,
        speaker=speaker,
        group=group,
    )
    postings = join([block.postings for block in blocks], renumber)
    return Block(columns, postings, sessions, speakers, np.frombuffer(b"".join(groups), np.uint8).reshape(-1, 16))


def _unify(columns: Sequence[NDArray[np.uint32]], names: Sequence[Sequence[Name]]) -> tuple[NDArray[np.uint32], list[Name]]:
    """Columns numbered by tables of their own, renumbered into one table of the names in use."""
    table: dict[Name, int] = {names[0][0]: 0}
    unified = []
    for column, own in zip(columns, names, strict=True):
        new = np.zeros(len(own), np.uint32)
        for number in np.unique(column).tolist():
            new[number] = table.setdefault(own[number], len(table))
        unified.append(new[column])
    return np.concatenate(unified), list(table)


def _line(name: str) -> str:
    return name.replace("\n", " ")


def _planes(numbers: NDArray[np.uint32]) -> bytes:
    """The bytes of the numbers, all first bytes first: small numbers compress better that way."""
    return np.ascontiguousarray(numbers.astype("<u4").view(np.uint8).reshape(-1, 4).T).tobytes()


def _from_planes(data: bytes) -> NDArray[np.uint32]:
    return np.ascontiguousarray(np.frombuffer(data, np.uint8).reshape(4, -1).T).view("<u4").ravel()
