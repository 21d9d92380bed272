"""Ways of ranking texts for a query: the plain ones that everybody has, and ours, ingredient by ingredient."""

from __future__ import annotations

import re
import uuid
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import bm25s
import numpy as np
from am_server.embed.minilm import MiniLmEmbedder
from am_server.embed.port import Embedder, EmbedderUnavailable
from am_server.embed.static import StaticEmbedder, word_table
from am_server.memory.blocks import Row, build
from am_server.memory.dense import ENCODED_CONTEXT, POOLED_CONTEXT, Vectors, pooled
from am_server.memory.expansion import Vocabulary
from am_server.memory.fusion import reciprocal_ranks
from am_server.memory.index import Index
from am_server.memory.recall import recall
from am_server.memory.terms import extract
from am_server.memory.tokens import tokens
from am_server.views.meaning import without_names
from numpy.typing import NDArray

Scores = NDArray[np.float32]
Ranker = Callable[[str], Scores]
"""float32[n] for a query: higher is better, zero and less is no match."""

DEPTH = 50


@dataclass(frozen=True)
class Document:
    """A text and what is known about it. Times in microseconds since 1970."""

    text: str
    valid_at: int = 0
    session: str = ""
    speaker: str = ""


def plain_tokens(text: str) -> list[str]:
    """Lower-case words of two characters and more, as libraries split by default."""
    return re.findall(r"\b\w\w+\b", text.lower())


def tfidf(documents: Sequence[Document]) -> Ranker:
    """Cosine of TF-IDF vectors with scikit-learn's defaults: raw counts, idf ln((1 + n) / (1 + df)) + 1."""
    counts = [Counter(plain_tokens(document.text)) for document in documents]
    places = {term: place for place, term in enumerate(sorted(set().union(*counts)))}
    matrix = np.zeros((len(documents), len(places)), np.float32)
    for number, each in enumerate(counts):
        for term, count in each.items():
            matrix[number, places[term]] = count
    idf = np.log((1 + len(documents)) / (1 + (matrix > 0).sum(axis=0))) + 1
    matrix *= idf
    matrix /= np.maximum(np.linalg.norm(matrix, axis=1, keepdims=True), 1e-9)

    def rank(query: str) -> Scores:
        asked = np.zeros(len(places), np.float32)
        for term, count in Counter(plain_tokens(query)).items():
            if term in places:
                asked[places[term]] = count
        return (matrix @ (asked * idf)).astype(np.float32)

    return rank


def bm25(documents: Sequence[Document], split: Callable[[str], list[str]], k1: float, b: float) -> Ranker:
    """BM25 of the bm25s library, in Lucene's form."""
    model = bm25s.BM25(k1=k1, b=b, method="lucene")
    model.index([split(document.text) for document in documents], show_progress=False)

    def rank(query: str) -> Scores:
        known = [term for term in split(query) if term in model.vocab_dict]
        return np.asarray(model.get_scores(known), np.float32) if known else np.zeros(len(documents), np.float32)

    return rank


def dense(documents: Sequence[Document], embedder: Embedder) -> Ranker:
    """Cosine of text and query as the embedder gives them."""
    vectors = embedder.embed([document.text for document in documents])
    return lambda query: vectors @ embedder.embed([query])[0]


def fused(*legs: Ranker) -> Ranker:
    """Reciprocal rank fusion, k = 60."""
    return lambda query: reciprocal_ranks([leg(query) for leg in legs])


def ours(documents: Sequence[Document], encoder: Embedder | None = None) -> dict[str, Ranker]:
    """The recipe: lexical alone, widened, with pooled vectors, and with those of a sentence encoder when there is one."""
    index = Index()
    rows = [
        Row(uuid.uuid4().bytes, extract(d.text, valid_at=d.valid_at, session=d.session, speaker=d.speaker), d.valid_at, number)
        for number, d in enumerate(documents)
    ]
    index.add(build(rows))
    vocabulary = Vocabulary(word_table())
    vocabulary.update(index)
    everything = np.arange(index.count)
    from_words = Vectors(index, vocabulary.table.dimension, POOLED_CONTEXT)
    from_words.put(everything, pooled(index, 0, index.count, vocabulary.table))
    rankers = {
        "ours A: lexical": lambda query: _found(index, query),
        "ours B: A + near words": lambda query: _found(index, query, vocabulary=vocabulary),
        "ours C: B + pooled word vectors (default)": lambda query: _found(
            index, query, vocabulary=vocabulary, vectors=from_words
        ),
        "ours C fused by ranks (AM_FUSION=rrf)": lambda query: _found(
            index, query, vocabulary=vocabulary, vectors=from_words, fusion="rrf"
        ),
    }
    if encoder is not None:
        encoded = Vectors(index, encoder.dimension, ENCODED_CONTEXT)
        encoded.put(everything, encoder.embed([document.text for document in documents]))
        rankers["ours E: B + MiniLM (AM_EMBEDDER=minilm)"] = lambda query: _found(
            index, query, vocabulary=vocabulary, vectors=encoded, encoded=encoder.embed([without_names(query, index)])[0]
        )
    return rankers


def installed_encoder() -> Embedder | None:
    """MiniLM where `make minilm` has been run."""
    encoder = MiniLmEmbedder()
    try:
        encoder.embed(["x"])
    except EmbedderUnavailable:
        return None
    return encoder


def plain(documents: Sequence[Document], encoder: Embedder | None) -> dict[str, Ranker]:
    """What a library gives without further thought, and rank fusion of a good lexical ranking with a dense one."""
    good = bm25(documents, tokens, 0.9, 0.0)
    found: dict[str, Ranker] = {
        "TF-IDF cosine": tfidf(documents),
        "BM25, plain words (k1 1.2, b .75)": bm25(documents, plain_tokens, 1.2, 0.75),
        "BM25, our tokens (k1 1.2, b .75)": bm25(documents, tokens, 1.2, 0.75),
        "BM25, our tokens (k1 .9, b 0)": good,
        "word table alone": dense(documents, StaticEmbedder()),
    }
    found["RRF of BM25 (k1 .9, b 0) and word table"] = fused(good, found["word table alone"])
    if encoder is not None:
        found["MiniLM alone"] = dense(documents, encoder)
        found["RRF of BM25 (k1 .9, b 0) and MiniLM"] = fused(good, found["MiniLM alone"])
    return found


def best(scores: Scores) -> list[int]:
    """The numbers of the first DEPTH, earlier ones first among equals."""
    order = np.argsort(-scores, kind="stable")[:DEPTH]
    return [int(number) for number in order if scores[number] > 0]


def _found(index: Index, query: str, **options: object) -> Scores:
    scores = np.zeros(index.count, np.float32)
    for place, hit in enumerate(recall(index, query, DEPTH, **options)):  # type: ignore[arg-type]
        scores[hit.number] = DEPTH - place
    return scores
