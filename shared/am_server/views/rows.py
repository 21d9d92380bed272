"""Rows packed column by column: what a view of plain documents needs, and no more."""

from __future__ import annotations

import zlib
from collections.abc import Collection, Mapping, Sequence
from itertools import islice
from typing import Any, cast

import msgpack

from am_server.store.port import Scalar
from am_server.views.snapshots import Codec, Row, Segment

Rows = dict[str, Row]
"""Rows by document id."""


class DictRows:
    """The part of a codec that handles rows as a dict by document id; `pack` and `unpack` are left to be added."""

    def build(self, rows: Mapping[str, Row]) -> Rows:
        return dict(rows)

    def merge(self, older: Rows, newer: Rows, gone: Collection[str]) -> Rows:
        return {id: row for id, row in older.items() if id not in newer and id not in gone} | newer

    def split(self, rows: Rows) -> tuple[Rows, Rows]:
        half = len(rows) // 2
        return dict(islice(rows.items(), half)), dict(islice(rows.items(), half, None))

    def count(self, rows: Rows) -> int:
        return len(rows)


class RowCodec(DictRows):
    """Packs rows as they are. A column's values lie together, where they resemble each other and compress well."""

    def __init__(self, version: int) -> None:
        """`version` changes whenever the fields of the rows change."""
        self.version = version

    def pack(self, rows: Rows) -> bytes:
        names = sorted({name for row in rows.values() for name in row})
        columns: dict[str, Any] = {}
        for name in names:
            absent = [number for number, row in enumerate(rows.values()) if name not in row]
            columns[name] = (absent, [row[name] for row in rows.values() if name in row])
        return zlib.compress(cast(bytes, msgpack.packb([list(rows), columns], datetime=True)))

    def unpack(self, data: bytes) -> Rows:
        ids, columns = msgpack.unpackb(zlib.decompress(data), timestamp=3)
        rows: dict[str, dict[str, Scalar]] = {id: {} for id in ids}
        for name, (absent, values) in columns.items():
            missing, each = frozenset(absent), iter(values)
            for number, row in enumerate(rows.values()):
                if number not in missing:
                    row[name] = next(each)
        return cast(Rows, rows)


def newest_rows(segments: Sequence[Segment], codec: Codec[Rows]) -> Rows:
    """The live rows of segments given oldest first."""
    rows: Rows = {}
    for segment in segments:
        for id in segment.gone:
            rows.pop(id, None)
        rows.update(codec.unpack(segment.data))
    return rows
