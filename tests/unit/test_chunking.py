"""Cutting text, and finding the passage that matters in it."""

from __future__ import annotations

import itertools

import pytest
from am_server.memory.chunking import chunks
from am_server.memory.passages import passage
from hypothesis import given
from hypothesis import strategies as st

PROSE = " ".join(f"Sentence number {number} tells about marker{number:04d}." for number in range(400))


def test_chunks_end_with_sentences_and_overlap():
    cut = chunks(PROSE, 2_800, 450)
    assert 6 <= len(cut) <= 10
    assert all(chunk.rstrip().endswith(".") for chunk in cut)
    assert all(chunk.startswith("Sentence") for chunk in cut)
    for one, next_ in itertools.pairwise(cut):
        shared = next(n for n in range(len(one), 0, -1) if next_.startswith(one[-n:]))
        assert 225 <= shared <= 450


def test_a_line_is_a_better_place_than_a_sentence():
    text = "a. " * 30 + "\n" + "b. " * 60
    assert chunks(text, 120, 0)[0] == "a. " * 30 + "\n"


def test_short_text_is_one_chunk():
    assert chunks("short", 200, 100) == ["short"]


@given(st.text(min_size=1, max_size=2_000), st.integers(1, 300), st.data())
def test_nothing_is_lost_and_chunks_are_small(text, size, data):
    overlap = data.draw(st.integers(0, size // 2))
    cut = chunks(text, size, overlap)
    assert all(0 < len(chunk) <= size for chunk in cut)
    end = 0
    for chunk in cut:
        at = text.find(chunk, max(0, end - overlap))
        assert at <= end
        end = max(end, at + len(chunk))
    assert cut[0] == text[: len(cut[0])]
    assert text.endswith(cut[-1])
    assert sum(map(len, cut)) >= len(text)


@pytest.mark.parametrize("number", [0, 57, 399])
def test_the_passage_holds_the_word_asked_for(number):
    found = passage(PROSE, f"what about marker{number:04d}?", 120)
    assert f"marker{number:04d}" in found
    assert found.startswith("Sentence")
    assert len(found) <= 120


def test_the_passage_holds_most_of_the_query():
    text = "red car. " * 30 + "a red boat on a lake. " + "blue lake. " * 30
    assert "red boat on a lake" in passage(text, "red boat lake", 40)


def test_a_passage_of_a_script_without_blanks():
    text = "。".join(["今日は何もない"] * 50 + ["東京の支店は来月閉店する"] + ["明日も何もない"] * 50)
    assert "東京の支店" in passage(text, "東京の支店", 60)


def test_without_a_match_the_head_is_shown():
    assert passage(PROSE, "zzyzx", 53) == "Sentence number 0 tells about marker0000. Sentence"


def test_short_text_is_shown_whole():
    assert passage("The whole text.", "text", 100) == "The whole text."


@given(st.text(max_size=300), st.text(max_size=40), st.integers(1, 50))
def test_a_passage_is_never_too_long(text, query, most):
    assert len(passage(text, query, most)) <= most
