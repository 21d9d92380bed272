"""The episode index as a view: documents in, blocks kept, one `Index` in memory."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Mapping, Sequence
from threading import RLock
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from am_server.memory import blocks
from am_server.memory.blocks import Block
from am_server.memory.index import Index
from am_server.memory.terms import Terms, unpack_terms
from am_server.views.contents import Contents
from am_server.views.meaning import Encoded, Pooled
from am_server.views.snapshots import Row, Segment

_NOTHING = Terms({}, frozenset())


def id_bytes(id: str) -> bytes:
    """The 16 bytes of a UUID's text."""
    return uuid.UUID(id).bytes


def id_text(id: bytes) -> str:
    """The text of a UUID's 16 bytes."""
    return str(uuid.UUID(bytes=id))


class EpisodeCodec:
    """Episodes as the blocks that the index searches as they lie."""

    version = 1

    def build(self, rows: Mapping[str, Row]) -> Block:
        return block_of(rows)

    def merge(self, older: Block, newer: Block, gone: Collection[str]) -> Block:
        hidden = {row.tobytes() for row in newer.ids}.union(map(id_bytes, gone))
        alive = np.array([row.tobytes() not in hidden for row in older.ids], np.bool_)
        return blocks.merge([older, newer], [alive, None])

    def split(self, rows: Block) -> tuple[Block, Block]:
        first: NDArray[np.bool_] = np.arange(rows.count) < rows.count // 2
        return blocks.merge([rows], [first]), blocks.merge([rows], [~first])

    def count(self, rows: Block) -> int:
        return rows.count

    def pack(self, rows: Block) -> bytes:
        return rows.to_bytes()

    def unpack(self, data: bytes) -> Block:
        return Block.from_bytes(data)


def block_of(rows: Mapping[str, Row]) -> Block:
    """A block of episodes' rows, in their order."""
    return blocks.build([_index_row(id, cast(Mapping[str, Any], row)) for id, row in rows.items()])


def _index_row(id: str, row: Mapping[str, Any]) -> blocks.Row:
    try:
        terms = unpack_terms(row["terms"])
    except (KeyError, ValueError):
        terms = _NOTHING  # nothing in it can be searched; it is still listed
    group = id_bytes(row["chunk_of"]) if "chunk_of" in row else b""
    return blocks.Row(id_bytes(id), terms, row["valid_at"], row["stored_at"], row.get("trail", 0.0), group)


class EpisodeState:
    """The index, and the lock that whoever reads or changes it holds."""

    def __init__(self) -> None:
        self.index = Index()
        self.lock = RLock()
        self.meaning: Pooled | Encoded | None = None
        """The dense side, once a search asked for it."""

    def remove(self, ids: Sequence[str]) -> None:
        """Take out episodes that are gone."""
        with self.lock:
            _remove(self.index, [id_bytes(id) for id in ids])


class EpisodeModel:
    """How changes of an agent's episodes become changes of its index."""

    collection = "episodes"
    fields = ("terms", "valid_at", "stored_at", "trail", "chunk_of", "edited_at")
    codec = EpisodeCodec()

    def __init__(self, contents: Contents) -> None:
        self._contents = contents

    def load(self, segments: Sequence[Segment]) -> EpisodeState:
        state = EpisodeState()
        for segment in segments:
            block = Block.from_bytes(segment.data)
            hidden = [row.tobytes() for row in block.ids]
            _remove(state.index, [*hidden, *map(id_bytes, segment.gone)])
            if block.count:
                state.index.add(block)
        return state

    def apply(self, state: EpisodeState, changes: Mapping[str, Row | None]) -> EpisodeState:
        with state.lock:
            known = dict(zip(changes, state.index.find([id_bytes(id) for id in changes]).tolist(), strict=True))
            gone = [number for id, number in known.items() if number >= 0 and _replaced(changes[id])]
            new = {id: row for id, row in changes.items() if row is not None and (known[id] < 0 or _replaced(row))}
            for id, row in changes.items():
                if row is not None and id not in new:
                    state.index.set_trail(known[id], float(cast(float, row.get("trail", 0.0))))
            if gone:
                state.index.remove(gone)
            if new:
                state.index.add(block_of(new))
        for id, row in changes.items():
            if row is None:
                self._contents.drop(id)
            else:
                self._contents.drop_edited(id, cast(int | None, row.get("edited_at")))
        return state

    def rows(self, state: EpisodeState) -> int:
        return state.index.living

    def size(self, state: EpisodeState) -> int:
        with state.lock:
            return state.index.nbytes


def _replaced(row: Row | None) -> bool:
    """Whether what is indexed of an episode does not hold any more: it is gone, or was edited since it was stored."""
    return row is None or "edited_at" in row


def _remove(index: Index, ids: Sequence[bytes]) -> None:
    numbers = index.find(ids)
    if len(found := numbers[numbers >= 0]):
        index.remove(found)
