"""Finding nodes by words and meaning, and how far nodes are apart, with a tiny embedder whose vectors are known."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from am_server.memory.graph import Graph
from am_server.memory.graph_paths import guided_path
from am_server.memory.graph_text import rank_edges, rank_nodes, semantic_distance
from am_server.memory.node_texts import NodeTexts
from am_server.memory.trails import LANDMARK
from am_server.views.graph import columns_of

AXES = ("drink", "sport", "city")
ABOUT = {"tea": "drink", "coffee": "drink", "chess": "sport", "football": "sport", "Oslo": "city", "beverage": "drink"}


def embed(texts: Sequence[str]) -> np.ndarray:
    found = np.zeros((len(texts), len(AXES)), np.float32)
    for row, text in enumerate(texts):
        for word, axis in ABOUT.items():
            found[row, AXES.index(axis)] += word in text
    return found / np.maximum(np.linalg.norm(found, axis=1, keepdims=True), 1e-9)


def graph(*triples: str, **descriptions: str) -> Graph:
    edges = [dict(zip(("subject", "predicate", "object"), triple.split(), strict=True)) for triple in triples]
    entities = [{"kind": "entity", "entity_id": name, "description": text} for name, text in descriptions.items()]
    return Graph().updated(columns_of([*({"kind": "edge", **edge} for edge in edges), *entities]))


def names(graph: Graph, query: str, limit: int = 10) -> list[tuple[str, list[str]]]:
    return [(graph.nodes.names[match.node], list(match.matched)) for match in rank_nodes(graph, query, embed, limit)]


def test_words_come_before_meaning() -> None:
    known = graph("Alice likes tea", "Bob plays chess", "Carol likes coffee")
    assert names(known, "beverage") == [("tea", ["meaning"]), ("coffee", ["meaning"])]
    assert names(known, "coffee")[0] == ("coffee", ["name", "meaning"])
    assert names(known, "coffee")[1:] == [("Carol", ["facts"]), ("tea", ["meaning"])]
    assert len(names(known, "beverage", limit=1)) == 1


def test_a_changed_description_is_read_again() -> None:
    first = graph(Velocio="sells tea")
    assert names(first, "coffee") == [("Velocio", ["meaning"])]
    second = first.updated(columns_of([{"kind": "entity", "entity_id": "Velocio", "description": "plays football"}]))
    assert names(second, "coffee") == []
    assert names(second, "sells") == []
    assert names(second, "football") == [("Velocio", ["description", "meaning"])]


def test_only_what_changed_is_embedded() -> None:
    asked: list[str] = []

    def counting(texts: Sequence[str]) -> np.ndarray:
        asked.extend(texts)
        return embed(texts)

    texts = NodeTexts()
    texts.vectors(["a", "b"], ["", "x"], counting)
    texts.vectors(["a", "b", "c"], ["", "y", ""], counting)
    texts.vectors(["a", "b", "c"], ["", "y", ""], counting)
    assert asked == ["a", "b. x", "b. y", "c"]


def test_edges_rank_by_rare_words() -> None:
    known = graph("Alice likes tea", "Bob likes coffee", "Carol likes chess")
    best, scores = rank_edges(known, "who likes chess")
    assert [known.triple(edge)[0] for edge in best] == ["Carol", "Alice", "Bob"]
    assert scores[best[0]] > 2 * scores[best[1]]


def test_distance_of_meaning() -> None:
    known = graph("tea to coffee", "coffee to chess")
    assert semantic_distance(known, 0, embed).tolist() == [0, 0, 1]


def test_without_an_embedder_words_in_common_are_near() -> None:
    known = graph("green_tea to tea_house", "tea_house to chess")
    distance = semantic_distance(known, 0, None)
    assert distance[0] == 0
    assert distance[1] == pytest.approx(1 - 1 / 5)  # green_tea, green, tea; tea_house, tea, house
    assert distance[2] == 1


def test_the_semantic_path_stays_on_the_subject() -> None:
    known = graph("start to chess", "chess to tea", "start to coffee", "coffee to x", "x to tea")
    start, goal = known.find("start"), known.find("tea")
    assert start is not None
    assert goal is not None

    def path(strategy: str) -> list[str]:
        found = guided_path(known, start, goal, strategy, 5, LANDMARK, embed)  # type: ignore[arg-type]
        assert found is not None
        return [known.nodes.names[node] for node in found.nodes]

    assert path("shortest") == ["start", "chess", "tea"]
    near = known.updated(columns_of([{"kind": "entity", "entity_id": "x", "description": "beverage"}]))
    found = guided_path(near, start, goal, "semantic", 5, LANDMARK, embed)
    assert found is not None
    assert [near.nodes.names[node] for node in found.nodes] == ["start", "coffee", "x", "tea"]
    assert found.cost == pytest.approx(0, abs=1e-6)
