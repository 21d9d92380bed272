"""Forgetting messages and statements; only ever those of the project that the body names."""

from __future__ import annotations

import json
from typing import Any

from am_server.errors import Conflict
from am_server.rest.asked import Asked, place_of
from am_server.rest.models import DeleteEpisodes, DeleteFeatures
from am_server.rest.statements import numbers_by_message
from am_server.store.port import SERVER_TIME, Document, PreconditionFailed, Write, update
from am_server.tools.episodes_store import deletion_write

_ATTEMPTS = 8


def delete_episodes(asked: Asked[DeleteEpisodes]) -> None:
    """Forget messages with their statements, all at once. Ids that the project does not hold are passed over."""
    project = asked.call.services.projects.find(place_of(asked))
    if project is None:
        return
    call = asked.inside(project)
    documents = call.store.get_many([call.path("episodes", id) for id in asked.body.ids])
    root = f"agents/{project.uid}"
    doomed = [deletion_write(root, document.id, call.now) for document in documents if document and "content" in document.data]
    if doomed:
        call.store.commit(doomed)


def delete_features(asked: Asked[DeleteFeatures]) -> None:
    """Forget statements; their messages stay. Ids that the project does not hold are passed over."""
    project = asked.call.services.projects.find(place_of(asked))
    numbers = numbers_by_message(asked.body.ids)
    if project is None or not numbers:
        return
    call = asked.inside(project)
    for _ in range(_ATTEMPTS):
        documents = call.store.get_many([call.path("episodes", uid) for uid in numbers])
        changes = [_forgetting(document, numbers[document.id], call.now) for document in documents if document]
        writes = [change for change in changes if change]
        try:
            if writes:
                call.store.commit(writes)
            return
        except PreconditionFailed:
            continue
    raise Conflict("the messages are being changed at the same time; try again")


def _forgetting(document: Document, numbers: set[int], now: int) -> Write | None:
    """The change that takes statements from a message; None when they are gone already."""
    if "content" not in document.data:
        return None
    metadata: dict[str, Any] = json.loads(str(document.data.get("metadata") or "{}"))
    before = set(metadata.get("forgotten", ()))
    after = before | {number for number in numbers if number < metadata.get("statements", 0)}
    if after == before:
        return None
    text = json.dumps({**metadata, "forgotten": sorted(after)}, ensure_ascii=False, separators=(",", ":"))
    return update(document.path, {"metadata": text, "edited_at": now, "changed_at": SERVER_TIME}, document.updated_at)
