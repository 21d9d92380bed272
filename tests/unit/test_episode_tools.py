"""The episodic tools over an embedded store."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from am_server.errors import Conflict, Invalid
from am_server.memory import trails
from am_server.store.metered import Meter
from am_server.store.port import SERVER_TIME, Query, delete, put
from am_server.times import DAY, parse, show
from am_server.tools.episodes_store import between, deletion_write, edit_write

from tests.unit.calling import Agent, instance

ROOT = "agents/a"


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[Agent]:
    with instance(tmp_path, AM_EMBEDDER="static") as services:
        yield Agent(services)


def know(agent: Agent, *contents: str, **more) -> list[str]:
    return [agent.call("memory_store_episode", content=content, **more)["id"] for content in contents]


def found(agent: Agent, query: str, **options) -> list[str]:
    return [result["episode"]["content"] for result in agent.call("memory_search_episodes", query=query, **options)["results"]]


def costs(meter: Meter) -> tuple[int, int, int]:
    return meter.rpcs, meter.reads, meter.writes


def test_an_episode_is_shown_as_stored_and_nothing_else(agent):
    [id] = know(agent, "A heron", metadata={"place": "pond"}, valid_at="2026-03-01T10:00:00+02:00")
    [episode] = agent.call("memory_get_episodes")["episodes"]
    assert abs(parse(episode.pop("created_at")) - agent.services.clock.now()) < 5_000_000
    assert episode == {"id": id, "content": "A heron", "metadata": {"place": "pond"}, "valid_at": "2026-03-01T08:00:00Z"}


def test_storing_costs_one_round_trip_and_one_document_a_chunk(agent):
    assert costs(agent.cost("memory_store_episode", content="short")) == (1, 0, 1)
    assert costs(agent.cost("memory_store_episode", content="word " * 2_000)) == (1, 0, 4)


def test_searching_costs_one_read_when_nothing_is_new(agent):
    know(agent, *(f"pump {number}" for number in range(20)))
    agent.call("memory_search_episodes", query="pump", limit=5)
    assert costs(agent.cost("memory_search_episodes", query="pump", limit=5)) == (1, 1, 0)


def test_searching_reads_the_contents_it_does_not_have(agent):
    know(agent, *(f"pump {number}" for number in range(20)))
    agent.call("memory_search_episodes", query="nothing")
    assert costs(agent.cost("memory_search_episodes", query="pump", limit=5)) == (2, 6, 0)


def test_a_chunk_tells_which_part_it_is_and_keeps_the_metadata(agent):
    text = " ".join(f"Sentence about marker{number:04d}." for number in range(400))
    stored = agent.call("memory_store_episode", content=text, metadata={"book": "almanac"})
    [result] = agent.call("memory_search_episodes", query="marker0200")["results"]
    episode = result["episode"]
    assert "marker0200" in episode["content"]
    assert episode["chunk"] == {"index": stored["ids"].index(episode["id"]), "count": stored["chunks"], "of": stored["id"]}
    assert episode["metadata"] == {"book": "almanac", "chunk": episode["chunk"]}


def test_of_the_chunks_of_one_text_the_best_is_found(agent):
    agent.call("memory_store_episode", content="The harbour has a crane. " * 400)
    know(agent, "A crane is a bird")
    assert len(found(agent, "crane")) == 2


def test_pages_of_the_newest_episodes(agent):
    ids = know(agent, *(f"note {number}" for number in range(7)))
    seen, cursor = [], None
    for _ in range(3):
        page = agent.call("memory_get_episodes", limit=3, cursor=cursor)
        seen += [episode["id"] for episode in page["episodes"]]
        cursor = page.get("next_cursor")
    assert seen == ids[::-1]
    assert cursor is None
    assert isinstance(agent.error("memory_get_episodes", cursor="rubbish"), Invalid)


def test_pages_of_a_timeline(agent):
    for number in range(5):
        know(agent, f"day {number}", valid_at=f"2026-05-0{number % 2 + 1}T00:00:00Z")
    window = {"start_time": "2026-05-01T00:00:00Z", "end_time": "2026-05-03T00:00:00Z"}
    first = agent.call("memory_search_timeline", **window, limit=3)
    rest = agent.call("memory_search_timeline", **window, limit=3, cursor=first["next_cursor"])
    contents = [episode["content"] for page in (first, rest) for episode in page["episodes"]]
    assert sorted(contents[:3]) == ["day 0", "day 2", "day 4"]
    assert sorted(contents[3:]) == ["day 1", "day 3"]
    assert "next_cursor" not in rest


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({"session_id": "s1"}, {"red fish", "blue fish"}),
        ({"speaker": "Ann"}, {"red fish", "green fish"}),
        ({"metadata": {"n": 2}}, {"blue fish"}),
        ({"metadata": {"n": 2.0, "tags": ["a", "b"]}}, {"blue fish"}),
        ({"metadata": {"n": "2"}}, set()),
        ({"start_time": "2026-02-01", "end_time": "2026-03-01"}, {"blue fish"}),
        ({"session_id": "s1", "speaker": "Ann"}, {"red fish"}),
        ({"session_id": "nowhere"}, set()),
    ],
)
def test_filters_apply_before_the_cut(agent, filters, expected):
    know(agent, "red fish", metadata={"session_id": "s1", "speaker": "Ann", "n": 1}, valid_at="2026-01-01")
    know(agent, "blue fish", metadata={"session_id": "s1", "producer": "Bob", "n": 2, "tags": ["a", "b"]}, valid_at="2026-02-01")
    know(agent, "green fish", metadata={"session_id": "s2", "speaker": "Ann", "n": 3}, valid_at="2026-03-01")
    assert set(found(agent, "fish", **filters)) == expected
    assert len(found(agent, "fish", limit=1, **filters)) == min(1, len(expected))


def test_an_explained_search_gives_the_ranks(agent):
    know(agent, "The kitchen tap drips", "A train to Lisbon")
    [first, *_] = agent.call("memory_search_episodes", query="tap drips", explain=True, use_pheromone=True)["results"]
    assert first["ranks"]["lexical"] == first["ranks"]["dense"] == 1
    assert "ranks" not in agent.call("memory_search_episodes", query="tap")["results"][0]


def test_a_trimmed_result_keeps_the_passage_that_matches(agent):
    know(agent, "Nothing here. " * 300 + "The heron stood in the pond. " + "Nothing there. " * 300)
    [content, *_] = found(agent, "heron", max_content_chars=60)
    assert "heron" in content
    assert len(content) <= 60


def test_a_search_with_trails_reinforces_what_it_returns_in_one_commit(agent):
    ids = know(agent, *(f"pump {number}" for number in range(5)))
    found(agent, "zzyzx", use_hybrid=False)
    meter = agent.cost("memory_search_episodes", query="pump", limit=3, use_pheromone=True)
    assert (meter.rpcs, meter.writes) == (3, 3)
    now = agent.services.clock.now()
    weights = [trails.weight(agent.services.store.get(f"{ROOT}/episodes/{id}").data["trail"], now) for id in ids]
    assert sorted(round(weight, 3) for weight in weights) == [1, 1, 1.2, 1.2, 1.2]


def test_a_deleted_episode_is_nowhere(agent):
    gone, _ = know(agent, "an old heron", "a young heron")
    assert len(found(agent, "heron")) == 2
    agent.services.store.commit([deletion_write(ROOT, gone, agent.services.clock.now())])
    assert found(agent, "heron") == ["a young heron"]
    assert [episode["content"] for episode in agent.call("memory_get_episodes")["episodes"]] == ["a young heron"]
    assert len(between(agent.services.store, ROOT, 0, 2**60, None)) == 1
    assert agent.services.store.count(Query(f"{ROOT}/episodes")) == 2, "the tombstone stays, so that every view hears of it"


def test_an_episode_whose_tombstone_was_purged_is_not_found(agent):
    gone, _ = know(agent, "an old heron", "a young heron")
    assert len(found(agent, "heron")) == 2
    agent.services.views.forget("a")
    found(agent, "zzyzx", use_hybrid=False)
    agent.services.store.commit([delete(f"{ROOT}/episodes/{gone}")])
    assert found(agent, "heron", limit=1) == ["a young heron"]


def test_edited_metadata_is_seen_by_a_view_that_keeps_the_episode(agent):
    know(agent, "a heron", metadata={"place": "pond"})
    found(agent, "heron")
    [episode] = between(agent.services.store, ROOT, 0, 2**60, None)
    agent.services.store.commit([edit_write(ROOT, episode, {"place": "garden"}, agent.services.clock.now())])
    [result] = agent.call("memory_search_episodes", query="heron")["results"]
    assert result["episode"]["metadata"] == {"place": "garden"}
    assert found(agent, "heron", metadata={"place": "garden"}) == ["a heron"]
    assert found(agent, "heron", metadata={"place": "pond"}) == []


def test_another_agents_episodes_are_never_found(agent):
    know(agent, "a heron")
    assert found(Agent(agent.services, "b"), "heron") == []


def test_without_an_embedder_a_search_is_lexical(tmp_path):
    with instance(tmp_path, AM_EMBEDDER="none") as services:
        agent = Agent(services)
        know(agent, "a heron")
        assert agent.call("memory_search_episodes", query="heron")["retrieval"] == "tfidf"


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"content": "x" * 70_000}, "content"),
        ({"content": " \n"}, "content"),
        ({"content": "x", "metadata": {"a": float("nan")}}, "metadata"),
        ({"content": "x", "metadata": {"a": "x" * 17_000}}, "metadata"),
        ({"content": "x", "valid_at": "soon"}, "valid_at"),
        ({"content": "some words " * 600, "chunk": True, "chunk_size": 500, "chunk_overlap": 500}, "chunk_overlap"),
        ({"content": "x" * 65_000, "chunk": True, "chunk_size": 200, "chunk_overlap": 100}, "chunk_size"),
    ],
)
def test_what_cannot_be_stored_is_refused_by_name(agent, given, field):
    error = agent.error("memory_store_episode", **given)
    assert isinstance(error, Invalid)
    assert error.field == field
    assert agent.call("memory_get_episodes")["count"] == 0


def test_a_retry_returns_the_first_answer(agent):
    first = agent.call("memory_store_episode", content="once", idempotency_key="k")
    assert agent.call("memory_store_episode", content="once", idempotency_key="k") == first
    assert agent.call("memory_get_episodes")["count"] == 1
    assert costs(agent.cost("memory_store_episode", content="new", idempotency_key="other")) == (1, 0, 2)


def test_an_idempotency_key_with_other_arguments_is_a_conflict(agent):
    agent.call("memory_store_episode", content="once", idempotency_key="k")
    assert isinstance(agent.error("memory_store_episode", content="twice", idempotency_key="k"), Conflict)


def test_an_idempotency_key_is_forgotten_after_a_week(agent):
    agent.call("memory_store_episode", content="once", idempotency_key="k")
    [record] = agent.services.store.query(Query(f"{ROOT}/requests"))
    past = {**record.data, "expires_at": record.updated_at.replace(year=2025)}
    agent.services.store.commit([put(record.path, past)])
    agent.call("memory_store_episode", content="twice", idempotency_key="k")
    assert agent.call("memory_get_episodes")["count"] == 2


def test_erasure_in_another_process_empties_the_view(agent):
    know(agent, "a heron")
    found(agent, "heron")
    agent.services.store.commit([put(f"{ROOT}/episodes/erased", {"kind": "erased", "changed_at": SERVER_TIME})])
    assert found(agent, "heron") == []
    know(agent, "a new heron")
    assert found(agent, "heron") == ["a new heron"]


def test_times_are_shown_in_utc():
    assert show(parse("2026-01-02T09:00:00+08:00") + DAY) == "2026-01-03T01:00:00Z"
