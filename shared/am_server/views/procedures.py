"""The view of an agent's procedures: the newest version of each."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from am_server.memory.procedures import Procedure, Procedures
from am_server.views.rows import RowCodec, Rows, newest_rows
from am_server.views.snapshots import Codec, Row, Segment


class _NewestOnly(RowCodec):
    """Leaves out the rows of single versions, which are only ever read by their id."""

    def build(self, rows: Mapping[str, Row]) -> Rows:
        return {id: row for id, row in rows.items() if row.get("kind") == "name"}


class ProcedureModel:
    """The collection `procedures` as Procedures."""

    collection = "procedures"
    fields: Sequence[str] = (
        "kind",
        "name",
        "version_id",
        "version",
        "description",
        "steps",
        "tags",
        "preconditions",
        "success_count",
        "failure_count",
    )
    codec: Codec[Any] = _NewestOnly(version=1)

    def load(self, segments: Sequence[Segment]) -> Procedures:
        return self.apply(Procedures(), newest_rows(segments, self.codec))

    def apply(self, state: Procedures, changes: Mapping[str, Row | None]) -> Procedures:
        procedures = dict(state.by_name_id)
        for id, row in changes.items():
            if row is None:
                procedures.pop(id, None)
            elif row.get("kind") == "name":
                procedures[id] = procedure_of(row)
        return Procedures(procedures)

    def rows(self, state: Procedures) -> int:
        return len(state.by_name_id)

    def size(self, state: Procedures) -> int:
        return sum(2_000 + 200 * len(one.steps) + 100 * len(one.terms) for one in state.by_name_id.values())


def procedure_of(row: Row) -> Procedure:
    """A procedure from the document that its name leads to."""
    data: Any = row
    return Procedure(
        id=data["version_id"],
        name=data["name"],
        version=data["version"],
        description=data.get("description") or "",
        steps=json.loads(data["steps"]),
        tags=json.loads(data["tags"]),
        preconditions=json.loads(data["preconditions"]),
        successes=data.get("success_count", 0),
        failures=data.get("failure_count", 0),
    )
