"""Vectors as bytes, vectors in their surroundings, pooled words, near words, and fusing rankings."""

from __future__ import annotations

import numpy as np
import pytest
from am_server.embed.static import StaticEmbedder, word_table
from am_server.memory.blocks import build
from am_server.memory.dense import Vectors, pooled, quantise
from am_server.memory.expansion import Vocabulary
from am_server.memory.fusion import above_mean, over_maximum, ranks, reciprocal_ranks
from am_server.memory.index import Index
from am_server.memory.postings import term_hash
from am_server.memory.wordtable import unit

from tests.unit.episodes import row

TEXTS = ["She bought a puppy", "He painted the kitchen wall", "pottery, pottery and more Pottery", "1234 #5", "數據庫", ""]


def random_units(count: int, dimension: int = 32, seed: int = 0):
    return unit(np.random.default_rng(seed).normal(size=(count, dimension)).astype(np.float32))


def index_of(*sessions: str) -> Index:
    index = Index()
    index.add(build([row(n, f"episode {n}", session=session) for n, session in enumerate(sessions)]))
    return index


def test_bytes_keep_directions():
    vectors = random_units(50, 256)
    rows, scales = quantise(vectors)
    assert rows.dtype == np.int8
    back = rows * scales[:, None]
    assert (np.sum(unit(back) * vectors, axis=1) > 0.9998).all()
    assert quantise(np.zeros((2, 4), np.float32))[1].tolist() == [0, 0]


@pytest.mark.parametrize("count", [1, 5, 700])
def test_cosines_are_those_of_vectors_with_their_neighbours(count):
    index = index_of(*("s" if n % 7 else "" for n in range(count)))
    exact = random_units(count)
    vectors = Vectors(index, 32, (0.5, 0.3))
    vectors.put(np.arange(count), exact)
    around = np.concatenate([exact, np.zeros((1, 32), np.float32)])
    before, after = np.minimum(index.previous, count), np.minimum(index.following, count)
    expected = unit(exact + 0.5 * around[before] + 0.3 * around[after]) @ exact[0]
    assert np.allclose(vectors.cosines(exact[0]), expected, atol=0.01)


def test_cosines_follow_changes_of_the_index():
    index = index_of("s", "s", "s")
    vectors = Vectors(index, 4, (0.5, 0.3))
    east, north = np.eye(4, dtype=np.float32)[:2]
    vectors.put(np.arange(3), np.array([east, north, north]))
    assert vectors.cosines(east)[1] == pytest.approx(0.5 / np.hypot(0.5, 1.3), abs=0.01)
    index.remove([0])
    assert vectors.cosines(east)[1] == pytest.approx(0, abs=1e-6)
    index.add(build([row(9, "late", session="s")]))
    assert vectors.cosines(east).shape == (4,)
    assert vectors.cosines(east)[3] == 0, "no vector, no cosine"
    vectors.put(np.array([3]), east[None])
    assert vectors.cosines(east)[3] == pytest.approx(1 / np.hypot(1, 0.5), abs=0.01)
    assert vectors.cosines(east)[2] == pytest.approx(0.3 / np.hypot(1.5, 0.3), abs=0.01)


def test_what_is_missing_and_how_much_is_there():
    index = index_of("", "", "", "")
    vectors = Vectors(index, 4, (0.5, 0.3))
    assert vectors.missing().tolist() == [0, 1, 2, 3]
    vectors.put(np.array([1, 2]), random_units(2, 4))
    index.remove([0])
    assert vectors.missing().tolist() == [3]
    assert vectors.coverage() == pytest.approx(2 / 3)
    assert vectors.present().tolist() == [False, True, True, False]
    assert Vectors(Index(), 4, (0, 0)).coverage() == 1


def test_pooling_from_the_index_is_pooling_from_the_text():
    index = Index()
    index.add(build([row(n, text) for n, text in enumerate(TEXTS[:3])]))
    index.add(build([row(3 + n, text) for n, text in enumerate(TEXTS[3:])]))
    table = word_table()
    expected = StaticEmbedder().embed(TEXTS)
    assert np.allclose(pooled(index, 0, 6, table), expected, atol=1e-5)
    assert np.allclose(pooled(index, 1, 5, table), expected[1:5], atol=1e-5)
    assert not expected[3:].any(), "numbers and other scripts are not in the table"


def test_stems_have_the_meaning_of_their_words():
    # neither is in the table as a whole: potteri is read as pottery, and danc as dance
    party, celebration, budget = unit(word_table().vectors(["parti", "celebr", "budget"]))
    assert party @ celebration > party @ budget + 0.1
    pottery, ceramics, budget = unit(word_table().vectors(["potteri", "ceram", "budget"]))
    assert pottery @ ceramics > pottery @ budget + 0.1


def test_near_words_of_an_index():
    index = Index()
    index.add(build([row(0, "a puppy and a kitten"), row(1, "the quarterly budget"), row(2, "pottery, paintings")]))
    vocabulary = Vocabulary(word_table())
    vocabulary.update(index)
    [(hashes, cosines), (none, _)] = vocabulary.nearest(["dog", "zzqx"])
    assert term_hash("puppi") in hashes.tolist()
    assert term_hash("budget") not in hashes.tolist()
    assert (np.diff(cosines) <= 0).all()
    assert len(none) == 0
    index.add(build([row(3, "my dogs bark")]))
    vocabulary.update(index)
    assert vocabulary.nearest(["dog"])[0][0][0] == term_hash("dog")
    assert len(vocabulary.hashes) == len(set(vocabulary.hashes.tolist())) == 9


def test_fusion():
    lexical, dense = np.array([4, 2, 0, 1], np.float32), np.array([0, 0.5, 1, 0], np.float32)
    assert over_maximum(lexical).tolist() == [1, 0.5, 0, 0.25]
    assert over_maximum(np.zeros(2, np.float32)).tolist() == [0, 0]
    assert ranks(lexical).tolist() == [1, 2, 0, 3]
    assert reciprocal_ranks([lexical, dense]).tolist() == pytest.approx([1 / 61, 1 / 62 + 1 / 62, 1 / 61, 1 / 63])


def test_what_stands_out_from_the_mean():
    cosines = np.array([0.2, 0.4, 0.9, 5], np.float32)
    among = np.array([True, True, True, False])
    assert above_mean(cosines, among).tolist() == pytest.approx([0, 0, 1, 0])
    assert above_mean(cosines, np.zeros(4, np.bool_)).tolist() == [0] * 4
    assert above_mean(np.full(3, 0.5, np.float32), np.ones(3, np.bool_)).tolist() == [0] * 3
