"""Small indexes for tests of recall."""

from __future__ import annotations

import uuid
from collections.abc import Sequence

import numpy as np
from am_server import times
from am_server.embed.static import word_table
from am_server.memory.blocks import Row, build
from am_server.memory.dense import POOLED_CONTEXT, Vectors, pooled
from am_server.memory.expansion import Vocabulary
from am_server.memory.index import Index
from am_server.memory.recall import recall
from am_server.memory.terms import extract

START = times.parse("2023-05-08T12:00:00Z")


def row(
    number: int, content: str, *, session: str = "", speaker: str = "", group: bytes = b"", valid_at: int | None = None
) -> Row:
    """Episode `number`, one minute after the one before."""
    at = START + number * 60 * times.SECOND if valid_at is None else valid_at
    terms = extract(content, valid_at=at, session=session, speaker=speaker)
    return Row(uuid.uuid5(uuid.NAMESPACE_URL, str(number)).bytes, terms, at, START + number, group=group)


class Memory:
    """An index over texts that can be asked for texts."""

    def __init__(self, rows: Sequence[tuple[str, Row]]) -> None:
        self.texts = [text for text, _ in rows]
        self.index = Index()
        self.index.add(build([row for _, row in rows]))
        self.vocabulary = Vocabulary(word_table())
        self.vectors = Vectors(self.index, self.vocabulary.table.dimension, POOLED_CONTEXT)

    def ask(self, query: str, limit: int = 50, *, hybrid: bool = True, **options) -> list[str]:
        """The texts found, best first."""
        return [self.texts[hit.number] for hit in self.hits(query, limit, hybrid=hybrid, **options)]

    def hits(self, query: str, limit: int = 50, *, hybrid: bool = True, **options):
        if hybrid:
            missing = self.vectors.missing()
            if len(missing):
                self.vocabulary.update(self.index)
                self.vectors.put(np.arange(self.index.count), pooled(self.index, 0, self.index.count, self.vocabulary.table))
            options |= {"vocabulary": self.vocabulary, "vectors": self.vectors}
        return recall(self.index, query, limit, **options)


def notes(*contents: str) -> Memory:
    """A memory of these texts, without sessions or speakers."""
    return Memory([(content, row(number, content)) for number, content in enumerate(contents)])


def talk(*turns: tuple[str, str, str]) -> Memory:
    """A memory of turns: (session, speaker, text)."""
    return Memory([(text, row(n, text, session=session, speaker=speaker)) for n, (session, speaker, text) in enumerate(turns)])
