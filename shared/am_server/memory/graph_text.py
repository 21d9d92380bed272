"""Finding edges and entities by words and by meaning.

Words are scored as in episodes: idf times saturated frequency. An edge holds the words of its three parts. An entity holds
the words of its name, its description and its type, and half of those of the facts about it, which are its edges with
whatever lies at their other ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from am_server.memory.graph import Graph
from am_server.memory.graph_csr import Floats
from am_server.memory.lexical import idf, length_norm, saturate
from am_server.memory.node_texts import Embed
from am_server.memory.tokens import tokens

FACTS = 0.5
"""How much of the words of the facts about it an entity counts."""

MEANING = 0.4
"""How much the cosine of a near meaning adds to a word score of at most 1."""

NEAR = 0.2
"""From this cosine on an entity is found for its meaning alone; of unrelated short texts one in 200 comes so near."""

FIELDS = ("name", "description", "type", "facts")

Frequencies = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class EntityMatch:
    """A node that a search found."""

    node: int
    score: float
    matched: Sequence[str]
    """Which of FIELDS hold words of the query, and "meaning" when it is near in meaning."""
    facts: Sequence[int]
    """Edges that hold words of the query, the best first."""


def rank_edges(graph: Graph, query: str) -> tuple[Sequence[int], Frequencies]:
    """The edges that hold words of the query, best first, and the score of every edge."""
    scores = edge_scores(graph, query)
    return _best_first(scores), scores


def edge_scores(graph: Graph, query: str) -> Frequencies:
    """float32[edges]: the word score of each edge, 0 where it holds no word of the query."""
    scores = np.zeros(graph.edges, np.float32)
    for term in dict.fromkeys(tokens(query)):
        _add(scores, _in_edges(graph, term), graph.edges)
    return scores


def rank_named(graph: Graph, query: str) -> list[int]:
    """The nodes whose names hold words of the query, best first."""
    scores = np.zeros(graph.size, np.float32)
    for term in dict.fromkeys(tokens(query)):
        _add(scores, _in_names(graph, term), graph.size)
    return _best_first(scores)


def rank_nodes(graph: Graph, query: str, embed: Embed | None, limit: int) -> list[EntityMatch]:
    """At most `limit` nodes that a query is about, best first: by words, and by meaning when there is an embedder."""
    words = np.zeros(graph.size, np.float32)
    hits: dict[str, NDArray[np.bool_]] = {field: np.zeros(graph.size, np.bool_) for field in FIELDS}
    for term in dict.fromkeys(tokens(query)):
        found = _in_nodes(graph, term)
        for field in FIELDS:
            hits[field] |= found[field] > 0
        total = found["name"] + found["description"] + found["type"] + np.float32(FACTS) * found["facts"]
        _add(words, total, graph.size)
    scores = words / max(float(words.max(initial=0)), 1e-9)
    near = np.zeros(graph.size, np.bool_)
    if embed is not None and graph.size:
        cosines = similarity(graph, query, embed)
        near = cosines >= NEAR
        scores += np.where(near, np.float32(MEANING) * cosines, 0)
    facts = edge_scores(graph, query)
    matches = []
    for node in _best_first(scores)[:limit]:
        matched = [field for field in FIELDS if hits[field][node]] + (["meaning"] if near[node] else [])
        matches.append(EntityMatch(node, float(scores[node]), matched, _facts_of(graph, node, facts)))
    return matches


def similarity(graph: Graph, text: str, embed: Embed) -> Frequencies:
    """float32[nodes]: the cosine of each node's meaning with a text's."""
    vectors = graph.texts.vectors(graph.nodes.names, graph.descriptions, embed)
    return _dots(vectors[: graph.size], embed([text])[0])


def semantic_distance(graph: Graph, goal: int, embed: Embed | None) -> Floats:
    """float64[nodes] in 0..1: how far in meaning each node is from the goal; the goal itself is at 0.

    With an embedder 1 - cosine, without one 1 - the share of words that the two names have in common (Jaccard, 1901).
    """
    if embed is not None:
        vectors = graph.texts.vectors(graph.nodes.names, graph.descriptions, embed)[: graph.size]
        distance: Floats = 1.0 - np.clip(_dots(vectors, vectors[goal]), 0, 1).astype(np.float64)
    else:
        distance = _word_distance(graph, goal)
    distance[goal] = 0.0
    return distance


def _dots(vectors: Frequencies, vector: Frequencies) -> Frequencies:
    # the product operator would split this over threads, and waiting for a busy processor takes longer than the work
    dots: Frequencies = np.einsum("ij,j->i", vectors, vector)
    return dots


def _word_distance(graph: Graph, goal: int) -> Floats:
    terms = graph.nodes.terms_of(goal)
    shared = np.zeros(graph.size)
    for term in terms:
        shared += _in_names(graph, term)
    either = len(terms) + graph.term_counts - shared
    return 1 - shared / np.maximum(either, 1)


def _facts_of(graph: Graph, node: int, scores: Frequencies) -> list[int]:
    edges = graph.edges_of(node)
    return [edges[place] for place in _best_first(scores[edges])]


def _in_edges(graph: Graph, term: str) -> Frequencies:
    """How often the term occurs in each edge."""
    in_names = _in_names(graph, term)
    found: Frequencies = in_names[graph.source] + _in_predicates(graph, term)[graph.predicate] + in_names[graph.target]
    return found


def _in_nodes(graph: Graph, term: str) -> dict[str, Frequencies]:
    """How often the term occurs in each field of each node."""
    names, predicates = _in_names(graph, term), _in_predicates(graph, term)
    facts = np.zeros(graph.size)
    for here, there in ((graph.source, graph.target), (graph.target, graph.source)):
        said = predicates[graph.predicate] + names[there]
        told = np.flatnonzero(said)
        facts += np.bincount(here[told], said[told], graph.size)
    return {
        "name": names,
        "description": _in_descriptions(graph, term),
        "type": _in_types(graph, term),
        "facts": facts.astype(np.float32),
    }


def _in_descriptions(graph: Graph, term: str) -> Frequencies:
    """How often the term occurs in each node's description, counted less in long ones."""
    found = np.zeros(graph.size, np.float32)
    terms = graph.texts.terms(graph.descriptions)
    holding = [node for node in graph.described if term in terms[node]]
    if holding:
        lengths = np.array([min(sum(terms[node].values()), 65_535) for node in holding], np.uint16)
        found[holding] = np.array([terms[node][term] for node in holding], np.float32) / length_norm(lengths)
    return found


def _in_types(graph: Graph, term: str) -> Frequencies:
    found = np.zeros(graph.size, np.float32)
    for type, nodes in graph.of_type.items():
        found[nodes] = term in tokens(type)
    return found


def _in_names(graph: Graph, term: str) -> Frequencies:
    numbers = np.array(graph.nodes.with_term(term), np.int64)
    return np.bincount(numbers[numbers < graph.size], minlength=graph.size).astype(np.float32)


def _in_predicates(graph: Graph, term: str) -> Frequencies:
    numbers = np.array(graph.predicates.with_term(term), np.int64)
    return np.bincount(numbers, minlength=len(graph.predicates)).astype(np.float32)


def _add(scores: Frequencies, frequency: Frequencies, total: int) -> None:
    """Add the score of one term to those that hold it."""
    holding = np.flatnonzero(frequency)
    if len(holding):
        scores[holding] += np.float32(idf(len(holding), total)) * saturate(frequency[holding])


def _best_first(scores: NDArray[np.floating]) -> list[int]:
    """The places of positive scores; equal ones in their order."""
    found = np.flatnonzero(scores > 0)
    best: list[int] = found[np.argsort(-scores[found], kind="stable")].tolist()
    return best
