"""An agent's memory as JSON lines, out and in again.

The first line names the format; each further line is one document: its collection, its id, and its fields as stored,
times and trails included. Bytes and times travel as `{"$bytes": base64}` and `{"$time": RFC 3339}`. What is derived
(indexes, vectors) or gone (tombstones) is left out. Reading a file in twice changes nothing the second time.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

from am_server.errors import Invalid
from am_server.store.port import SERVER_TIME, DocumentStore, Field, Query, Scalar, put
from am_server.times import from_datetime, parse, show, to_datetime

FORMAT = "am-server/1"
COLLECTIONS = ("episodes", "graph", "procedures", "working")
PAGE = 200
"""Documents that are read or written at once; a commit of so many stays below Firestore's 10 MiB on all but huge episodes."""

COMMIT_BYTES = 3_000_000


def export(store: DocumentStore, agent_uid: str) -> Iterator[str]:
    """The lines of an agent's memory."""
    yield _line({"format": FORMAT})
    for collection in COLLECTIONS:
        after = None
        while True:
            page = store.query(Query(f"agents/{agent_uid}/{collection}", limit=PAGE, after=after))
            for document in page:
                if "deleted_at" not in document.data and document.data.get("kind") != "erased":
                    fields = {name: _out(value) for name, value in document.data.items() if name != "changed_at"}
                    yield _line({"collection": collection, "id": document.id, "fields": fields})
            if len(page) < PAGE:
                break
            after = (None, page[-1].id)


def import_lines(store: DocumentStore, agent_uid: str, lines: Iterable[str]) -> dict[str, int]:
    """Store the documents of an export under an agent; how many were created, changed and already as they are.

    Raises Invalid naming the line that cannot be read; what came before it is stored then.
    """
    counts = {"created": 0, "changed": 0, "unchanged": 0}
    batch: dict[str, Mapping[str, Scalar]] = {}
    size = 0
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        entry = _entry(number, line)
        if number == 1:
            continue
        batch[f"agents/{agent_uid}/{entry['collection']}/{entry['id']}"] = entry["fields"]
        size += len(line)
        if len(batch) >= PAGE or size >= COMMIT_BYTES:
            _store(store, batch, counts)
            batch, size = {}, 0
    _store(store, batch, counts)
    return counts


def _store(store: DocumentStore, batch: Mapping[str, Mapping[str, Scalar]], counts: dict[str, int]) -> None:
    writes = []
    for (path, fields), known in zip(batch.items(), store.get_many(list(batch)), strict=True):
        if known is not None and {name: value for name, value in known.data.items() if name != "changed_at"} == fields:
            counts["unchanged"] += 1
            continue
        counts["created" if known is None else "changed"] += 1
        data: dict[str, Field] = dict(fields)
        if path.split("/")[2] != "working":
            data["changed_at"] = SERVER_TIME
        writes.append(put(path, data))
    if writes:
        store.commit(writes)


def _entry(number: int, line: str) -> dict[str, Any]:
    try:
        entry: dict[str, Any] = json.loads(line)
        if number == 1:
            if entry.get("format") != FORMAT:
                raise ValueError
            return entry
        if entry["collection"] not in COLLECTIONS or not isinstance(entry["id"], str) or "/" in entry["id"] or not entry["id"]:
            raise ValueError
        entry["fields"] = {str(name): _in(value) for name, value in entry["fields"].items()}
        return entry
    except (ValueError, TypeError, KeyError, AttributeError):
        expected = f'{{"format": "{FORMAT}"}}' if number == 1 else "a document with collection, id and fields"
        raise Invalid(f"line {number}", f"expected {expected}; make the file with: am-server export") from None


def _out(value: Scalar) -> Any:
    if isinstance(value, bytes):
        return {"$bytes": base64.b64encode(value).decode()}
    if isinstance(value, datetime):
        return {"$time": show(from_datetime(value))}
    return value


def _in(value: Any) -> Scalar:
    if isinstance(value, dict):
        return base64.b64decode(value["$bytes"]) if "$bytes" in value else to_datetime(parse(value["$time"]))
    if isinstance(value, list):
        raise ValueError
    scalar: Scalar = value
    return scalar


def _line(value: Mapping[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
