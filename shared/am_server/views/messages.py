"""The messages of a project in memory, without their contents: what lists, filters and statements are made from.

A message is an episode. Its metadata holds what the caller sent as `metadata`, and beside it what a message has of its
own, under names that the rest of the service knows too (`producer`, `role`). Where a caller's key has one of those
names it is kept in `metadata.metadata`, so that every message comes back as it was sent.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, cast

from am_server.views.rows import RowCodec, newest_rows
from am_server.views.snapshots import Row, Segment

OWN = ("producer", "produced_for", "role", "types", "statements", "forgotten", "metadata")
"""The keys of an episode's metadata that are not the caller's."""

BOTH = ("episodic", "semantic")

_BYTES = 900
"""About what a message takes in memory without its metadata."""


@dataclass(frozen=True, slots=True)
class Message:
    """A message as it is kept, without its content."""

    uid: str
    created_at: int
    """Microseconds since 1970."""
    stored_at: int
    """Orders messages of the same moment."""
    producer: str = "user"
    produced_for: str = ""
    role: str = ""
    metadata: Mapping[str, str] = field(default_factory=dict)
    types: Sequence[str] = BOTH
    statements: int = 0
    """How many statements its content has; 0 when it is episodic only."""
    forgotten: frozenset[int] = frozenset()
    """The numbers of the statements that were deleted."""

    @property
    def order(self) -> tuple[int, int, str]:
        """The order of a list."""
        return self.created_at, self.stored_at, self.uid

    @property
    def live(self) -> list[int]:
        """The numbers of the statements that were not deleted."""
        return [number for number in range(self.statements) if number not in self.forgotten]


def message_of(uid: str, row: Mapping[str, Any]) -> Message:
    """The message that an episode keeps; an episode that came another way is read as one, as far as it goes."""
    kept = json.loads(row.get("metadata") or "{}")
    nested = kept.get("metadata")
    users = {key: value for key, value in kept.items() if key not in OWN}
    users.update(nested if isinstance(nested, dict) else {})
    return Message(
        uid,
        row["valid_at"],
        row["stored_at"],
        producer=str(kept.get("producer", "user")),
        produced_for=str(kept.get("produced_for", "")),
        role=str(kept.get("role", "")),
        metadata={key: value if isinstance(value, str) else json.dumps(value) for key, value in users.items()},
        types=tuple(kept.get("types") or BOTH),
        statements=int(kept.get("statements", 0)),
        forgotten=frozenset(kept.get("forgotten", ())),
    )


class Messages:
    """All messages of a project. Never changed once made."""

    def __init__(self, by_uid: Mapping[str, Message], size: int = 0) -> None:
        self.by_uid = by_uid
        self.size = size
        """About how many bytes they hold."""

    @cached_property
    def ordered(self) -> Sequence[Message]:
        """By time, then as they were stored."""
        return sorted(self.by_uid.values(), key=lambda message: message.order)

    @cached_property
    def places(self) -> Mapping[str, int]:
        """Where each message stands in `ordered`."""
        return {message.uid: place for place, message in enumerate(self.ordered)}


class MessageModel:
    """The collection `episodes` as Messages."""

    collection = "episodes"
    fields = ("valid_at", "stored_at", "metadata")
    codec = RowCodec(version=1)

    def load(self, segments: Sequence[Segment]) -> Messages:
        return self.apply(Messages({}), newest_rows(segments, self.codec))

    def apply(self, state: Messages, changes: Mapping[str, Row | None]) -> Messages:
        by_uid, size = dict(state.by_uid), state.size
        for uid, row in changes.items():
            if by_uid.pop(uid, None) is None:
                size += _BYTES
            if row is None:
                size -= _BYTES
            elif "stored_at" in row:
                by_uid[uid] = message_of(uid, row)
                size += 2 * len(cast(str, row.get("metadata", "")))
        return Messages(by_uid, size)

    def rows(self, state: Messages) -> int:
        return len(state.by_uid)

    def size(self, state: Messages) -> int:
        return state.size
