"""Rows packed column by column: what a view of plain documents needs, and no more."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from typing import Any, cast

import msgpack

from am_server.store.port import Scalar
from am_server.views.snapshots import Row


class RowCodec:
    """Packs rows as they are. A column's values lie together, where they resemble each other and compress well."""

    def __init__(self, version: int) -> None:
        """`version` changes whenever the fields of the rows change."""
        self.version = version

    def pack(self, rows: Mapping[str, Row]) -> bytes:
        names = sorted({name for row in rows.values() for name in row})
        columns: dict[str, Any] = {}
        for name in names:
            absent = [number for number, row in enumerate(rows.values()) if name not in row]
            columns[name] = (absent, [row[name] for row in rows.values() if name in row])
        return zlib.compress(cast(bytes, msgpack.packb([list(rows), columns], datetime=True)))

    def unpack(self, data: bytes) -> dict[str, Row]:
        ids, columns = msgpack.unpackb(zlib.decompress(data), timestamp=3)
        rows: dict[str, dict[str, Scalar]] = {id: {} for id in ids}
        for name, (absent, values) in columns.items():
            missing, each = frozenset(absent), iter(values)
            for number, row in enumerate(rows.values()):
                if number not in missing:
                    row[name] = next(each)
        return cast(dict[str, Row], rows)
