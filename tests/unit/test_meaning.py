"""Searching with a sentence encoder: what is embedded when, and what happens when it does not answer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from am_server.embed.port import EmbedderUnavailable
from am_server.objects.port import ObjectStoreUnavailable
from am_server.store.port import Query
from am_server.tools.episodes_store import deletion_write, episode_writes
from am_server.views import meaning
from am_server.views.episodes import Episodes, Found, Search
from am_server.wiring import Services

from tests.unit.calling import instance

ROOT = "agents/a"


class Encoder:
    """Knows two meanings and nothing else: what has to do with water, and what has not."""

    pooled = False
    table = None
    dimension = 2

    def __init__(self, model_id: str = "fake/2") -> None:
        self.model_id = model_id
        self.embedded: list[str] = []
        self.broken = False

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        if self.broken:
            raise EmbedderUnavailable("the provider did not answer in time")
        self.embedded += texts
        wet = [any(word in text for word in ("pond", "lake", "water", "river")) for text in texts]
        return np.array([[1, 0] if each else [0, 1] for each in wet], np.float32)


@pytest.fixture
def services(tmp_path: Path) -> Iterator[Services]:
    with instance(tmp_path) as made:
        yield made


def know(services: Services, *contents: str) -> list[str]:
    made = [episode_writes(ROOT, [content], None, number, services.clock.now()) for number, content in enumerate(contents)]
    services.store.commit([write for _, writes in made for write in writes])
    return [id for ids, _ in made for id in ids]


def view(services: Services, encoder: Encoder) -> Episodes:
    return Episodes(services.store, services.objects, encoder, "weighted", ROOT)


def search(view: Episodes, query: str) -> Found:
    return view.refresh().search(Search(query, 10))


def contents(found: Found) -> list[str]:
    return [result.episode.content for result in found.results]


def test_what_means_the_same_is_found(services):
    know(services, "ducks on the pond", "a sunny day")
    found = search(view(services, Encoder()), "lake")
    assert contents(found)[0] == "ducks on the pond"
    assert (found.retrieval, found.coverage, found.degraded) == ("hybrid", 1, None)


def test_an_episode_is_embedded_once_for_every_instance(services):
    know(services, "ducks on the pond", "a sunny day")
    first, second = Encoder(), Encoder()
    search(view(services, first), "lake")
    assert sorted(first.embedded) == ["a sunny day", "ducks on the pond", "lake"]
    assert contents(search(view(services, second), "river"))[0] == "ducks on the pond"
    assert second.embedded == ["river"]


def test_one_search_embeds_a_bounded_number_the_best_first(services, monkeypatch):
    monkeypatch.setattr(meaning, "EMBED_AT_MOST", 3)
    know(services, *(f"note {number}" for number in range(10)), "ducks on the pond")
    encoder = Encoder()
    warm = view(services, encoder)
    found = search(warm, "note 4")
    assert encoder.embedded[:2] == ["note 4", "note 4"], "the query, and the episode that matches it best"
    assert len(encoder.embedded) == 4
    assert found.coverage == pytest.approx(3 / 11)
    for _ in range(3):
        found = search(warm, "pond")
    assert found.coverage == 1
    assert len([text for text in encoder.embedded if text != "pond"]) == 12


def test_when_the_embedder_fails_the_search_is_lexical_and_says_why(services, monkeypatch):
    know(services, "ducks on the pond", "a sunny day")
    encoder = Encoder()
    encoder.broken = True
    warm = view(services, encoder)
    found = search(warm, "ducks")
    assert contents(found) == ["ducks on the pond"]
    assert found.retrieval == "tfidf"
    assert found.degraded == "the provider did not answer in time"
    encoder.broken = False
    assert search(warm, "ducks").degraded is not None, "it is left alone for a while"
    monkeypatch.setattr(meaning, "QUIET_SECONDS", 0)
    warm = view(services, encoder)
    assert search(warm, "ducks").retrieval == "hybrid"


def test_a_bucket_out_of_reach_costs_no_answer(services, monkeypatch):
    know(services, "ducks on the pond", "a sunny day")
    monkeypatch.setattr(type(services.objects), "put", _unreachable)
    monkeypatch.setattr(type(services.objects), "get", _unreachable)
    found = search(view(services, Encoder()), "lake")
    assert contents(found)[0] == "ducks on the pond"
    assert found.retrieval == "hybrid"


def _unreachable(*_args, **_more):
    raise ObjectStoreUnavailable("the bucket did not answer")


def test_names_of_speakers_are_not_embedded_with_the_query(services):
    writes = episode_writes(ROOT, ["ducks on the pond"], {"speaker": "Ann Lee"}, 0, services.clock.now())[1]
    services.store.commit(writes)
    encoder = Encoder()
    warm = view(services, encoder)
    search(warm, "What did Ann see?")
    search(warm, "Ann")
    assert [text for text in encoder.embedded if "pond" not in text] == ["What did see?", "Ann"]


def test_another_model_embeds_anew_and_never_mixes(services):
    know(services, "ducks on the pond", "a sunny day")
    search(view(services, Encoder("old/2")), "lake")
    newer = Encoder("new/2")
    assert contents(search(view(services, newer), "lake"))[0] == "ducks on the pond"
    assert len(newer.embedded) == 3


@pytest.mark.parametrize("harm", ["objects", "lists"])
def test_lost_vectors_are_made_again_and_the_answer_is_the_same(services, harm):
    know(services, "ducks on the pond", "a sunny day", "swans on the river")
    expected = contents(search(view(services, Encoder()), "lake"))
    if harm == "objects":
        for name in services.objects.list("agents/"):
            services.objects.put(name, b"rubbish")
    else:
        services.store.delete_tree(f"{ROOT}/snapshots")
    again = Encoder()
    assert contents(search(view(services, again), "lake")) == expected
    assert len(again.embedded) == 4
    third = Encoder()
    search(view(services, third), "lake")
    assert third.embedded == ["lake"], "the loss was repaired"


def test_a_deleted_episode_leaves_nothing_behind_in_a_warm_view(services):
    gone, _ = know(services, "ducks on the pond", "a sunny day")
    warm = view(services, Encoder())
    search(warm, "lake")
    services.store.commit([deletion_write(ROOT, gone, services.clock.now())])
    know(services, "swans on the river")
    found = search(warm, "lake")
    assert contents(found)[0] == "swans on the river"
    assert found.coverage == 1


def test_embeddings_of_an_agent_lie_under_its_own_name(services):
    know(services, "ducks on the pond")
    search(view(services, Encoder()), "lake")
    assert all(name.startswith(f"{ROOT}/vectors/") for name in services.objects.list(""))
    assert [document.id[:8] for document in services.store.query(Query(f"{ROOT}/snapshots"))] == ["vectors-"]
