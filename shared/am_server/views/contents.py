"""Episodes as they were stored, and the few of them that an instance keeps at hand."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any, cast

from am_server.store.port import Document, DocumentStore

MAX_BYTES = 8 * 1024 * 1024
"""What one agent's contents may take."""

_OVERHEAD = 500
"""About what an episode takes in memory beside its text."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """Which part of a longer text an episode is."""

    index: int
    count: int
    of: str
    """The id of the first chunk."""


@dataclass(frozen=True, slots=True)
class Episode:
    """An episode as stored. Times in microseconds since 1970."""

    id: str
    content: str
    metadata: Mapping[str, Any] | None
    valid_at: int
    stored_at: int
    chunk: Chunk | None = None
    edited_at: int | None = None
    bytes: int = 0
    """About how many it takes in memory."""


def read_episode(document: Document | None) -> Episode | None:
    """The episode that a document holds; None when there is none or it was deleted."""
    if document is None or "content" not in document.data or document.data.get("deleted_at") is not None:
        return None
    data = cast(Mapping[str, Any], document.data)
    text = data.get("metadata")
    chunk = Chunk(data["chunk_index"], data["chunk_count"], data["chunk_of"]) if "chunk_of" in data else None
    return Episode(
        id=document.id,
        content=data["content"],
        metadata=None if text is None else json.loads(text),
        valid_at=data["valid_at"],
        stored_at=data["stored_at"],
        chunk=chunk,
        edited_at=data.get("edited_at"),
        bytes=_OVERHEAD + 2 * len(data["content"]) + 4 * len(text or ""),
    )


class Contents:
    """Reads episodes by id and keeps them, the least recently used going first. What is kept never goes stale:
    an episode's content does not change unless `edited_at` does, which `drop_edited` is told. Safe under threads."""

    def __init__(self, store: DocumentStore, collection: str, max_bytes: int = MAX_BYTES) -> None:
        self._store = store
        self._collection = collection
        self._max_bytes = max_bytes
        self._kept: OrderedDict[str, Episode] = OrderedDict()
        self._lock = Lock()
        self._drops = 0
        self.size = 0

    def read(self, ids: Sequence[str]) -> dict[str, Episode]:
        """The episodes with these ids, without those that are not there any more. No round trip when all are kept."""
        found: dict[str, Episode] = {}
        with self._lock:
            drops = self._drops
            for id in ids:
                if id in self._kept:
                    self._kept.move_to_end(id)
                    found[id] = self._kept[id]
        missing = [id for id in dict.fromkeys(ids) if id not in found]
        if missing:
            for document in self._store.get_many([f"{self._collection}/{id}" for id in missing]):
                episode = read_episode(document)
                if episode is not None:
                    found[episode.id] = episode
                    self._keep(episode, drops)
        return found

    def drop_edited(self, id: str, edited_at: int | None) -> None:
        """Forget the episode unless this is the edition that is kept; call it for whatever changed."""
        with self._lock:
            self._drops += edited_at is not None
            kept = self._kept.get(id)
            if kept is not None and kept.edited_at != edited_at:
                self._remove(id)

    def drop(self, id: str) -> None:
        """Forget an episode that is gone."""
        with self._lock:
            self._remove(id)

    def clear(self) -> None:
        """Forget all of them."""
        with self._lock:
            self._kept.clear()
            self.size = 0

    def _keep(self, episode: Episode, drops: int) -> None:
        with self._lock:
            if drops != self._drops:
                return  # it may have been edited since it was read
            self._remove(episode.id)
            self._kept[episode.id] = episode
            self.size += episode.bytes
            while self.size > self._max_bytes:
                self._remove(next(iter(self._kept)))

    def _remove(self, id: str) -> None:
        episode = self._kept.pop(id, None)
        if episode is not None:
            self.size -= episode.bytes
