"""Which old episodes belong together, and what is kept of them."""

from __future__ import annotations

from am_server.memory.consolidation import SUMMARY_CHARS, Old, groups, summary
from am_server.times import DAY, parse

MARCH, MAY = parse("2026-03-05"), parse("2026-05-05")


def test_a_session_is_a_group_in_the_order_of_time():
    old = [Old("second", MARCH + 2, "s1"), Old("first", MARCH + 1, "s1"), Old("other", MARCH, "s2"), Old("last", MARCH + 3, "s1")]
    assert groups(old) == [[1, 0, 3]]


def test_without_a_session_what_is_alike_is_a_group():
    old = [
        Old("The quarterly budget was approved by the board", MARCH),
        Old("Our cat caught a mouse in the garden", MARCH + DAY),
        Old("The board approved the budget for the next quarter", MAY),
        Old("A mouse hid from the cat behind the garden shed", MAY + DAY),
    ]
    assert groups(old) == [[0, 2], [1, 3]]


def test_what_is_like_nothing_else_goes_with_its_month():
    old = [Old("zebra crossing", MARCH), Old("violin lesson", MARCH + DAY), Old("marmalade", MAY)]
    assert groups(old) == [[0, 1]]


def test_a_group_without_a_faint_episode_is_left_alone():
    assert groups([Old("one", MARCH, "s", faint=False), Old("two", MARCH, "s", faint=False)]) == []
    assert groups([Old("one", MARCH, "s", faint=False), Old("two", MARCH, "s")]) == [[0, 1]]


def test_a_long_session_becomes_several_groups():
    found = groups([Old(f"turn {number}", MARCH + number, "s") for number in range(100)])
    assert [len(group) for group in found] == [33, 33, 34]
    assert sorted(number for group in found for number in group) == list(range(100))


def test_a_summary_quotes_and_names_the_speaker():
    text = summary([Old("The budget was approved. Thanks!", MARCH, speaker="Ann"), Old("The cat is ill.", MARCH, speaker="Bob")])
    assert text == "Ann: The budget was approved.\nAnn: Thanks!\nBob: The cat is ill."


def test_of_two_copies_one_is_kept():
    assert summary([Old("the same words", MARCH), Old("the same words", MAY)]) == "the same words"


def test_a_summary_is_short_and_prefers_what_covers_most():
    long = [Old(f"Number {number} says nothing in particular about anything at all here.", MARCH) for number in range(200)]
    text = summary([*long, Old("The lighthouse keeper found a wreck near the northern reef.", MARCH)])
    assert len(text) <= SUMMARY_CHARS
    assert "lighthouse keeper" in text
