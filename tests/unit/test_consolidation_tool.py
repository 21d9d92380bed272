"""Consolidation over an embedded store."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from am_server.memory.trails import deposit
from am_server.store.port import SERVER_TIME, Query, update
from am_server.times import DAY

from tests.unit.calling import Agent, instance

ROOT = "agents/a"
OLD = "2026-03-01T00:00:00Z"
BEFORE = {"before_time": "2026-06-01T00:00:00Z"}


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[Agent]:
    with instance(tmp_path) as services:
        yield Agent(services)


def know(agent: Agent, content: str, *, faded: bool = True, **more) -> list[str]:
    """Store an episode as if it had been stored a month ago and never been touched."""
    ids = agent.call("memory_store_episode", content=content, valid_at=OLD, **more)["ids"]
    if faded:
        trail = deposit(1, agent.services.clock.now() - 30 * DAY)
        fields = {"trail": trail, "changed_at": SERVER_TIME}
        agent.services.store.commit([update(f"{ROOT}/episodes/{id}", fields) for id in ids])
    return ids


def listed(agent: Agent) -> dict[str, dict]:
    return {episode["id"]: episode for episode in agent.call("memory_get_episodes", limit=200)["episodes"]}


def test_a_faded_session_becomes_a_summary_that_cites_its_sources(agent):
    session = {"session_id": "s1", "speaker": "Ann"}
    [first] = know(agent, "The budget was approved.", metadata=session)
    [second] = know(agent, "The train leaves at noon.", metadata=session)
    answer = agent.call("memory_consolidate_episodes", **BEFORE)
    [merged] = answer["merged"]
    assert answer["consolidated"] == 2
    assert merged["sources"] == [first, second]
    [summary] = listed(agent).values()
    assert summary["id"] == merged["summary_id"]
    assert summary["content"] == "The budget was approved.\nThe train leaves at noon."
    assert summary["metadata"] == {"consolidated_from": [first, second], **session}
    assert summary["valid_at"] == OLD
    [result] = agent.call("memory_search_episodes", query="budget")["results"]
    assert result["episode"]["id"] == summary["id"]


def test_what_is_reinforced_stays_and_is_named(agent):
    gone = know(agent, "Gravel was delivered.", metadata={"session_id": "s1"})
    kept = know(agent, "Gravel was paid.", metadata={"session_id": "s1"}, faded=False)
    answer = agent.call("memory_consolidate_episodes", **BEFORE)
    assert answer["merged"] == [{"summary_id": answer["merged"][0]["summary_id"], "sources": gone, "kept": kept}]
    assert set(listed(agent)) == {kept[0], answer["merged"][0]["summary_id"]}


def test_running_it_again_changes_nothing(agent):
    for number in range(6):
        know(agent, f"Note {number} about gravel.", metadata={"session_id": f"s{number % 2}"})
    know(agent, "Still in use.", metadata={"session_id": "s0"}, faded=False)
    agent.call("memory_consolidate_episodes", **BEFORE)
    after = listed(agent)
    assert len(after) == 3
    again = agent.call("memory_consolidate_episodes", **BEFORE)
    assert again["consolidated"] == 0
    assert listed(agent) == after


def test_recent_and_fresh_episodes_stay(agent):
    [fresh] = know(agent, "fresh", faded=False)
    recent = agent.call("memory_store_episode", content="recent")["id"]
    assert agent.call("memory_consolidate_episodes", before_time="2026-02-01")["consolidated"] == 0
    assert agent.call("memory_consolidate_episodes")["consolidated"] == 0
    assert set(listed(agent)) == {fresh, recent}


def test_an_episode_of_no_group_is_deleted_and_kept_for_thirty_days(agent):
    [id] = know(agent, "All alone.", metadata={"place": "attic"})
    answer = agent.call("memory_consolidate_episodes", **BEFORE)
    assert (answer["forgotten"], answer["merged"], answer["consolidated"]) == ([id], [], 1)
    assert listed(agent) == {}
    [tombstone] = agent.services.store.query(Query(f"{ROOT}/episodes"))
    assert json.loads(tombstone.data["kept"])["content"] == "All alone."
    assert abs((tombstone.data["purge_at"] - tombstone.updated_at).days - 30) <= 1


def test_the_chunks_of_a_text_go_together(agent):
    ids = know(agent, "The harbour has a crane. " * 300, metadata={"session_id": "s"})
    know(agent, "It is yellow.", metadata={"session_id": "s"})
    assert len(ids) > 2
    agent.call("memory_consolidate_episodes", **BEFORE)
    assert len(listed(agent)) == 1


def test_a_text_stays_whole_when_one_chunk_is_in_use(agent):
    ids = know(agent, "The harbour has a crane. " * 300)
    agent.services.store.commit(
        [update(f"{ROOT}/episodes/{ids[1]}", {"trail": deposit(1, agent.services.clock.now()), "changed_at": SERVER_TIME})]
    )
    agent.call("memory_consolidate_episodes", **BEFORE)
    assert set(listed(agent)) == set(ids)


def test_two_copies_never_both_go(agent):
    know(agent, "the same words")
    know(agent, "the same words")
    agent.call("memory_consolidate_episodes", **BEFORE)
    assert [episode["content"] for episode in listed(agent).values()] == ["the same words"]


def test_a_long_backlog_takes_several_calls(agent, monkeypatch):
    monkeypatch.setattr("am_server.tools.consolidation.MOST_AT_ONCE", 4)
    for number in range(6):
        know(agent, f"Note {number} about gravel.", metadata={"session_id": "s"})
    assert agent.call("memory_consolidate_episodes", **BEFORE)["remaining"] == 2
    assert "remaining" not in agent.call("memory_consolidate_episodes", **BEFORE)
    assert len(listed(agent)) == 2
