"""Recall: which episodes answer a query, best first.

The recipe was measured on LoCoMo (docs/recall.md has the figures). Lexical scores over the index, widened by near words
when a word table is at hand; dense scores on top when there are vectors; then what is known about who speaks, when, and
in which conversation.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from am_server.memory import question, trails
from am_server.memory.dense import Vectors
from am_server.memory.expansion import Vocabulary, widen
from am_server.memory.fusion import above_mean, over_maximum, ranks, reciprocal_ranks
from am_server.memory.index import Index
from am_server.memory.lexical import LENGTH_FLOOR, Scorer
from am_server.memory.postings import term_hashes
from am_server.memory.question import Question
from am_server.memory.terms import ASKS, TELLS_TIME
from am_server.memory.wordtable import unit

Fusion = Literal["weighted", "rrf"]

WIDENED = 0.5
"""What a near word counts, times its cosine, against a word of the query."""
POOLED, ENCODED = 0.4, 0.6
"""What the dense score counts against the lexical one: for pooled word vectors, and for a sentence encoder."""
SPEAKER, ASKING, TIMED, SESSION, TRAIL = 1.5, 0.9, 1.2, 0.35, 1.0
"""Factors: the named speaker's episodes; episodes that ask; those that tell a time when that is asked; the share of the
session's best score that each of its episodes gains; the most that a trail adds."""
TRAIL_HALF = 10
"""The weight at which a trail adds half of TRAIL: a new episode's 1 counts little, and a path that is used a lot moves an
episode past others that answer about as well."""

Scores = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Hit:
    """An episode that answers."""

    number: int
    """In the index."""
    score: float
    ranks: Mapping[str, int]
    """Its place in each leg (`lexical`, `dense`, `trail`), 1 for the best, where it has one; only when asked for."""


def recall(
    index: Index,
    query: str,
    limit: int,
    *,
    vocabulary: Vocabulary | None = None,
    vectors: Vectors | None = None,
    encoded: Scores | None = None,
    fusion: Fusion = "weighted",
    allowed: NDArray[np.bool_] | None = None,
    trails_at: int | None = None,
    names: Collection[str] = (),
    explain: bool = False,
) -> list[Hit]:
    """At most `limit` episodes, best first; of the chunks of one text only the best.

    Without `vocabulary` and `vectors` the search is lexical alone. `vocabulary` (brought up to date) widens the query.
    `vectors` adds the dense leg: with `encoded`, the query's own unit vector, for a sentence encoder; without it, for
    vectors of `dense.pooled`, and the vocabulary's table pools the query. `allowed` (bool[index.count], see
    `Index.select`) restricts the search, `trails_at` (microseconds since 1970) ranks by trail too.
    """
    asked = question.read(query, index, names)
    among = index.alive if allowed is None else allowed & index.alive
    lexical = np.where(among, lexical_scores(index, asked, vocabulary), np.float32(0))
    legs = {"lexical": lexical}
    if vectors is not None:
        meant = encoded if encoded is not None else _pooled_query(asked, vocabulary)
        if meant is not None:
            legs["dense"] = above_mean(vectors.cosines(meant), among & vectors.present())
    scores = in_context(index, asked, _fuse(legs, fusion, ENCODED if encoded is not None else pooled_weight(index))) * among
    if trails_at is not None:
        weights = trail_weights(index, trails_at)
        legs["trail"] = (weights * (scores > 0)).astype(np.float32)
        scores = scores * (1 + np.float32(TRAIL) * (weights / (TRAIL_HALF + weights)).astype(np.float32))
    best = best_of(index, scores, limit)
    places = {name: ranks(leg) for name, leg in legs.items()} if explain else {}
    return [Hit(n, float(scores[n]), {name: int(rank[n]) for name, rank in places.items() if rank[n]}) for n in best]


def candidates(index: Index, query: str, limit: int, vocabulary: Vocabulary | None = None) -> NDArray[np.int64]:
    """The episodes whose vectors a query needs most: the best by words, best first."""
    scores = lexical_scores(index, question.read(query, index), vocabulary) * index.alive
    return np.array(_top(index, scores, limit), np.int64)


def lexical_scores(index: Index, asked: Question, vocabulary: Vocabulary | None = None) -> Scores:
    """float32[index.count]: the sum of term scores, near words included when there is a vocabulary."""
    scorer = Scorer(index)
    hashes = term_hashes(asked.terms)
    entries = index.entries_of(hashes)
    scorer.add(entries, scorer.rarity(entries))
    if vocabulary is not None and asked.meaning:
        _add_near(scorer, index, asked, vocabulary, hashes)
    return scorer.scores


def _add_near(scorer: Scorer, index: Index, asked: Question, vocabulary: Vocabulary, hashes: NDArray[np.uint64]) -> None:
    """Near words count by their cosine, and never as rarer than the word they stand for."""
    near = widen(vocabulary, asked.meaning, hashes)
    terms = list(dict.fromkeys(one.term for one in near))
    entries = index.entries_of(np.array(terms, np.uint64))
    rarity = dict(zip(terms, scorer.rarity(entries).tolist(), strict=True))
    asked_rarity = scorer.rarity(index.entries_of(term_hashes(asked.meaning))).tolist()
    weights = dict.fromkeys(terms, 0.0)
    for one in near:
        weights[one.term] = max(weights[one.term], WIDENED * one.cosine * min(rarity[one.term], asked_rarity[one.word]))
    scorer.add(entries, np.array(list(weights.values())))


def in_context(index: Index, asked: Question, scores: Scores) -> Scores:
    """Scores after what is known about episodes: who speaks, whether they ask or tell a time, and their session."""
    columns = index.columns
    factor = np.where(columns.flags & ASKS, np.float32(ASKING), np.float32(1))
    if asked.speaker:
        factor[columns.speaker == asked.speaker] *= np.float32(SPEAKER)
    if asked.asks_when:
        factor[(columns.flags & TELLS_TIME) > 0] *= np.float32(TIMED)
    scores = scores * factor
    best = np.zeros(len(index.sessions), np.float32)
    found = np.flatnonzero(scores > 0)
    np.maximum.at(best, columns.session[found], scores[found])
    best[0] = 0
    return scores + np.float32(SESSION) * best[columns.session]


def pooled_weight(index: Index) -> float:
    """What pooled vectors count: less where texts are long, because the mean of many words says less than that of few."""
    lengths = index.columns.length[index.alive]
    return POOLED * min(1.0, LENGTH_FLOOR / max(1.0, float(lengths.mean()))) if len(lengths) else POOLED


def trail_weights(index: Index, at: int) -> NDArray[np.float64]:
    """float64[index.count]: the weight of each episode's trail at that time."""
    return np.asarray(index.columns.trail * trails.weight(1.0, at))


def best_of(index: Index, scores: Scores, limit: int) -> list[int]:
    """The numbers of the best episodes with a score above zero, one for each chunked text; among equals the oldest."""
    take = limit
    while True:
        order = _top(index, scores, take)
        best = _first_of_each_group(index, order)
        if len(best) >= limit or len(order) < take:
            return best[:limit]
        take *= 2


def _top(index: Index, scores: Scores, take: int) -> list[int]:
    found = np.flatnonzero(scores > 0)
    if len(found) > take:
        least = np.partition(scores[found], len(found) - take)[len(found) - take]
        found = found[scores[found] >= least]
    columns = index.columns
    order = np.lexsort((columns.stored_at[found], columns.valid_at[found], -scores[found]))
    return [int(number) for number in found[order][:take]]


def _first_of_each_group(index: Index, order: Sequence[int]) -> list[int]:
    groups, seen, best = index.columns.group, set(), []
    for number in order:
        group = int(groups[number])
        if not group or group not in seen:
            seen.add(group)
            best.append(number)
    return best


def _fuse(legs: Mapping[str, Scores], fusion: Fusion, weight: float) -> Scores:
    if fusion == "rrf" and "dense" in legs:
        return over_maximum(reciprocal_ranks(list(legs.values())))
    lexical = over_maximum(legs["lexical"])
    return lexical + np.float32(weight) * legs["dense"] if "dense" in legs else lexical


def _pooled_query(asked: Question, vocabulary: Vocabulary | None) -> Scores | None:
    if vocabulary is None or not asked.meaning:
        return None
    return unit(vocabulary.table.vectors(asked.meaning).sum(axis=0))
