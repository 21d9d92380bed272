"""How long a search takes inside, how much memory an episode takes, and what a cold start has to rebuild.

Episodes are random words with the frequencies of the word table's order (Zipf's law), in sessions of twenty between two
speakers. Processor time of one thread, so that other work on the machine counts little.
"""

from __future__ import annotations

import random
import time
import uuid
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any

import numpy as np
from am_server.embed.static import word_table
from am_server.memory.blocks import Block, Row, build
from am_server.memory.dense import POOLED_CONTEXT, Vectors, pooled
from am_server.memory.expansion import Vocabulary
from am_server.memory.index import Index
from am_server.memory.recall import recall
from am_server.memory.stopwords import STOP_WORDS
from am_server.memory.terms import extract, pack_terms

SIZES = (1_000, 10_000, 100_000)
BLOCK = 6_000
QUERIES = 200
START = 1_700_000_000_000_000


def common_words() -> list[str]:
    """Some ten thousand stems, commoner ones first, then as many invented names that no table knows."""
    draw = random.Random(1)
    invented = ["".join(draw.choices("bcdfghklmnprstvwzaeiou", k=draw.randint(6, 9))) for _ in range(10_000)]
    return [word for word in word_table().lexicon if word not in STOP_WORDS] + invented


class Writer:
    """Writes text that looks like talk: half of it function words, the rest words as rare as in English."""

    def __init__(self, seed: int) -> None:
        self._draw = random.Random(seed)
        self._words = common_words()
        self._weights = list(accumulate(1 / (rank + 20) for rank in range(len(self._words))))
        self._small = sorted(STOP_WORDS)

    def text(self, content_words: int) -> str:
        chosen = self._draw.choices(self._words, cum_weights=self._weights, k=content_words)
        return " ".join(f"{self._draw.choice(self._small)} {word}" for word in chosen)

    def rows(self, count: int) -> list[Row]:
        return [self._row(number) for number in range(count)]

    def _row(self, number: int) -> Row:
        at = START + number * 60_000_000
        text = self.text(max(2, int(self._draw.gauss(11, 5))))
        terms = extract(text, valid_at=at, session=f"session {number // 20}", speaker=("Ann", "Bob")[number % 2])
        return Row(uuid.UUID(int=self._draw.getrandbits(128)).bytes, terms, at, at, 1.0)


def speed() -> None:
    """Measure and print."""
    print(f"\nreading and packing an episode: {_median(lambda n: _written(n), 500):.3f} ms")
    heads = ("episodes", "A p50 ms", "C p50 ms", "C p95 ms", "bytes each", "stored bytes each", "load s", "pool s", "add one ms")
    print(f"| {' | '.join(heads)} |\n" + "| --: " * len(heads) + "|")
    for size in SIZES:
        print("| " + " | ".join(_measure(size)) + " |")


def _measure(size: int) -> list[str]:
    writer = Writer(size)
    rows = writer.rows(size)
    stored = [build(rows[start : start + BLOCK]).to_bytes() for start in range(0, size, BLOCK)]
    index, load = Index(), time.thread_time()
    for data in stored:
        index.add(Block.from_bytes(data))
    load = time.thread_time() - load
    vocabulary, vectors, pool = Vocabulary(word_table()), Vectors(index, 256, POOLED_CONTEXT), time.thread_time()
    vocabulary.update(index)
    for start in range(0, size, BLOCK):
        last = min(size, start + BLOCK)
        vectors.put(np.arange(start, last), pooled(index, start, last, vocabulary.table))
    pool = time.thread_time() - pool
    queries = [writer.text(4) for _ in range(QUERIES)]
    dense: dict[str, Any] = {"vocabulary": vocabulary, "vectors": vectors}
    lexical = _times(lambda n: recall(index, queries[n], 12), QUERIES)
    hybrid = _times(lambda n: recall(index, queries[n], 12, **dense), QUERIES)
    memory = (index.nbytes + vocabulary.nbytes + vectors.nbytes) / size
    more = writer.rows(60)
    added = _median(lambda n: _added(index, more[n], vocabulary, vectors), len(more))
    disk = sum(map(len, stored)) / size
    times = [_at(lexical, 0.5), _at(hybrid, 0.5), _at(hybrid, 0.95)]
    return [
        f"{size:,}",
        *(f"{t:.1f}" for t in times),
        f"{memory:.0f}",
        f"{disk:.0f}",
        f"{load:.2f}",
        f"{pool:.2f}",
        f"{added:.1f}",
    ]


def _written(number: int) -> bytes:
    return pack_terms(
        extract(f"I went to support group {number} yesterday and it was so powerful. Hey Caroline, nice!", valid_at=START)
    )


def _added(index: Index, row: Row, vocabulary: Vocabulary, vectors: Vectors) -> None:
    first = index.add(build([row]))
    vocabulary.update(index)
    vectors.put(np.array([first]), pooled(index, first, first + 1, vocabulary.table))


def _times(job: Callable[[int], object], count: int) -> list[float]:
    """Milliseconds of processor time of each."""
    found = []
    for number in range(count):
        began = time.thread_time()
        job(number)
        found.append(1000 * (time.thread_time() - began))
    return sorted(found)


def _median(job: Callable[[int], object], count: int) -> float:
    return _at(_times(job, count), 0.5)


def _at(ordered: Sequence[float], share: float) -> float:
    return ordered[int(share * (len(ordered) - 1))]
