"""How an episode is written, deleted and shown, for every front that does so. Imports no numpy: a write needs none."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import uuid
from collections.abc import Mapping, Sequence
from typing import Any, NotRequired

from typing_extensions import TypedDict

from am_server.errors import Invalid
from am_server.memory.terms import Terms, extract_for, pack_terms
from am_server.memory.trails import deposit
from am_server.store.port import SERVER_TIME, DocumentStore, Field, Query, Where, Write, create, put, update
from am_server.times import DAY, show, to_datetime
from am_server.views.contents import Episode, read_episode

MAX_CONTENT_BYTES = 64 * 1024
MAX_METADATA_BYTES = 16 * 1024

KEPT_AFTER_DELETION = 30 * DAY
"""How long the tombstone of an episode stays, so that every view hears of it."""


class ShownChunk(TypedDict):
    """Which part of a longer text an episode is."""

    index: int
    count: int
    of: str


class ShownEpisode(TypedDict):
    """An episode as callers see it."""

    id: str
    content: str
    metadata: NotRequired[dict[str, Any]]
    valid_at: str
    created_at: str
    chunk: NotRequired[ShownChunk]


def check_content(content: str, field: str = "content") -> None:
    """Raises Invalid for text that is blank or longer than 64 KB."""
    if not content.strip():
        raise Invalid(field, "must have some text")
    if len(content.encode()) > MAX_CONTENT_BYTES:
        raise Invalid(field, f"at most {MAX_CONTENT_BYTES} bytes; store longer text in several episodes")


def metadata_text(metadata: Mapping[str, Any] | None, field: str = "metadata") -> str | None:
    """Metadata as it is kept: JSON text, or None for none. Raises Invalid for more than 16 KB and for numbers JSON lacks."""
    if metadata is None:
        return None
    try:
        text = json.dumps(metadata, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    except ValueError:
        raise Invalid(field, "numbers must be finite") from None
    if len(text.encode()) > MAX_METADATA_BYTES:
        raise Invalid(field, f"at most {MAX_METADATA_BYTES} bytes as JSON")
    return text


def episode_writes(
    root: str,
    texts: Sequence[str],
    metadata: Mapping[str, Any] | None,
    valid_at: int,
    stored_at: int,
    ids: Sequence[str] | None = None,
) -> tuple[list[str], list[Write]]:
    """The ids and the creates of one episode, which is one text or several chunks; commit them together.

    `root` is `agents/{uid}`; times in microseconds since 1970. An episode's trail begins at 1 when it is stored. Ids are
    random when they are not given.
    """
    ids = [str(uuid.uuid4()) for _ in texts] if ids is None else list(ids)
    kept = metadata_text(metadata)
    writes = []
    for number, (id, text) in enumerate(zip(ids, texts, strict=True)):
        data: dict[str, Field] = {
            "content": text,
            "valid_at": valid_at,
            "stored_at": stored_at + number,
            "changed_at": SERVER_TIME,
            "trail": deposit(1, stored_at),
            "terms": pack_terms(index_terms(text, metadata, valid_at)),
        }
        if kept is not None:
            data["metadata"] = kept
        if len(texts) > 1:
            data |= {"chunk_index": number, "chunk_count": len(texts), "chunk_of": ids[0]}
        writes.append(create(f"{root}/episodes/{id}", data))
    return ids, writes


def edit_write(root: str, episode: Episode, metadata: Mapping[str, Any], now: int) -> Write:
    """New metadata for an episode. `edited_at` tells views that keep the episode to read it again."""
    data: dict[str, Field] = {
        "metadata": metadata_text(metadata),
        "terms": pack_terms(index_terms(episode.content, metadata, episode.valid_at)),
        "edited_at": now,
        "changed_at": SERVER_TIME,
    }
    return update(f"{root}/episodes/{episode.id}", data)


def deletion_write(root: str, id: str, now: int, kept: str | None = None) -> Write:
    """A tombstone in place of an episode; `kept` is what may be wanted back within 30 days."""
    data: dict[str, Field] = {"deleted_at": now, "purge_at": to_datetime(now + KEPT_AFTER_DELETION), "changed_at": SERVER_TIME}
    return put(f"{root}/episodes/{id}", data if kept is None else {**data, "kept": kept})


def index_terms(text: str, metadata: Mapping[str, Any] | None, valid_at: int) -> Terms:
    """What an episode is found by: its words, who and when, and a label for each entry of its metadata."""
    terms = extract_for(text, metadata, valid_at=valid_at)
    labels = [label(key, value) for key, value in (metadata or {}).items()]
    return dataclasses.replace(terms, meta=terms.meta.union(labels)) if labels else terms


def label(key: str, value: Any) -> str:
    """The term that stands for one entry of the metadata. No word begins with `=`, so no query meets it by chance."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    text = json.dumps([key, value], ensure_ascii=False, sort_keys=True)
    return "=" + hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def newest(store: DocumentStore, root: str, limit: int, after: tuple[Any, str] | None = None) -> list[Episode]:
    """Episodes by the time they were stored, newest first."""
    return _episodes(store, Query(f"{root}/episodes", [], "stored_at", True, limit, after))


def between(
    store: DocumentStore, root: str, start: int, end: int, limit: int | None, after: tuple[Any, str] | None = None
) -> list[Episode]:
    """Episodes with start <= valid_at < end, earliest first."""
    where = [Where("valid_at", ">=", start), Where("valid_at", "<", end)]
    return _episodes(store, Query(f"{root}/episodes", where, "valid_at", False, limit, after))


def _episodes(store: DocumentStore, query: Query) -> list[Episode]:
    return [episode for document in store.query(query) if (episode := read_episode(document)) is not None]


def shown(episode: Episode, content: str | None = None) -> dict[str, Any]:
    """An episode as `ShownEpisode`; `content` stands in for a longer one. A chunk's metadata tells which part it is."""
    made: dict[str, Any] = {"id": episode.id, "content": episode.content if content is None else content}
    chunk = episode.chunk and {"index": episode.chunk.index, "count": episode.chunk.count, "of": episode.chunk.of}
    if episode.metadata is not None or chunk:
        made["metadata"] = {**({"chunk": chunk} if chunk else {}), **(episode.metadata or {})}
    made |= {"valid_at": show(episode.valid_at), "created_at": show(episode.stored_at)}
    return made | ({"chunk": chunk} if chunk else {})
