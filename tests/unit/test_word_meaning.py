"""Meaning of entities by the word table, whichever embedder the episodes have, and without it."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from am_server.embed import static
from am_server.embed.port import EmbedderUnavailable
from am_server.embed.static import StaticEmbedder, word_table

from tests.unit.calling import Agent, instance


def found(agent: Agent, query: str) -> list[tuple[str, list[str]]]:
    results = agent.call("memory_semantic_search", query=query)["results"]
    return [(result["entity"]["entity_id"], result["matched"]) for result in results]


@pytest.fixture
def agent(tmp_path: Path) -> Any:
    with instance(tmp_path) as services:
        agent = Agent(services)
        agent.call("memory_store_entity", entity_id="Velocio", description="A shop that repairs bicycles")
        yield agent


def test_an_encoder_of_sentences_has_the_word_table_beside_it(agent):
    agent.services.__dict__["embedder"] = SimpleNamespace(pooled=False, dimension=384, model_id="encoder", table=word_table())
    assert found(agent, "fix my bike") == [("Velocio", ["meaning"])]


def test_no_embedder_means_words_alone(agent):
    assert agent.services.embedder is None
    assert found(agent, "fix my bike") == []
    assert found(agent, "bicycles") == [("Velocio", ["description"])]


def test_a_missing_word_table_means_words_alone(agent, monkeypatch):
    def missing() -> None:
        raise EmbedderUnavailable("the wordllama package is not installed; install it or set AM_EMBEDDER=none")

    monkeypatch.setattr(static, "word_table", missing)
    agent.services.__dict__["embedder"] = StaticEmbedder()
    assert found(agent, "bicycles") == [("Velocio", ["description"])]


def test_a_near_meaning_is_enough(agent):
    agent.services.__dict__["embedder"] = StaticEmbedder()
    agent.call("memory_store_entity", entity_id="Alice", description="Physicist who studies black holes")
    assert found(agent, "who is a scientist") == [("Alice", ["meaning"])]
