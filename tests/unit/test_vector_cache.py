"""Embeddings in the object store: written once, read by every instance, repaired when lost."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pytest
from am_server.objects.directory import DirectoryStore
from am_server.store.metered import MeteredStore
from am_server.store.sqlite import SqliteStore
from am_server.views import vectors
from am_server.views.vectors import Embedded, VectorCache


@pytest.fixture
def stores(tmp_path: Path):
    return MeteredStore(SqliteStore(tmp_path / "store.sqlite")), DirectoryStore(tmp_path / "objects")


def cache(stores, model_id: str = "model/4") -> VectorCache:
    return VectorCache(*stores, "agents/a", model_id, 4)


def some(*numbers: int) -> Embedded:
    """Vectors that tell whose they are."""
    ids = np.array([[number] * 16 for number in numbers], np.uint8)
    rows = np.array([[number, 1, 2, 3] for number in numbers], np.int8)
    return Embedded(ids, rows, np.array(numbers, np.float32))


def everyone(ids):
    return np.ones(len(ids), np.bool_)


def held(*segments: Embedded) -> dict[int, list[int]]:
    return {int(id[0]): row.tolist() for segment in segments for id, row in zip(segment.ids, segment.rows, strict=True)}


def test_what_one_instance_embeds_another_reads(stores):
    writer, reader = cache(stores), cache(stores)
    writer.add(some(1, 2), everyone)
    assert held(*reader.unseen()) == {1: [1, 1, 2, 3], 2: [2, 1, 2, 3]}
    assert reader.unseen() == [], "each segment is returned once"
    assert writer.unseen() == [], "a writer knows its own"


def test_young_segments_are_merged_and_the_old_objects_deleted(stores):
    for number in range(10):
        cache(stores).add(some(number), everyone)
    assert len(stores[1].list("agents/a/")) <= 3
    assert set(held(*cache(stores).unseen())) == set(range(10))


def test_merging_drops_vectors_of_episodes_that_are_gone(stores):
    cache(stores).add(some(1, 2), everyone)
    cache(stores).add(some(3), lambda ids: ids[:, 0] != 1)
    assert set(held(*cache(stores).unseen())) == {2, 3}


def test_models_never_mix(stores):
    cache(stores, "old/4").add(some(1), everyone)
    assert cache(stores, "new/4").unseen() == []
    cache(stores, "new/4").add(some(2), everyone)
    assert set(held(*cache(stores, "old/4").unseen())) == {1}


@pytest.mark.parametrize("harm", ["delete", "damage", "delete list", "damage list"])
def test_a_lost_segment_is_forgotten_and_replaced(stores, harm):
    store, objects = stores
    cache(stores).add(some(1, 2), everyone)
    [name] = objects.list("agents/a/")
    list_path = store.get_many([f"agents/a/snapshots/{name.split('/')[2]}-{name.split('/')[3]}"])[0].path
    if harm == "delete":
        objects.delete(name)
    elif harm == "damage":
        objects.put(name, b"rubbish")
    elif harm == "delete list":
        store.delete_tree(list_path)
    else:
        from am_server.store.port import put

        store.commit([put(list_path, {"segments": "rubbish"})])
    again = cache(stores)
    assert again.unseen() == []
    again.add(some(1, 2), everyone)
    assert set(held(*cache(stores).unseen())) == {1, 2}


def test_writers_at_once_lose_nothing(stores, monkeypatch):
    monkeypatch.setattr(vectors, "ATTEMPTS", 60)
    workers = [
        threading.Thread(target=lambda n=n: [cache(stores).add(some(n * 4 + k), everyone) for k in range(4)]) for n in range(4)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert set(held(*cache(stores).unseen())) == set(range(16))


def test_vectors_that_an_erasure_overtook_are_taken_back(stores):
    cache(stores).add(some(1), lambda ids: np.zeros(len(ids), np.bool_))
    assert stores[1].list("agents/a/") == []
    assert cache(stores).unseen() == []
