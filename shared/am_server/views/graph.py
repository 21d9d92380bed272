"""The view of an agent's entities and edges: one graph, packed by columns."""

from __future__ import annotations

import zlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, cast

import msgpack
import numpy as np

from am_server.memory.graph import Graph
from am_server.memory.graph_columns import EDGE, ENTITY, FLOATS, Columns
from am_server.views.snapshots import Codec, Row, Segment


class GraphCodec:
    """Packs entities and edges as columns over one list of strings; ids are left out, because they follow from names."""

    version = 1

    def build(self, rows: Mapping[str, Row]) -> Columns:
        return columns_of(rows.values())

    def merge(self, older: Columns, newer: Columns, gone: Collection[str]) -> Columns:  # noqa: ARG002
        # entities and edges are only ever erased all together, so none is gone while others stay
        return Graph().updated(older).updated(newer).columns()

    def split(self, rows: Columns) -> tuple[Columns, Columns]:
        return rows.halves()

    def count(self, rows: Columns) -> int:
        return rows.count

    def pack(self, rows: Columns) -> bytes:
        arrays = [getattr(rows, name).astype("<f8" if name in FLOATS else "<i4").tobytes() for name in (*ENTITY, *EDGE)]
        return zlib.compress(cast(bytes, msgpack.packb([rows.strings, arrays])))

    def unpack(self, data: bytes) -> Columns:
        strings, arrays = msgpack.unpackb(zlib.decompress(data))
        columns = {
            name: np.frombuffer(array, "<f8" if name in FLOATS else "<i4")
            for name, array in zip((*ENTITY, *EDGE), arrays, strict=True)
        }
        return Columns(strings, **columns)


def columns_of(rows: Iterable[Row]) -> Columns:
    """Rows as columns. A row that is neither an entity nor an edge is left out."""
    places: dict[str, int] = {}
    entities: list[tuple[Any, ...]] = []
    edges: list[tuple[Any, ...]] = []

    def place(text: Any) -> int:
        return places.setdefault(text, len(places)) if text else -1

    for row in rows:
        trail = row.get("trail") or 0.0
        if row.get("kind") == "entity":
            entities.append((place(row["entity_id"]), place(row.get("type")), place(row.get("description")), trail))
        elif row.get("kind") == "edge":
            parts = (place(row["subject"]), place(row["predicate"]), place(row["object"]))
            edges.append((*parts, row.get("weight", 1.0), trail))
    values = [*(zip(*entities, strict=True) if entities else [()] * len(ENTITY))]
    values += zip(*edges, strict=True) if edges else [()] * len(EDGE)
    columns: dict[str, Any] = {
        name: np.array(column, np.float64 if name in FLOATS else np.int32)
        for name, column in zip((*ENTITY, *EDGE), values, strict=True)
    }
    return Columns(list(places), **columns)


class GraphModel:
    """The collection `graph` as a Graph."""

    collection = "graph"
    fields: Sequence[str] = ("kind", "entity_id", "type", "description", "trail", "subject", "predicate", "object", "weight")
    codec: Codec[Any] = GraphCodec()

    def load(self, segments: Sequence[Segment]) -> Graph:
        graph = Graph()
        for segment in segments:
            if segment.data:
                graph = graph.updated(self.codec.unpack(segment.data))
        return graph

    def apply(self, state: Graph, changes: Mapping[str, Row | None]) -> Graph:
        return state.updated(columns_of(row for row in changes.values() if row is not None))

    def rows(self, state: Graph) -> int:
        return state.edges + len(state.types) - state.types.count(None)

    def size(self, state: Graph) -> int:
        return state.bytes
