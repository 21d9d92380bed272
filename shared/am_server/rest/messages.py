"""A message of the REST API as an episode, and back.

An episode's metadata holds the message's metadata as it is, and beside it what the message has of its own, under names
that the rest of the service knows too (`producer`, `role`). Where a caller's key has one of those names, it moves
into `metadata.metadata`, so that every message comes back as it was sent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from am_server.memory.statements import sentences
from am_server.rest.models import Message
from am_server.times import show

OWN = ("producer", "produced_for", "role", "types", "statements", "forgotten", "metadata")
"""The keys of an episode's metadata that are not the caller's."""


@dataclass(frozen=True, slots=True)
class Kept:
    """A message as it is kept, without its content."""

    uid: str
    created_at: int
    """Microseconds since 1970."""
    position: int
    """What orders messages of the same moment."""
    producer: str = "user"
    produced_for: str = ""
    role: str = ""
    metadata: Mapping[str, str] = field(default_factory=dict)
    types: Sequence[str] = ("episodic", "semantic")
    statements: int = 0
    """How many statements its content has; 0 when it is episodic only."""
    forgotten: frozenset[int] = frozenset()
    """The statements that were deleted."""

    @property
    def order(self) -> tuple[int, int, str]:
        """The order of a list."""
        return self.created_at, self.position, self.uid

    @property
    def live(self) -> list[int]:
        """The statements that were not deleted."""
        return [number for number in range(self.statements) if number not in self.forgotten]


def episode_metadata(message: Message, types: Sequence[str]) -> dict[str, Any]:
    """The metadata of the episode that keeps a message."""
    collisions = {key: value for key, value in message.metadata.items() if key in OWN}
    own: dict[str, Any] = {
        "producer": message.producer,
        "produced_for": message.produced_for,
        "role": message.role,
        "types": sorted(set(types)) if len(set(types)) == 1 else None,
        "statements": 0 if set(types) == {"episodic"} else len(sentences(message.content)),
        "metadata": collisions,
    }
    users = {key: value for key, value in message.metadata.items() if key not in OWN}
    return users | {key: value for key, value in own.items() if value or key == "producer"}


def kept(uid: str, valid_at: int, stored_at: int, metadata: Mapping[str, Any]) -> Kept:
    """The message that an episode keeps. An episode that came another way is read as one, as far as it goes."""
    nested = metadata.get("metadata")
    users = {key: value for key, value in metadata.items() if key not in OWN}
    users.update(nested if isinstance(nested, Mapping) else {})
    return Kept(
        uid,
        valid_at,
        stored_at,
        producer=str(metadata.get("producer", "user")),
        produced_for=str(metadata.get("produced_for", "")),
        role=str(metadata.get("role", "")),
        metadata={key: value if isinstance(value, str) else str(value) for key, value in users.items()},
        types=tuple(metadata.get("types") or ("episodic", "semantic")),
        statements=int(metadata.get("statements", 0)),
        forgotten=frozenset(metadata.get("forgotten", ())),
    )


def row(message: Kept, session_key: str, content: str | None = None) -> dict[str, Any]:
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


def shown(message: Kept, content: str) -> dict[str, Any]:
    """A message as list and search show it; empty metadata is left out."""
    answer = {
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
