"""A message of the REST API: as an episode's metadata, as a filter sees it, and as an answer shows it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from am_server.memory.statements import sentences
from am_server.rest import models
from am_server.times import show
from am_server.views.messages import OWN, Message


def episode_metadata(message: models.Message, types: Sequence[str]) -> dict[str, Any]:
    """The metadata of the episode that keeps a message; `views.messages.message_of` reads it back."""
    asked = sorted(set(types))
    own: dict[str, Any] = {
        "producer": message.producer,
        "produced_for": message.produced_for,
        "role": message.role,
        "types": asked if len(asked) == 1 else None,
        "statements": 0 if asked == ["episodic"] else len(sentences(message.content)),
        "metadata": {key: value for key, value in message.metadata.items() if key in OWN},
    }
    users: dict[str, Any] = {key: value for key, value in message.metadata.items() if key not in OWN}
    return users | {key: value for key, value in own.items() if value or key == "producer"}


def row(message: Message, session_key: str, content: str = "") -> dict[str, Any]:
    """What a filter is evaluated over."""
    return {
        "uid": message.uid,
        "session_key": session_key,
        "producer_id": message.producer,
        "producer_role": message.role,
        "produced_for_id": message.produced_for,
        "created_at": message.created_at,
        "episode_type": "message",
        "content_type": "string",
        "content": content,
        "metadata": message.metadata,
    }


def shown(message: Message, content: str) -> dict[str, Any]:
    """A message as list and search show it; empty metadata is left out."""
    answer: dict[str, Any] = {
        "uid": message.uid,
        "content": content,
        "created_at": show(message.created_at),
        "producer_id": message.producer,
        "producer_role": message.role,
        "produced_for_id": message.produced_for,
        "episode_type": "message",
        "content_type": "string",
    }
    return answer | ({"metadata": dict(message.metadata)} if message.metadata else {})
