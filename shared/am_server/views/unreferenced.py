"""What derived data nothing refers to any more: leftovers of an instance that ended between two steps.

Both functions look at the documents of one `snapshots` collection, read in one query with `FIELDS`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import cast

from am_server.store.port import Document

FIELDS = ("blocks", "segments")
"""A head document lists its blocks in the first, a list of vector segments its objects in the second."""


def dead_blocks(documents: Iterable[Document], before: datetime) -> list[Document]:
    """Blocks that no head lists and that were written before this time; none at all when a head cannot be read.

    Blocks may be committed ahead of the head that lists them, so young ones are left alone.
    """
    listed: set[str] = set()
    others = []
    for document in documents:
        if "segments" in document.data:
            continue
        if "blocks" not in document.data:
            others.append(document)
            continue
        try:
            entries = json.loads(cast(str, document.data["blocks"]))
            listed |= {f"{document.id}-{entry[0]}" for entry in entries}
        except (IndexError, TypeError, ValueError):
            return []
    return [document for document in others if document.id not in listed and document.updated_at < before]


def live_objects(documents: Iterable[Document], root: str) -> set[str] | None:
    """The names of the objects that the vector lists of the agent at `root` name; None when a list cannot be read."""
    names: set[str] = set()
    for document in documents:
        if "segments" not in document.data:
            continue
        try:
            segments: Mapping[str, int] = json.loads(cast(str, document.data["segments"]))
            names |= {f"{root}/vectors/{document.id.removeprefix('vectors-')}/{name}" for name in segments}
        except (TypeError, ValueError):
            return None
    return names
