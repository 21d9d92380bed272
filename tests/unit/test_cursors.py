"""Cursors: only what a list of the same order handed out is taken back."""

import base64
import json
from pathlib import Path

import pytest
from am_server.errors import Invalid
from am_server.tools import cursors

from tests.unit.calling import Agent, instance

ID = "13c41ec4-a35c-4205-9663-124262b714d4"


def text(value: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode()


def test_a_cursor_comes_back_as_it_was():
    assert cursors.decode(cursors.encode(-5, ID), int) == (-5, ID)
    assert cursors.decode(cursors.encode("größe", "Größe"), str) == ("größe", "Größe")
    assert cursors.decode(None, int) is None


@pytest.mark.parametrize(
    ("value", "order"),
    [
        ([10**30, ID], int),
        ([True, ID], int),
        ([1.5, ID], int),
        (["1", ID], int),
        ([1, "a/b"], int),
        ([1, ".."], int),
        ([1, ""], int),
        ([1, "\ud83d"], int),
        ([1, "x"], str),
        (["\ud83d", "x"], str),
        (["x"], str),
        ({"a": 1, "b": 2}, int),
        ([[[]]], str),
    ],
)
def test_what_no_list_handed_out_is_refused(value, order):
    with pytest.raises(Invalid, match="next_cursor of the page before"):
        cursors.decode(text(value), order)


def test_the_cursor_of_another_list_is_refused(tmp_path: Path):
    with instance(tmp_path) as services:
        agent = Agent(services)
        for number in range(2):
            agent.call("memory_store_episode", content=f"episode {number}")
            agent.call("memory_store_relation", from_id="hub", to_id=f"node {number}", predicate="to")
        of_episodes = agent.call("memory_get_episodes", limit=1)["next_cursor"]
        of_entities = agent.call("memory_list_entities", limit=1)["next_cursor"]
        window = {"start_time": "2020-01-01T00:00:00Z", "end_time": "2040-01-01T00:00:00Z"}
        assert isinstance(agent.error("memory_get_episodes", cursor=of_entities), Invalid)
        assert isinstance(agent.error("memory_search_timeline", cursor=of_entities, **window), Invalid)
        assert isinstance(agent.error("memory_list_entities", cursor=of_episodes), Invalid)
        assert isinstance(agent.error("memory_get_relations", cursor=of_episodes, entity_id="hub"), Invalid)


def test_a_limit_beyond_the_maximum_means_the_maximum(tmp_path: Path):
    with instance(tmp_path) as services:
        agent = Agent(services)
        agent.call("memory_store_episode", content="episode " * 5_000, chunk=True, chunk_size=200)
        window = {"start_time": "2020-01-01T00:00:00Z", "end_time": "2040-01-01T00:00:00Z"}
        assert agent.call("memory_get_episodes", limit=10**6)["count"] == 200
        assert agent.call("memory_search_timeline", limit=10**6, **window)["count"] == 200
