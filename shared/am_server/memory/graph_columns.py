"""Entities and edges column by column: the form in which they are packed and in which many of them join a graph at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from am_server.memory.graph_csr import Floats, Ints


def no_ints() -> Ints:
    """int32[0]"""
    return np.zeros(0, np.int32)


def no_floats() -> Floats:
    """float64[0]"""
    return np.zeros(0)


ENTITY = ("name", "type", "description", "trail")
EDGE = ("subject", "predicate", "object", "weight", "edge_trail")
FLOATS = frozenset({"trail", "weight", "edge_trail"})


@dataclass(frozen=True, slots=True)
class Columns:
    """One place in the columns of ENTITY for each entity, and in those of EDGE for each edge.

    The columns that are not in FLOATS are int32 and hold places in `strings`; -1 is no text.
    """

    strings: Sequence[str] = ()
    name: Ints = field(default_factory=no_ints)
    type: Ints = field(default_factory=no_ints)
    description: Ints = field(default_factory=no_ints)
    trail: Floats = field(default_factory=no_floats)
    """The sum that forward decay keeps; 0 where nothing was deposited."""
    subject: Ints = field(default_factory=no_ints)
    predicate: Ints = field(default_factory=no_ints)
    object: Ints = field(default_factory=no_ints)
    weight: Floats = field(default_factory=no_floats)
    edge_trail: Floats = field(default_factory=no_floats)

    @property
    def count(self) -> int:
        """How many entities and edges there are."""
        return len(self.name) + len(self.subject)

    def halves(self) -> tuple[Columns, Columns]:
        """The first half of the entities with the first half of the edges, and the rest."""
        entities, edges = len(self.name) // 2, len(self.subject) // 2
        first = self._taken(slice(entities), slice(edges))
        return first, self._taken(slice(entities, None), slice(edges, None))

    def _taken(self, entities: slice, edges: slice) -> Columns:
        columns = {name: getattr(self, name)[entities if name in ENTITY else edges] for name in (*ENTITY, *EDGE)}
        texts = [name for name in columns if name not in FLOATS]
        used = np.unique(np.concatenate([columns[name] for name in texts]))
        used = used[used >= 0]
        place = np.full(len(self.strings) + 1, -1, np.int32)  # the last one is where -1 leads
        place[used] = np.arange(len(used))
        columns |= {name: place[columns[name]] for name in texts}
        return Columns([self.strings[old] for old in used.tolist()], **columns)
