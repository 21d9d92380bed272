"""The episode index: blocks, their bytes, and an index that answers alike however its episodes were folded."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest
from am_server.memory.blocks import Block, build, merge
from am_server.memory.index import NOBODY, Index
from am_server.memory.postings import META, term_hashes
from am_server.memory.recall import recall
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.episodes import START, row

WORDS = "rain snow sun wind cloud storm frost hail river lake hill tree bird fish boat road".split()


def some_rows(count: int, seed: int = 1):
    rng = random.Random(seed)
    texts = [" ".join(rng.choices(WORDS, k=rng.randint(2, 9))) + rng.choice(["", "?", " yesterday"]) for _ in range(count)]
    return [
        row(n, text, session=f"s{rng.randint(0, count // 6)}" if n % 5 else "", speaker=rng.choice(["Ann", "Bob Lee", ""]))
        for n, text in enumerate(texts)
    ]


def entries(index: Index, term: str) -> dict[int, int]:
    [(numbers, counts)] = index.entries_of(term_hashes([term]))
    return dict(zip(numbers.tolist(), counts.tolist(), strict=True))


def test_a_block_knows_who_holds_a_term():
    index = Index()
    index.add(build([row(0, "rain and rain"), row(1, "snow", speaker="Rain"), row(2, "rain", speaker="Rain")]))
    assert entries(index, "rain") == {0: 2, 1: META, 2: META + 1}
    assert entries(index, "hail") == {}


def test_a_block_comes_back_from_its_bytes():
    block = build(some_rows(300))
    again = Block.from_bytes(block.to_bytes())
    for name in ("ids", "valid_at", "stored_at", "trail", "length", "flags", "session", "speaker", "group"):
        assert np.array_equal(getattr(again.columns, name), getattr(block.columns, name)), name
    for name in ("hashes", "offsets", "ordinals", "counts"):
        assert np.array_equal(getattr(again.postings, name), getattr(block.postings, name)), name
    assert (again.postings.words, again.sessions, again.speakers) == (block.postings.words, block.sessions, block.speakers)
    assert len(block.to_bytes()) < 110 * 300


@pytest.mark.parametrize("rows", [0, 1])
def test_the_smallest_blocks(rows):
    block = Block.from_bytes(build(some_rows(6)[:rows]).to_bytes())
    assert block.count == rows
    index = Index()
    index.add(block)
    assert index.export(0, 9).count == rows
    assert (len(recall(index, "rain snow sun wind", 5)) <= rows, index.living) == (True, rows)


@pytest.mark.parametrize("damage", ["cut", "flip", "other", "empty"])
def test_damage_is_told(damage):
    data = bytearray(build(some_rows(40)).to_bytes())
    if damage == "cut":
        data = data[:-1]
    elif damage == "flip":
        data[len(data) // 2] ^= 1
    else:
        data = bytearray(b"something else entirely" if damage == "other" else b"")
    with pytest.raises(ValueError, match="damaged"):
        Block.from_bytes(bytes(data))


def test_merging_keeps_what_is_alive():
    rows = some_rows(60)
    parts = [build(rows[:20]), build(rows[20:45]), build(rows[45:])]
    mask = np.arange(25) % 3 > 0
    merged = merge(parts, [None, mask, None])
    expected = build([*rows[:20], *(row for row, keep in zip(rows[20:45], mask, strict=True) if keep), *rows[45:]])
    assert np.array_equal(merged.ids, expected.ids)
    assert np.array_equal(merged.postings.hashes, expected.postings.hashes)
    assert np.array_equal(merged.postings.ordinals, expected.postings.ordinals)
    assert np.array_equal(merged.postings.counts, expected.postings.counts)
    names = [[block.sessions[n] for n in block.columns.session] for block in (merged, expected)]
    assert names[0] == names[1]


def test_neighbours_in_a_session_follow_valid_time_across_blocks():
    index = Index()
    at = [START + minutes * 60_000_000 for minutes in (0, 2, 1, 3)]
    index.add(
        build([row(0, "a", session="s", valid_at=at[0]), row(1, "b", session="s", valid_at=at[1]), row(2, "c", session="t")])
    )
    index.add(build([row(3, "d", session="s", valid_at=at[2]), row(4, "e"), row(5, "f")]))
    assert index.following.tolist() == [3, NOBODY, NOBODY, 1, NOBODY, NOBODY], "episodes without a session have no neighbours"
    assert index.previous.tolist() == [NOBODY, 3, NOBODY, 0, NOBODY, NOBODY]
    index.remove([3])
    assert (index.following[0], index.previous[1]) == (1, 0)


def test_episodes_are_found_by_id_while_they_live():
    rows = some_rows(30)
    index = Index()
    index.add(build(rows[:10]))
    index.add(build(rows[10:]))
    assert index.find([rows[12].id, b"\0" * 16, rows[0].id]).tolist() == [12, -1, 0]
    assert index.id_of(12) == rows[12].id
    index.remove([12])
    assert index.find([rows[12].id]).tolist() == [-1]
    assert index.living == 29
    index.add(build([rows[12]]))
    assert index.find([rows[12].id]).tolist() == [30]


def test_selecting():
    index = Index()
    index.add(build([row(n, "x", session="s" if n < 3 else "", speaker="Ann" if n % 2 else "Bob") for n in range(6)]))
    minute = 60_000_000
    assert np.flatnonzero(index.select(session="s")).tolist() == [0, 1, 2]
    assert np.flatnonzero(index.select(speaker="Ann", session="s")).tolist() == [1]
    assert np.flatnonzero(index.select(start=START + minute, end=START + 3 * minute)).tolist() == [1, 2]
    assert not index.select(session="nobody").any()
    assert not index.select(speaker="").any(), "nothing is no name"


def test_a_tail_written_one_by_one_stays_a_few_parts():
    index = Index()
    for each in some_rows(200):
        index.add(build([each]))
    assert len(index.parts) <= 10
    assert index.nbytes < 600 * 200


def answers(index: Index):
    asked = ["rain on the lake", "when did Ann see snow?", "Bob Lee boat yesterday", "7 May 2023", "tree"]
    return [[(index.id_of(hit.number), round(hit.score, 5)) for hit in recall(index, query, 12)] for query in asked]


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.lists(st.integers(1, 119), max_size=6, unique=True), st.sets(st.integers(0, 119), max_size=30))
def test_answers_do_not_depend_on_how_episodes_were_folded(seed, cuts, removed):
    rows = some_rows(120, seed)
    whole = Index()
    whole.add(build([each for n, each in enumerate(rows) if n not in removed]))

    pieces = Index()
    bounds = [0, *sorted(cuts), 120]
    for first, last in itertools.pairwise(bounds):
        pieces.add(Block.from_bytes(build(rows[first:last]).to_bytes()))
    pieces.remove(sorted(removed))
    assert answers(pieces) == answers(whole)

    folded = Index()
    folded.add(Block.from_bytes(pieces.export(0, 70).to_bytes()))
    folded.add(pieces.export(70, 120))
    assert answers(folded) == answers(whole)
