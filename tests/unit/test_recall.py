"""Recall on small memories: what ranks where, and why."""

from __future__ import annotations

import numpy as np
import pytest
from am_server.memory import trails
from am_server.memory.recall import candidates, recall

from tests.unit.episodes import START, Memory, notes, row, talk

BOTH = pytest.mark.parametrize("hybrid", [True, False])

DECOYS = ["The weather was fine all week", "Lunch is at noon in the canteen", "The printer on floor two is out of paper"]

NOTES = [
    "The kitchen tap drips every night since Tuesday",
    "Alice asked about quantum computing and preferred simple analogies",
    "Bob booked a train to Lisbon for the sales conference",
    "The quarterly budget was approved without changes",
    "Carol is allergic to peanuts and carries an adrenaline pen",
]


@BOTH
@pytest.mark.parametrize(
    ("query", "best"),
    [
        ("quantum computing analogies", 1),
        ("train Lisbon", 2),
        ("peanuts", 4),
        ("was the budget approved?", 3),
        ("kitchen tap", 0),
    ],
)
def test_the_right_note_comes_first(query, best, hybrid):
    assert notes(*NOTES).ask(query, hybrid=hybrid)[0] == NOTES[best]


@BOTH
@pytest.mark.parametrize(
    "name",
    ["POL-358", "GB/s", "don't", "ns:widget", "user@example.com", "v2.3.1", "snake_case_name", r"C:\temp\log.txt", "#4711"],
)
def test_identifiers(name, hybrid):
    text = f"see {name} for details"
    assert notes(*DECOYS, text).ask(name, hybrid=hybrid)[0] == text


@BOTH
@pytest.mark.parametrize("word", ["AND", "NOT", '"quoted"', "🍸"])
def test_words_of_query_languages_are_words(word, hybrid):
    text = f"see {word} for details"
    assert notes(*DECOYS, text).ask(word, hybrid=hybrid)[0] == text


@BOTH
@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("我们决定采用数据库迁移方案", "数据库"),
        ("資料庫遷移前一定要先備份", "備份"),
        ("明日の会議で予算を承認する", "予算"),
        ("회의에서 예산을 승인했다", "예산"),
        ("我家的猫很可爱", "猫"),
        ("พรุ่งนี้ประชุมงบประมาณ", "งบประมาณ"),
        ("बजट कल मंज़ूर हुआ", "बजट"),
    ],
)
def test_scripts_without_spaces(text, query, hybrid):
    assert notes(*DECOYS, "今天天气很好", "회사 점심은 열두 시", text).ask(query, hybrid=hybrid)[0] == text


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("DO NOT find, use locate", "find use"),
        ("To be, or not to be", "to be or not to be"),
        ("The Who were on before", "the who before"),
    ],
)
def test_a_query_of_function_words(text, query):
    assert notes(*DECOYS, text).ask(query, hybrid=False)[0] == text


@BOTH
def test_common_words_do_not_drown_the_rare_one(hybrid):
    memory = notes(*(f"The the of the {place} and the the of it" for place in range(30)), "User resides in Lisbon")
    assert memory.ask("where in the world of the user is Lisbon", hybrid=hybrid)[0] == "User resides in Lisbon"


@BOTH
def test_the_exact_phrase_beats_a_repeated_word(hybrid):
    text = "We talked about gentle coding habits"
    assert notes(*DECOYS, "coding " * 13, text).ask("gentle coding", hybrid=hybrid)[0] == text


@BOTH
def test_one_absent_word_does_not_hide_the_answer(hybrid):
    text = "Melanie painted a sunrise over the lake last year"
    found = notes(*DECOYS, text).ask("What was the subject that Melanie painted before her exhibition in Berlin?", hybrid=hybrid)
    assert found[0] == text


def test_near_duplicates_are_told_apart():
    assert notes("run 41: 312 ms", "run 42: 318 ms").ask("run 42", hybrid=False)[0] == "run 42: 318 ms"


def test_a_word_that_is_nowhere_finds_nothing():
    memory = notes(*NOTES)
    assert memory.ask("zzyzx", hybrid=False) == []
    assert memory.ask('* " -', hybrid=True) == []
    assert memory.ask("", hybrid=True) == []


def test_an_empty_memory():
    memory = Memory([])
    assert memory.ask("anything") == memory.ask("anything", hybrid=False) == []


def test_a_page_of_text_is_a_query():
    assert notes(*NOTES).ask("peanuts " + "word soup " * 20_000 + "x" * 20_000)[0] == NOTES[4]


@BOTH
def test_scores_fall_and_equals_come_oldest_first(hybrid):
    memory = notes(*(f"pump {number} was inspected" for number in range(15)))
    hits = memory.hits("pump inspected", hybrid=hybrid)
    scores = [hit.score for hit in hits]
    assert scores == sorted(scores, reverse=True)
    assert [hit.number for hit in hits] == list(range(15))
    assert [hit.number for hit in memory.hits("pump inspected", 4, hybrid=hybrid)] == [0, 1, 2, 3]


# ---------------------------------------------------------------- what surrounds an episode


def test_a_neighbour_in_the_session_gives_context():
    memory = talk(
        ("s1", "", "How was the pottery class?"),
        ("s1", "", "It was great, I made a bowl with a dog on it"),
        ("s2", "", "It was great, the cake had nuts on it"),
    )
    assert memory.ask("pottery bowl or cake", hybrid=False)[0] == memory.texts[1]
    assert memory.ask("pottery", hybrid=False) == memory.texts[:2], "the turn after the word is found, other sessions are not"


def test_the_named_speaker_comes_first():
    memory = talk(("s1", "Ann Lee", "I love hiking"), ("s2", "Bob", "I love hiking"), ("s3", "Cid", "I love hiking, Bob said"))
    assert memory.hits("what does Bob love, hiking?", hybrid=False)[0].number == 1
    assert memory.hits("hiking that Ann loves", hybrid=False)[0].number == 0, "a first name is enough when one speaker has it"
    assert [hit.number for hit in memory.hits("do Ann and Bob love hiking", hybrid=False)][:2] == [0, 1], "two names boost nobody"


def test_who_asks_does_not_answer():
    memory = notes("Did you fix the gate?", "I did fix the gate")
    assert memory.hits("fix the gate", hybrid=False)[0].number == 1


def test_when_prefers_what_tells_a_time():
    memory = notes("We adopted the dog from the shelter", "We adopted the dog on Tuesday")
    assert memory.hits("when did they adopt the dog", hybrid=False)[0].number == 1
    assert memory.hits("did they adopt the dog", hybrid=False)[0].number == 0


def test_a_date_finds_what_happened_then():
    day = 86_400_000_000
    memory = Memory(
        [
            ("We went sailing yesterday", row(0, "We went sailing yesterday", valid_at=START)),
            ("We went sailing", row(1, "We went sailing", valid_at=START + 40 * day)),
        ]
    )
    assert memory.hits("sailing on 7 May 2023", hybrid=False)[0].number == 0
    assert memory.hits("sailing in June", hybrid=False)[0].number == 1


def test_a_session_with_a_strong_hit_lifts_its_other_episodes():
    memory = talk(
        ("s1", "", "The harbour tour starts at the lighthouse harbour"),
        ("s1", "", "Fine"),
        ("s1", "", "Fine by me"),
        ("s1", "", "Bring a coat, it is cold"),
        ("s2", "", "Bring a coat, it is cold"),
    )
    assert memory.ask("harbour lighthouse coat", hybrid=False)[0] == memory.texts[0]
    assert [hit.number for hit in memory.hits("harbour lighthouse coat", hybrid=False)].index(3) < 4


def test_near_words_are_found_by_a_hybrid_search_only():
    memory = notes("She bought a puppy", "He sold the bicycle", "They planted tomatoes")
    assert memory.ask("dog", hybrid=True)[0] == "She bought a puppy"
    assert memory.ask("dog", hybrid=False) == []


def test_a_month_is_not_a_near_word_of_another():
    memory = notes("The fair is in June", "She bought a puppy")
    assert "The fair is in June" in memory.ask("fair in July")
    assert memory.ask("July") == []


def test_the_word_itself_beats_a_near_word():
    memory = notes("She bought a puppy", "A dog barked", "They planted tomatoes")
    assert memory.ask("dog")[:2] == ["A dog barked", "She bought a puppy"]


# ---------------------------------------------------------------- long texts and chunks


def test_a_long_text_is_not_preferred_for_its_length():
    filler = " ".join(f"topic{n}" for n in range(400))
    memory = notes(f"{filler} budget {filler}", "The budget was approved", *DECOYS)
    assert memory.hits("budget", hybrid=False)[0].number == 1


def test_chunks_of_one_text_collapse_to_the_best():
    group = b"g" * 16
    rows = [
        row(0, "harbour", group=group),
        row(1, "harbour lighthouse", group=group),
        row(2, "harbour"),
        row(3, "lighthouse keeper"),
    ]
    memory = Memory([(str(n), each) for n, each in enumerate(rows)])
    assert [hit.number for hit in memory.hits("harbour lighthouse", hybrid=False)] == [1, 3, 2] or [
        hit.number for hit in memory.hits("harbour lighthouse", hybrid=False)
    ] == [1, 2, 3]
    many = [row(n, "harbour", group=group) for n in range(40)] + [row(40, "harbour town"), row(41, "harbour wall")]
    memory = Memory([(str(n), each) for n, each in enumerate(many)])
    assert len(memory.hits("harbour", 3, hybrid=False)) == 3, "collapsing does not shorten an answer"


# ---------------------------------------------------------------- options


def test_filters_apply_before_the_cut():
    memory = talk(*(("", f"ann{n % 2}", f"pump {n} inspected") for n in range(20)))
    hits = memory.hits("pump inspected", 3, allowed=memory.index.select(speaker="ann1"))
    assert [hit.number for hit in hits] == [1, 3, 5]


def test_removed_episodes_are_not_found():
    memory = notes(*NOTES)
    memory.index.remove([4])
    assert NOTES[4] not in memory.ask("peanuts")


def test_trails_move_an_episode_up_but_not_past_a_better_answer():
    memory = notes("The north pump was inspected", "The south pump was inspected", "The pump")
    memory.index.set_trail(1, trails.deposit(50, START))
    memory.index.set_trail(2, trails.deposit(0.5, START))
    plain = [hit.number for hit in memory.hits("pump inspected", hybrid=False)]
    assert plain[:2] == [0, 1]
    ranked = memory.hits("pump inspected", hybrid=False, trails_at=START, explain=True)
    assert [hit.number for hit in ranked] == [1, 0, 2]
    assert ranked[0].ranks == {"lexical": 2, "trail": 1}


def test_explaining_gives_the_place_in_each_leg():
    hits = notes(*NOTES).hits("kitchen tap", explain=True)
    assert hits[0].ranks == {"lexical": 1, "dense": 1}


def test_reciprocal_ranks_on_request():
    hits = notes(*NOTES).hits("kitchen tap", fusion="rrf")
    assert (hits[0].number, hits[0].score) == (0, pytest.approx(1))
    assert [hit.number for hit in notes(*NOTES).hits("peanuts", fusion="rrf", hybrid=False)] == [4]


def test_an_encoded_query_is_compared_with_encoded_episodes():
    memory = notes("north", "south", "east")
    memory.vectors.put(np.arange(3), np.eye(256, dtype=np.float32)[:3])
    query = np.eye(256, dtype=np.float32)[2]
    hits = recall(memory.index, "where the sun comes up", 3, vectors=memory.vectors, encoded=query)
    assert [hit.number for hit in hits] == [2]


def test_episodes_without_a_vector_are_judged_by_their_words():
    memory = notes("a puppy", "a bicycle", "a dog")
    memory.vectors.put(np.array([0, 1]), np.eye(256, dtype=np.float32)[:2])
    hits = recall(memory.index, "dog", 3, vectors=memory.vectors, encoded=np.eye(256, dtype=np.float32)[0])
    assert [hit.number for hit in hits] == [2, 0]


def test_candidates_to_embed_are_the_best_by_words():
    memory = notes(*DECOYS, *NOTES)
    assert candidates(memory.index, "allergic to peanuts on a budget", 2).tolist() == [7, 6]
