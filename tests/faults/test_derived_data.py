"""Snapshots and vectors that are damaged or gone, under load: answers stay right and the damage repairs itself."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from am_server.store.port import DocumentStore, Query, delete, put
from am_server.views import log, snapshots

from tests.faults.conftest import Service
from tests.faults.ports import FaultyEmbedder

ROUNDS = 60


@pytest.fixture(autouse=True)
def small_snapshots(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fold early and into many blocks, so that a small memory has what a large one has."""
    monkeypatch.setattr(log, "FOLD_ROWS", 4)
    monkeypatch.setattr(log, "FOLD_ROWS_COLD", 2)
    monkeypatch.setattr(snapshots, "HEAD_BYTES", 300)
    monkeypatch.setattr(snapshots, "BLOCK_BYTES", 2_000)


def remove(store: DocumentStore, path: str, draw: random.Random) -> None:
    store.commit([delete(path)])


def flip(store: DocumentStore, path: str, draw: random.Random) -> None:
    """One byte of one packed field is another one."""
    document = store.get(path)
    if document is None:
        return
    packed = sorted(name for name, value in document.data.items() if isinstance(value, bytes) and value)
    if not packed:
        return
    name = draw.choice(packed)
    data = bytearray(document.data[name])  # type: ignore[arg-type]
    data[draw.randrange(len(data))] ^= 0x55
    store.commit([put(path, {**document.data, name: bytes(data)})])


def garble(store: DocumentStore, path: str, draw: random.Random) -> None:
    store.commit([put(path, {"blocks": "nonsense", "data": 7})])


@contextmanager
def harming(service: Service, root: str, harm: Callable[[DocumentStore, str, random.Random], None]) -> Iterator[list[str]]:
    """Meanwhile, harm one snapshot document or vector object after another; their names are collected."""
    done, draw = threading.Event(), random.Random(1)
    store, objects = service.store.inner, service.objects.inner
    harmed: list[str] = []

    def run() -> None:
        while not done.wait(0.005):
            documents = [document.path for document in store.query(Query(f"{root}/snapshots", select=()))]
            for name in [*documents, *objects.list(f"{root}/vectors/")]:
                if draw.random() < 0.5:
                    continue
                if name in documents:
                    harm(store, name, draw)
                elif harm is remove:
                    objects.delete(name)
                else:
                    objects.put(name, b"damaged")
                harmed.append(name)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield harmed
    finally:
        done.set()
        thread.join()


@pytest.mark.parametrize("harm", [remove, flip, garble])
def test_harm_to_derived_data_under_load_changes_no_answer(
    start: Callable[..., Service], harm: Callable[[DocumentStore, str, random.Random], None]
) -> None:
    service = start().warm()
    service.services.__dict__["embedder"] = FaultyEmbedder()
    uid = service.services.accounts.authenticate(service.world.key, None).agent_uid
    with harming(service, f"agents/{uid}", harm) as harmed:
        for number in range(ROUNDS):
            word = f"token{number:03d}"
            service.ok("memory_store_episode", content=f"The {word} was seen.", metadata={"session_id": f"s{number % 5}"})
            service.ok("memory_graph_add_triple", subject="hub", predicate="has", object=word)
            service.ok("memory_store_procedure", name=f"do {word}", steps=["a"])
            if number % 3 == 0:
                service.services.views.forget(uid)
            found = service.ok("memory_search_episodes", query=word, limit=1)
            assert [result["episode"]["content"] for result in found["results"]] == [f"The {word} was seen."]
            assert service.ok("memory_match_procedure", task=word)["results"][0]["procedure"]["name"] == f"do {word}"
            neighbours = service.ok("memory_graph_neighbors", node="hub", limit=500)
            assert f"token{number:03d}" in str(neighbours)
    assert len(set(harmed)) > 10
    for _ in range(3):  # reading repairs: afterwards a fresh instance finds snapshots that serve it
        cold = start(service.folder).warm()
        found = cold.ok("memory_search_episodes", query="token", limit=200, use_hybrid=False)
        listed = cold.ok("memory_get_relations", entity_id="hub", limit=500)
        assert listed["count"] == ROUNDS, found["count"]
    cold = start(service.folder).warm()
    cold.store.obey(lambda *_: None)
    for number in range(0, ROUNDS, 7):
        found = cold.ok("memory_search_episodes", query=f"token{number:03d}", limit=1, use_hybrid=False)
        assert f"token{number:03d}" in found["results"][0]["episode"]["content"]
