"""POST /memories: a batch of messages, all or none."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from uuid import uuid4

from am_server.errors import Conflict
from am_server.memory.terms import pack_terms
from am_server.memory.trails import deposit
from am_server.rest.asked import Asked, place_of
from am_server.rest.messages import episode_metadata
from am_server.rest.models import AddMemories, Message, check_sizes
from am_server.rest.projects import Project, creation, draft
from am_server.store.port import SERVER_TIME, AlreadyExists, Write, put
from am_server.times import DAY
from am_server.tools.call import Call
from am_server.tools.episodes_store import index_terms
from am_server.tools.idempotency import commit_once
from am_server.tools.registry import Arguments
from am_server.views.erasure import erase_memory

MAX_MESSAGES = 2_500
"""Messages of one request: so many are committed well within the time that a store gives one commit."""

_ATTEMPTS = 8


class _Batch(Arguments):
    """What makes a retry the same request."""

    body: AddMemories
    idempotency_key: str | None = None


def add(asked: Asked[AddMemories]) -> dict[str, Any]:
    """Store the messages in one commit and answer their uids in order; the project is made in the same commit if need be.

    A commit into a project that is deleted at that moment is taken back and made again in the project of that name that
    there is then, so that no acknowledged message is erased with the old one. Raises TooBig, TooLarge, Conflict.
    """
    check_sizes(asked.body, MAX_MESSAGES)
    place, projects = place_of(asked), asked.call.services.projects
    batch = _Batch(body=asked.body, idempotency_key=asked.idempotency_key)
    for _ in range(_ATTEMPTS):
        known = projects.recent(place) or projects.find(place)
        project = known or draft(place)
        call = asked.inside(project)
        uids = [str(uuid4()) for _ in asked.body.messages]
        writes = _writes(call, uids, asked.body)
        made = [] if known else [creation(project, call.now)]
        try:
            answer = commit_once(call, batch, "memories", [*made, *writes], {"results": [{"uid": uid} for uid in uids]})
        except AlreadyExists:  # somebody made the project just now, or broke off while deleting it
            projects.clear(place)
            continue
        if made or _still_there(asked, project):
            return answer
        erase_memory(call.store, call.services.objects, project.uid, call.now)
    raise Conflict("the project is being created and deleted at the same time; try again")


def _still_there(asked: Asked[AddMemories], project: Project) -> bool:
    found = asked.call.services.projects.find(project.place)
    return found is not None and found.uid == project.uid


def _writes(call: Call, uids: Sequence[str], body: AddMemories) -> list[Write]:
    return [_episode(call, uid, message, body.types) for uid, message in zip(uids, body.messages, strict=True)]


def _episode(call: Call, uid: str, message: Message, types: Sequence[str]) -> Write:
    """A message as an episode.

    One without a `session_id` in its metadata belongs to the conversation of its day: search knows its neighbours then.
    """
    stored_at = call.services.clock.now()
    valid_at = stored_at if message.timestamp is None else message.timestamp
    metadata = episode_metadata(message, types)
    terms = index_terms(message.content, metadata, valid_at)
    if not terms.session:
        terms = replace(terms, session=f"day {valid_at // DAY}")
    return put(
        call.path("episodes", uid),
        {
            "content": message.content,
            "metadata": json.dumps(metadata, ensure_ascii=False, separators=(",", ":")),
            "valid_at": valid_at,
            "stored_at": stored_at,
            "changed_at": SERVER_TIME,
            "trail": deposit(1.0, stored_at),
            "terms": pack_terms(terms),
        },
    )
