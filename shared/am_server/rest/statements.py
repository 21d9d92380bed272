"""Semantic memory: the statements of messages, made when somebody reads them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from am_server.memory.statements import category, sentences, title
from am_server.views.messages import Message

_ID = re.compile(r"([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}):(\d{1,9})", re.ASCII)


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence of a message."""

    source: Message
    number: int
    """Which sentence it is, from 0."""
    text: str

    @property
    def id(self) -> str:
        """`{uid of the message}:{number}`"""
        return f"{self.source.uid}:{self.number}"


def statements(message: Message, content: str) -> list[Statement]:
    """The statements of a message that were not deleted."""
    found = sentences(content)
    return [Statement(message, number, found[number]) for number in message.live if number < len(found)]


def shown(statement: Statement, session_key: str) -> dict[str, Any]:
    """A statement as a MemMachine feature: who said it is its tag, its category follows from its words."""
    return {
        "set_id": session_key,
        "category": category(statement.text),
        "tag": statement.source.producer,
        "feature_name": title(statement.text),
        "value": statement.text,
        "metadata": {"id": statement.id, "citations": [statement.source.uid]},
    }


def numbers_by_message(ids: Sequence[str]) -> dict[str, set[int]]:
    """For each message the numbers of its statements that these ids name; what is no statement's id is left out."""
    found: dict[str, set[int]] = {}
    for id in ids:
        named = _ID.fullmatch(id)
        if named:
            found.setdefault(named[1], set()).add(int(named[2]))
    return found
