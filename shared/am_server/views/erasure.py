"""Counting and erasing what an agent remembers."""

from __future__ import annotations

from collections.abc import Mapping

from am_server.objects.port import ObjectStore
from am_server.store.metered import concurrently
from am_server.store.port import MAX_COMMIT_WRITES, SERVER_TIME, Document, DocumentStore, Field, Query, Where, delete, put
from am_server.times import from_datetime, to_datetime

ERASED = "erased"
"""Id and kind of the marker that tells every view to drop what it holds."""

VIEWED = ("episodes", "graph", "procedures")
"""The collections that views follow by `changed_at`."""

UNVIEWED = ("working", "requests", "snapshots")


def count_memory(store: DocumentStore, agent_uid: str, now: int) -> dict[str, int]:
    """How many episodes, entities, relations, procedures and live working-memory items an agent has."""
    root = f"agents/{agent_uid}"
    queries: Mapping[str, Query] = {
        "episode": Query(f"{root}/episodes", [Where("stored_at", ">", 0)]),
        "entity": Query(f"{root}/graph", [Where("kind", "==", "entity")]),
        "relation": Query(f"{root}/graph", [Where("kind", "==", "edge")]),
        "procedure": Query(f"{root}/procedures", [Where("kind", "==", "name")]),
        "working": Query(f"{root}/working", [Where("live_until", ">", now)]),
    }
    counts = concurrently(*(lambda query=query: store.count(query) for query in queries.values()))
    return dict(zip(queries, counts, strict=True))


def erase_memory(store: DocumentStore, objects: ObjectStore, agent_uid: str, now: int) -> dict[str, int]:
    """Erase all memory of an agent and return what there was, by kind.

    A marker in each viewed collection comes first: a view that sees it, in any process, drops everything older. What is
    stored after the marker is a new memory and stays.
    """
    counts = count_memory(store, agent_uid, now)
    root = f"agents/{agent_uid}"
    marker: Mapping[str, Field] = {"kind": ERASED, "changed_at": SERVER_TIME}
    erased_at = store.commit([put(f"{root}/{name}/{ERASED}", marker) for name in VIEWED]).time
    for name in VIEWED:
        _erase_older(store, f"{root}/{name}", from_datetime(erased_at))
    for name in UNVIEWED:
        store.delete_tree(f"{root}/{name}")
    for name in objects.list(f"{root}/"):
        objects.delete(name)
    return counts


def _erase_older(store: DocumentStore, collection: str, erased_at: int) -> None:
    fields = ("changed_at", "stored_at", "created_at")
    found = store.query(Query(collection, [Where("changed_at", ">", to_datetime(0))], order_by="changed_at", select=fields))
    doomed = [delete(document.path) for document in found if document.id != ERASED and _born(document) <= erased_at]
    for start in range(0, len(doomed), MAX_COMMIT_WRITES):
        store.commit(doomed[start : start + MAX_COMMIT_WRITES])


def _born(document: Document) -> int:
    # an old document that was touched after the marker is still old, so its own birth counts when it tells one
    changed_at = from_datetime(document.data["changed_at"])  # type: ignore[arg-type]
    return min([changed_at, *(int(document.data[name]) for name in ("stored_at", "created_at") if name in document.data)])  # type: ignore[arg-type]
