"""Statements: where sentences end, and which category they get."""

import pytest
from am_server.memory.statements import CATEGORIES, category, sentences, title


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("  \n ... \n", []),
        ("One thing", ["One thing"]),
        ("I moved to Bern. My sister lives in Basel!", ["I moved to Bern.", "My sister lives in Basel!"]),
        ("Dr. Smith met J. R. Tolkien. It was at 3.5 km.", ["Dr. Smith met J. R. Tolkien.", "It was at 3.5 km."]),
        ('"Really?" he said. "Yes."', ['"Really?" he said.', '"Yes."']),
        ("I live in the U.S. now. You too", ["I live in the U.S. now.", "You too"]),
        ("1. first\n2. second", ["1. first", "2. second"]),
        ("今日は良い。明日も行く！", ["今日は良い。", "明日も行く！"]),
        ("so do I. and you", ["so do I.", "and you"]),
    ],
)
def test_sentences(text, expected):
    assert sentences(text) == expected


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("Where do you live?", "question"),
        ("I love hiking.", "preference"),
        ("We'll visit Rome.", "plan"),
        ("She moved last May.", "event"),
        ("On 2024-02-10 the pump failed.", "event"),
        ("My name is Ada.", "profile"),
        ("The pump stands in hall 3.", "fact"),
        ("水泵在三号厅。", "fact"),
    ],
)
def test_category(sentence, expected):
    assert category(sentence) == expected
    assert expected in CATEGORIES


def test_title():
    assert title("“The pump, in Hall 3.5, wasn't running today!”") == "the pump in hall 3.5 wasn't"
