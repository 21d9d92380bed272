"""Reading text into index terms, and what is packed into an episode when it is written."""

from __future__ import annotations

import pytest
from am_server import times
from am_server.memory.terms import (
    ASKS,
    MAX_COUNT,
    TELLS_TIME,
    Terms,
    extract,
    extract_for,
    pack_terms,
    session_of,
    speaker_of,
    unpack_terms,
)
from am_server.memory.timewords import asks_when, has_time
from am_server.memory.tokens import MAX_TERM_CHARS, content_terms, read_tokens, tokens
from hypothesis import given
from hypothesis import strategies as st

MONDAY = times.parse("2023-05-08T13:56:00Z")


def indexed(text: str) -> set[str]:
    return set(extract(text, valid_at=MONDAY).own)


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("The painters were painting Caroline's paintings", ["painter", "paint", "carolin", "paint"]),
        ("well-known POL-358", ["well-known", "well", "known", "pol-358", "pol", "358"]),
        ("GB/s", ["gb/s", "gb"]),
        ("foo_bar, __init__", ["foo_bar", "foo", "bar", "init"]),
        ("v2.3.1", ["v2.3.1", "v2", "3", "1"]),
        ("user@example.com.", ["user@example.com", "user", "exampl", "com"]),
        (r"C:\temp\log.txt", [r"c:\temp\log.txt", "c", "temp", "log", "txt"]),
        ("ns:widget #4711", ["ns:widget", "ns", "widget", "4711"]),
        ("C++ and F# but not C", ["c++", "f#", "c"]),
        ("O'Brien won't, I'll go", ["o'brien", "obrien", "go"]),
        ("on the 7th of May", ["7", "may"]),
        ("2023-05-07", ["2023-05-07", "2023", "may", "7"]),
        ("1,234,567 people", ["1234567", "peopl"]),
        ("wait...what", ["wait"]),
        ("a cocktail 🍸 at eight", ["cocktail", "🍸", "eight"]),
        ("数据库", ["数据", "据库"]),
        ("猫", ["猫"]),
        ("회의에서 예산을", ["회의", "의에", "에서", "예산", "산을"]),
        ("東京tower", ["東京", "tower"]),
        ("हिन्दी में", ["हिन्दी", "में"]),
        ("half an emoji \ud83d", ["half", "emoji"]),
        ('* ( " -', []),
    ],
)
def test_terms_of_a_text(text, terms):
    assert tokens(text) == terms


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("caf\u00e9", "cafe\u0301"),
        ("café", "cafe"),
        ("Straße", "STRASSE"),
        ("ｆｕｌｌ", "full"),
        ("don’t stop", "don't stop"),
        ("東京ﾀﾜｰ", "東京タワー"),
    ],
)
def test_spellings_that_meet(one, other):
    assert tokens(one) == tokens(other)


def test_marks_that_tell_words_apart_stay():
    assert tokens("мой") != tokens("мои")


@pytest.mark.parametrize(
    ("query", "terms"),
    [
        ("To be, or not to be", ["to", "be", "or", "not", "to", "be"]),
        ("the who before", ["the", "who", "before"]),
        ("don't", ["don't"]),
        ("AND", ["and"]),
    ],
)
def test_a_query_of_function_words_keeps_them(query, terms):
    assert tokens(query) == terms
    assert content_terms(query) == []


def test_function_words_are_indexed_where_they_may_be_the_point():
    assert {"to", "be", "or", "not"} <= indexed("To be, or not to be, says Hamlet")
    assert "the" not in indexed("The cook put the onions into the pan and then the carrots, while the potatoes were boiling")


def test_a_single_character_is_found_inside_a_run():
    assert set(tokens("猫")) <= indexed("我们家的猫很可爱")
    assert set(tokens("猫")) <= indexed("猫が好き")


def test_a_very_long_word_is_cut_alike_in_text_and_query():
    assert tokens("x" * 20_000) == ["x" * MAX_TERM_CHARS]
    assert tokens("x" * 20_000)[0] in indexed("x" * 30_000)


@given(st.text(max_size=60))
def test_what_is_written_is_found_under_the_same_words(text):
    read = {token.term for token in read_tokens(text, every_character=True)}
    assert set(tokens(text)) <= read
    assert all("\n" not in term and term for term in read)


# ---------------------------------------------------------------- what an episode's surroundings add


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("I went yesterday", {"7", "may", "2023"}),
        ("see you tomorrow", {"9", "may", "2023"}),
        ("last Friday we met", {"5", "may"}),
        ("next friday we meet", {"12", "may"}),
        ("on Monday I start", {"1", "may"}),
        ("two weeks ago", {"april", "2023"}),
        ("10 days ago", {"28", "april"}),
        ("a couple of days later", {"10", "may"}),
        ("last weekend", {"6", "7", "may"}),
        ("last month", {"april"}),
        ("last year", {"2022"}),
        ("three years ago", {"2020"}),
        ("last December", {"decemb", "2022"}),
        ("900 years from now", {"2923"}),
    ],
)
def test_relative_dates_are_indexed_as_dates(text, terms):
    meta = extract(text, valid_at=MONDAY).meta
    assert terms <= meta
    assert {"8", "may", "2023"} <= meta, "the day itself is there too"


def test_dates_at_the_edges_of_time_are_no_error():
    first = times.parse("0001-01-01")
    assert extract("yesterday, 500 years ago, last month", valid_at=first).meta >= {"1", "januari"}
    assert extract("tomorrow, 9 years later", valid_at=times.parse("9999-12-31")).meta >= {"31", "decemb", "9999"}


@pytest.mark.parametrize(
    "text", ["We met on Tuesday", "It was 2019", "at 10:30 pm", "two hours later", "last summer", "in May", "yesterday"]
)
def test_time_expressions(text):
    assert has_time(text)


@pytest.mark.parametrize("text", ["I may go", "We march on", "The second house", "A fine tune"])
def test_no_time_expressions(text):
    assert not has_time(text)


@pytest.mark.parametrize(
    "text",
    ["When did Ann move?", "what year was that", "And when is it due?", "How long ago did they meet?", "tell me when Ann moved"],
)
def test_questions_for_a_time(text):
    assert asks_when(text)


@pytest.mark.parametrize(
    "text", ["What did Ann say when she moved?", "Whenever", "Who moved?", "Is it known who moved when Ann did?"]
)
def test_other_questions(text):
    assert not asks_when(text)


def test_flags_and_length():
    terms = extract("Are you coming tomorrow?", valid_at=MONDAY)
    assert terms.flags == ASKS | TELLS_TIME
    assert terms.length == 2
    assert extract("POL-358 is closed", valid_at=MONDAY).length == 2, "the parts of an identifier are not counted again"


@pytest.mark.parametrize(
    ("metadata", "session", "speaker"),
    [
        (None, "", ""),
        ({"session_id": "s1", "speaker": "Ann", "producer": "x", "role": "user"}, "s1", "Ann"),
        ({"producer": "Bob", "role": "user"}, "", "Bob"),
        ({"session_id": 7, "role": "assistant"}, "7", "assistant"),
        ({"session_id": ["a"], "speaker": {"name": "x"}}, "", ""),
        ({"speaker": "  ", "role": "user\ud83d"}, "", "user"),
    ],
)
def test_session_and_speaker_of_metadata(metadata, session, speaker):
    assert (session_of(metadata), speaker_of(metadata)) == (session, speaker)
    terms = extract_for("x", metadata, valid_at=MONDAY)
    assert (terms.session, terms.speaker) == (session, speaker)
    assert set(tokens(speaker)) <= terms.meta


# ---------------------------------------------------------------- packing


def test_packed_terms_come_back():
    terms = extract_for(
        "Caroline painted 数据库 on POL-358, don't ask", {"session_id": "s", "speaker": "Ann Lee"}, valid_at=MONDAY
    )
    assert unpack_terms(pack_terms(terms)) == terms
    assert unpack_terms(pack_terms(extract("", valid_at=MONDAY))).own == {}


def test_packed_terms_are_small_and_counts_are_capped():
    text = "I went to a support group yesterday and it was so powerful. Hey Caroline, nice to hear from you!"
    assert len(pack_terms(extract(text, valid_at=MONDAY))) < 1.6 * len(text)
    assert extract("word " * 500, valid_at=MONDAY).own == {"word": MAX_COUNT}


@pytest.mark.parametrize("damage", [b"", b"\x00", b"abc", pack_terms(Terms({"a": 1}, frozenset()))[:-3]])
def test_damaged_terms_are_told(damage):
    with pytest.raises(ValueError, match="no packed terms"):
        unpack_terms(damage)


def test_writing_reads_no_arrays():
    import subprocess
    import sys

    code = (
        "from am_server.memory.terms import extract_for, pack_terms; import sys\n"
        "pack_terms(extract_for('painted yesterday', {'speaker': 'Ann'}, valid_at=0)); print('numpy' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"
