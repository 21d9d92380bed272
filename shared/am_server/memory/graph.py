"""A knowledge graph in memory: entities, the edges between them, and how to get around.

Every subject and object of an edge is a node, whether or not it was also stored as an entity. A graph is never changed;
`updated` gives the next one, which shares what did not change.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from am_server.memory.graph_columns import Columns, no_floats, no_ints
from am_server.memory.graph_csr import Adjacency, Floats, Ints, adjacency, both_ways
from am_server.memory.name_table import NameTable
from am_server.memory.names import exact, folded, uuid_version
from am_server.memory.node_texts import NodeTexts

Direction = Literal["outgoing", "incoming", "both"]

_BITS = 21
"""Of a node's or a predicate's number in the key of an edge: two million of each."""


@dataclass(frozen=True)
class Graph:
    """Nodes and edges are numbers from 0."""

    nodes: NameTable = field(default_factory=NameTable)
    predicates: NameTable = field(default_factory=NameTable)
    texts: NodeTexts = field(default_factory=NodeTexts)
    size: int = 0
    """How many nodes there are; the table of names may know later ones."""
    types: Sequence[str | None] = field(default_factory=list)
    """For each node its entity's type, "" when none was given; None for a node that is no entity."""
    descriptions: Sequence[str] = field(default_factory=list)
    trail: Floats = field(default_factory=no_floats)
    source: Ints = field(default_factory=no_ints)
    predicate: Ints = field(default_factory=no_ints)
    target: Ints = field(default_factory=no_ints)
    weight: Floats = field(default_factory=no_floats)
    edge_trail: Floats = field(default_factory=no_floats)

    @property
    def edges(self) -> int:
        """How many edges there are."""
        return len(self.source)

    @cached_property
    def outgoing(self) -> Adjacency:
        """From subjects to objects."""
        return adjacency(self.size, self.source, self.target, self.weight)

    @cached_property
    def incoming(self) -> Adjacency:
        """From objects to subjects."""
        return adjacency(self.size, self.target, self.source, self.weight)

    @cached_property
    def either_way(self) -> Adjacency:
        """Both at once."""
        return both_ways(self.size, self.source, self.target, self.weight)

    def towards(self, direction: Direction) -> Adjacency:
        """The adjacency of a direction."""
        if direction == "both":
            return self.either_way
        return self.outgoing if direction == "outgoing" else self.incoming

    @cached_property
    def entities(self) -> Sequence[int]:
        """The nodes that are entities, in the order of their names."""
        return sorted((node for node, type in enumerate(self.types) if type is not None), key=self.place)

    @cached_property
    def term_counts(self) -> Ints:
        """int32[nodes]: how many index terms each name has."""
        return np.array(self.nodes.term_counts()[: self.size], np.int32)

    @cached_property
    def described(self) -> Sequence[int]:
        """The nodes that have a description."""
        return [node for node, text in enumerate(self.descriptions) if text]

    @cached_property
    def of_type(self) -> Mapping[str, Ints]:
        """The nodes of each type that was given."""
        nodes: dict[str, list[int]] = {}
        for node, type in enumerate(self.types):
            if type:
                nodes.setdefault(type, []).append(node)
        return {type: np.array(members, np.int32) for type, members in nodes.items()}

    def place(self, node: int) -> tuple[str, str]:
        """What entities are sorted by."""
        name = self.nodes.names[node]
        return folded(name), name

    def find(self, name_or_id: str) -> int | None:
        """The node with this exact name, else the entity with this id, else the node whose name is nearly this."""
        node = self.nodes.exactly(exact(name_or_id))
        if node is None and uuid_version(name_or_id) == 5:
            node = self.nodes.by_id(name_or_id.lower())
        if node is None:
            node = self.nodes.nearly(name_or_id)
        return node if node is not None and node < self.size else None

    def edges_of(self, node: int) -> list[int]:
        """The edges from or to a node, heavier ones first, each once."""
        around = self.either_way
        edges: list[int] = around.edge[around.start[node] : around.start[node + 1]].tolist()
        return edges

    def triple(self, edge: int) -> tuple[str, str, str]:
        """Subject, predicate and object of an edge."""
        names = self.nodes.names
        return names[self.source[edge]], self.predicates.names[self.predicate[edge]], names[self.target[edge]]

    def updated(self, new: Columns) -> Graph:
        """The graph with these entities and edges, which replace those of the same names."""
        node = _numbers(self.nodes, new.strings, new.name, new.subject, new.object)
        predicate = _numbers(self.predicates, new.strings, new.predicate)
        size = len(self.nodes)
        types, descriptions, trail = self._with_entities(new, node[new.name], size)
        edges = self._with_edges(node[new.subject], predicate[new.predicate], node[new.object], new.weight, new.edge_trail)
        graph = Graph(self.nodes, self.predicates, self.texts, size, types, descriptions, trail, *edges)
        graph.__dict__.update({name: self.__dict__[name] for name in self._unchanged(graph) if name in self.__dict__})
        return graph

    def _unchanged(self, graph: Graph) -> list[str]:
        """What was derived here and holds in the next graph as well."""
        same = []
        if graph.source is self.source and graph.weight is self.weight and graph.size == self.size:
            same += ["outgoing", "incoming", "either_way"]
        if graph.types is self.types:
            same += ["entities", "of_type"]
        if graph.descriptions is self.descriptions:
            same += ["described"]
        if graph.size == self.size:
            same += ["term_counts"]
        return same

    def _with_entities(self, new: Columns, nodes: Ints, size: int) -> tuple[Sequence[str | None], Sequence[str], Floats]:
        types: list[str | None] = [*self.types, *[None] * (size - self.size)]
        descriptions = [*self.descriptions, *[""] * (size - self.size)]
        trail = np.concatenate([self.trail, np.zeros(size - self.size)])
        trail[nodes] = new.trail
        for node, type, description in zip(nodes.tolist(), new.type.tolist(), new.description.tolist(), strict=True):
            types[node] = new.strings[type] if type >= 0 else ""
            descriptions[node] = new.strings[description] if description >= 0 else ""
        return (
            self.types if types == self.types else types,
            self.descriptions if descriptions == self.descriptions else descriptions,
            trail,
        )

    def _with_edges(
        self, source: Ints, predicate: Ints, target: Ints, weight: Floats, trail: Floats
    ) -> tuple[Ints, Ints, Ints, Floats, Floats]:
        if not len(source):
            return self.source, self.predicate, self.target, self.weight, self.edge_trail
        keys = _edge_keys(source, predicate, target)
        order = np.argsort(keys)
        known = _edge_keys(self.source, self.predicate, self.target)
        places = np.minimum(np.searchsorted(keys, known, sorter=order), len(keys) - 1)
        old = np.flatnonzero(keys[order[places]] == known)
        replacing = order[places[old]]
        weights, trails = self.weight.copy(), self.edge_trail.copy()
        weights[old], trails[old] = weight[replacing], trail[replacing]
        weights = self.weight if np.array_equal(weights, self.weight) else weights
        fresh = np.ones(len(keys), np.bool_)
        fresh[replacing] = False
        if not fresh.any():
            return self.source, self.predicate, self.target, weights, trails
        return (
            np.concatenate([self.source, source[fresh]]),
            np.concatenate([self.predicate, predicate[fresh]]),
            np.concatenate([self.target, target[fresh]]),
            np.concatenate([weights, weight[fresh]]),
            np.concatenate([trails, trail[fresh]]),
        )

    def columns(self) -> Columns:
        """Everything in the graph; what `updated` would make it of from nothing."""
        strings = [*self.nodes.names[: self.size], *self.predicates.names]
        places: dict[str, int] = {}
        entities = [node for node, type in enumerate(self.types) if type is not None]
        texts = [
            [places.setdefault(text, len(strings) + len(places)) if text else -1 for text in (column[node] for node in entities)]
            for column in (self.types, self.descriptions)
        ]
        return Columns(
            [*strings, *places],
            np.array(entities, np.int32),
            np.array(texts[0], np.int32),
            np.array(texts[1], np.int32),
            self.trail[entities],
            self.source,
            np.add(self.predicate, self.size, dtype=np.int32),
            self.target,
            self.weight,
            self.edge_trail,
        )

    @property
    def bytes(self) -> int:
        """About how much memory the graph takes, with what is derived from it."""
        return self._own_bytes + self.texts.bytes

    @cached_property
    def _own_bytes(self) -> int:
        return 600 * self.size + 80 * self.edges + sum(map(len, self.descriptions))


def _numbers(table: NameTable, strings: Sequence[str], *used: Ints) -> Ints:
    """int32[strings]: the number in the table of each string that is used, in the order of the strings."""
    numbers = np.full(len(strings), -1, np.int32)
    for place in np.unique(np.concatenate(used)).tolist():
        numbers[place] = table.add(strings[place])
    return numbers


def _edge_keys(source: Ints, predicate: Ints, target: Ints) -> NDArray[np.int64]:
    wide = source.astype(np.int64) << (2 * _BITS)
    return wide | (predicate.astype(np.int64) << _BITS) | target
