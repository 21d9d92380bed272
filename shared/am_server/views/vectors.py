"""Embeddings that were computed once, kept in the object store.

Per agent and model the vectors lie in immutable segments named by the hash of their bytes, and a document lists the
segments. Only that list ever changes, by compare-and-set in the document store, so a bucket needs no preconditions.
Young segments are merged when a new one is written. A segment that is missing or damaged is left out, its episodes
count as not embedded, and the list forgets it with the next write.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import msgpack
import numpy as np
from numpy.typing import NDArray

from am_server.objects.port import ObjectStore
from am_server.store.metered import concurrently
from am_server.store.port import Document, DocumentStore, PreconditionFailed, create, delete, update

ABSORB = 4
"""A new segment absorbs its predecessor when that has at most this many times its rows."""

SEGMENT_BYTES = 4_000_000
"""A segment is not made larger than this by merging."""

ATTEMPTS = 5
"""How often the list is tried when others change it at the same time."""


@dataclass(frozen=True, slots=True)
class Embedded:
    """Vectors as bytes, and whose they are."""

    ids: NDArray[np.uint8]
    """uint8[n, 16]."""
    rows: NDArray[np.int8]
    """int8[n, d]."""
    scales: NDArray[np.float32]
    """float32[n]: a vector is its row times its scale."""

    def take(self, which: Any) -> Embedded:
        """Some of them, by mask or numbers."""
        return Embedded(self.ids[which], self.rows[which], self.scales[which])


class VectorCache:
    """The stored vectors of one agent under one model. Callers take turns."""

    def __init__(self, store: DocumentStore, objects: ObjectStore, root: str, model_id: str, dimension: int) -> None:
        digest = hashlib.blake2b(model_id.encode(), digest_size=8).hexdigest()
        self._store = store
        self._objects = objects
        self._model_id = model_id
        self._dimension = dimension
        self._list_path = f"{root}/snapshots/vectors-{digest}"
        self._folder = f"{root}/vectors/{digest}"
        self._seen: set[str] = set()
        self._lost: set[str] = set()

    def unseen(self) -> list[Embedded]:
        """The segments that this object has not returned yet, oldest first: those that others wrote since."""
        new = [name for name in _listed(self._store.get(self._list_path)) if name not in self._seen]
        if not new:
            return []
        segments = self._read(new)
        self._seen.update(new)
        return [segment for segment in segments if segment is not None]

    def add(self, fresh: Embedded, alive: Callable[[NDArray[np.uint8]], NDArray[np.bool_]]) -> None:
        """Store vectors. `alive` tells which ids still have an episode; others are dropped when segments are merged.

        Gives up silently when others keep changing the list: the vectors are then computed again some day.
        """
        for _ in range(ATTEMPTS):
            listed = self._store.get(self._list_path)
            counts = {name: count for name, count in _listed(listed).items() if name not in self._lost}
            absorbed, merged = self._absorb(counts, fresh, alive)
            data = self._pack(merged)
            name = hashlib.blake2b(data, digest_size=16).hexdigest()
            self._objects.put(self._name(name), data)
            kept = {each: count for each, count in counts.items() if each not in absorbed and each != name}
            if self._list(listed, {**kept, name: len(merged.ids)}):
                self._seen.add(name)
                for each in {*absorbed, *self._lost} - {name}:
                    self._objects.delete(self._name(each))
                self._lost.clear()
                if listed is None and not alive(fresh.ids).any():
                    self._take_back(name)  # an erasure swept the bucket before this segment was in it
                return
            if name not in counts:
                self._objects.delete(self._name(name))

    def _absorb(
        self, counts: Mapping[str, int], fresh: Embedded, alive: Callable[[NDArray[np.uint8]], NDArray[np.bool_]]
    ) -> tuple[list[str], Embedded]:
        """The youngest segments that go into the new one, and the new one; the later of two vectors of an id stays."""
        chosen: list[str] = []
        rows, most = len(fresh.ids), SEGMENT_BYTES // (self._dimension + 20)
        for name, count in reversed(list(counts.items())):
            if count > ABSORB * rows or count + rows > most:
                break
            chosen.insert(0, name)
            rows += count
        older = [segment for segment in self._read(chosen) if segment is not None] if chosen else []
        if not older:
            return chosen, fresh
        joined = Embedded(*(np.concatenate([getattr(part, name) for part in (*older, fresh)]) for name in Embedded.__slots__))
        last = {row.tobytes(): number for number, row in enumerate(joined.ids)}
        latest = np.zeros(len(joined.ids), np.bool_)
        latest[list(last.values())] = True
        return chosen, joined.take(latest & alive(joined.ids))

    def _list(self, listed: Document | None, counts: Mapping[str, int]) -> bool:
        data = {"model": self._model_id, "segments": json.dumps(counts)}
        write = create(self._list_path, data) if listed is None else update(self._list_path, data, listed.updated_at)
        try:
            self._store.commit([write])
        except PreconditionFailed:
            return False
        return True

    def _take_back(self, name: str) -> None:
        self._store.commit([delete(self._list_path)])
        self._objects.delete(self._name(name))

    def _read(self, names: Sequence[str]) -> list[Embedded | None]:
        blobs = concurrently(*(lambda name=name: self._objects.get(self._name(name)) for name in names))
        segments = [self._unpack(name, None if blob is None else blob.data) for name, blob in zip(names, blobs, strict=True)]
        self._lost.update(name for name, segment in zip(names, segments, strict=True) if segment is None)
        return segments

    def _name(self, segment: str) -> str:
        return f"{self._folder}/{segment}"

    def _pack(self, segment: Embedded) -> bytes:
        arrays = [segment.ids.tobytes(), segment.rows.tobytes(), segment.scales.astype("<f4").tobytes()]
        return cast(bytes, msgpack.packb([self._model_id, *arrays]))

    def _unpack(self, name: str, data: bytes | None) -> Embedded | None:
        if data is None or hashlib.blake2b(data, digest_size=16).hexdigest() != name:
            return None
        model_id, ids, rows, scales = msgpack.unpackb(data)
        if model_id != self._model_id:
            return None
        return Embedded(
            np.frombuffer(ids, np.uint8).reshape(-1, 16),
            np.frombuffer(rows, np.int8).reshape(-1, self._dimension),
            np.frombuffer(scales, "<f4"),
        )


def _listed(document: Document | None) -> dict[str, int]:
    """The segments of a list, oldest first, and how many vectors each has; none when it is damaged."""
    try:
        listed = json.loads(cast(str, document.data["segments"])) if document else {}
        return {str(name): int(count) for name, count in listed.items()}
    except (AttributeError, KeyError, TypeError, ValueError):
        return {}
