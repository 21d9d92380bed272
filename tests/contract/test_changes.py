"""The document port: a collection read as a log."""

from __future__ import annotations

import time
from datetime import timedelta

import pytest
from am_server.store import firestore_tail
from am_server.store.metered import MeteredStore, metering
from am_server.store.port import SERVER_TIME, DocumentStore, create, delete, merge

GRAPH = "agents/a/graph"


def note(store: DocumentStore, id: str, **fields: str) -> None:
    store.commit([merge(f"{GRAPH}/{id}", {"kind": "entity", "changed_at": SERVER_TIME, **fields})])


def test_an_empty_collection(store: DocumentStore) -> None:
    first = store.changes(GRAPH, None)
    assert list(first.documents) == []
    note(store, "a")
    assert [document.id for document in store.changes(GRAPH, first.until).documents] == ["a"]


def test_changes_come_in_the_order_of_their_commits(store: DocumentStore) -> None:
    for id in ("b", "a", "c"):
        note(store, id)
    seen = store.changes(GRAPH, None)
    assert [document.id for document in seen.documents] == ["b", "a", "c"]
    note(store, "a", name="again")
    later = store.changes(GRAPH, seen.until, ["name"])
    assert [(document.id, document.data) for document in later.documents] == [("a", {"name": "again"})]
    assert list(store.changes(GRAPH, later.until).documents) == []


def test_another_collection_and_a_deleted_document_are_not_told(store: DocumentStore) -> None:
    note(store, "a")
    store.commit([create("agents/b/graph/x", {"kind": "entity", "changed_at": SERVER_TIME}), delete(f"{GRAPH}/a")])
    assert list(store.changes(GRAPH, None).documents) == []


def test_an_idle_collection_costs_one_read(store: DocumentStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(firestore_tail, "LATENESS", timedelta(milliseconds=400))  # seconds would only make the test slow
    metered = MeteredStore(store)
    for number in range(20):
        note(store, f"n{number}")
    until = store.changes(GRAPH, None).until
    for _ in range(2):
        time.sleep(0.5)
        until = store.changes(GRAPH, until).until
    for _ in range(2):
        with metering() as meter:
            seen = metered.changes(GRAPH, until)
        until = seen.until
        assert (list(seen.documents), meter.reads, meter.rpcs) == ([], 1, 1)
    note(store, "late")
    assert [document.id for document in store.changes(GRAPH, until).documents] == ["late"]
