"""Episodes on every document store: order, windows, folding, deletion, retries, consolidation."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from am_server.errors import Conflict
from am_server.memory.trails import deposit
from am_server.store.metered import metering
from am_server.store.port import SERVER_TIME, Query, update
from am_server.times import DAY
from am_server.tools.episodes_store import deletion_write, episode_writes
from am_server.views.erasure import erase_memory

from tests.unit.calling import Agent, instance

ROOT = "agents/a"


def know(agent: Agent, *contents: str, **more: object) -> list[str]:
    return [agent.call("memory_store_episode", content=content, **more)["id"] for content in contents]


def found(agent: Agent, query: str, **options: object) -> list[str]:
    return [result["episode"]["content"] for result in agent.call("memory_search_episodes", query=query, **options)["results"]]


def listed(agent: Agent) -> list[str]:
    return [episode["content"] for episode in agent.call("memory_get_episodes", limit=200)["episodes"]]


def test_stored_listed_found_and_in_its_window(agent: Agent) -> None:
    for day in (1, 2, 3):
        know(agent, f"heron of day {day}", valid_at=f"2026-05-0{day}T12:00:00Z", metadata={"day": day})
    assert listed(agent) == ["heron of day 3", "heron of day 2", "heron of day 1"]
    assert set(found(agent, "heron")) == set(listed(agent))
    assert found(agent, "heron", metadata={"day": 2}) == ["heron of day 2"]
    window = {"start_time": "2026-05-01T12:00:00Z", "end_time": "2026-05-03T12:00:00Z"}
    page = agent.call("memory_search_timeline", **window, limit=1)
    rest = agent.call("memory_search_timeline", **window, limit=1, cursor=page["next_cursor"])
    contents = [episode["content"] for answer in (page, rest) for episode in answer["episodes"]]
    assert contents == ["heron of day 1", "heron of day 2"]
    assert "next_cursor" not in rest


def test_chunks_are_written_at_once_and_found_as_one(agent: Agent) -> None:
    text = " ".join(f"Sentence about marker{number:04d}." for number in range(400))
    stored = agent.call("memory_store_episode", content=text)
    assert stored["chunks"] > 3
    [content] = found(agent, "marker0200")
    assert "marker0200" in content


def test_a_long_tail_is_folded_and_a_cold_view_reads_few_documents(agent: Agent) -> None:
    writes = [write for n in range(400) for write in episode_writes(ROOT, [f"note {n} of {n % 7}"], None, n, n)[1]]
    agent.services.store.commit(writes)
    assert len(found(agent, "note", limit=50)) == 50
    agent.services.views.forget("a")
    with metering() as meter:
        assert found(agent, "note 399", limit=1) == ["note 399 of 0"]
    assert meter.rpcs <= 4
    if agent.services.settings.store == "sqlite":  # Firestore reads commits of the last seconds again
        assert meter.reads <= 8


def test_deletion_and_erasure_reach_every_view(agent: Agent) -> None:
    gone, _ = know(agent, "an old heron", "a young heron")
    assert len(found(agent, "heron")) == 2
    agent.services.store.commit([deletion_write(ROOT, gone, agent.services.clock.now())])
    assert found(agent, "heron") == listed(agent) == ["a young heron"]
    erase_memory(agent.services.store, agent.services.objects, "a", agent.services.clock.now())
    assert found(agent, "heron") == listed(agent) == []
    know(agent, "a new heron")
    assert found(agent, "heron") == ["a new heron"]


def test_a_retry_writes_nothing_more(agent: Agent) -> None:
    first = agent.call("memory_store_episode", content="once", idempotency_key="k")
    assert agent.call("memory_store_episode", content="once", idempotency_key="k") == first
    assert isinstance(agent.error("memory_store_episode", content="twice", idempotency_key="k"), Conflict)
    assert listed(agent) == ["once"]


def test_retries_at_once_write_one_episode(agent: Agent) -> None:
    def store(_: int) -> str:
        return str(agent.call("memory_store_episode", content="once", idempotency_key="k")["id"])

    with ThreadPoolExecutor(6) as pool:
        ids = set(pool.map(store, range(6)))
    assert len(ids) == len(listed(agent)) == 1


def test_a_search_with_trails_reinforces(agent: Agent) -> None:
    [id] = know(agent, "a heron")
    before = agent.call("memory_get_pheromone", node_id=id)["weight"]
    found(agent, "heron", use_pheromone=True)
    assert agent.call("memory_get_pheromone", node_id=id)["weight"] == pytest.approx(before + 0.2, abs=1e-3)


def test_faded_episodes_give_way_to_a_summary(agent: Agent) -> None:
    ids = know(agent, "The budget was approved.", "The train leaves.", valid_at="2026-03-01", metadata={"session_id": "s"})
    faint = {"trail": deposit(1, agent.services.clock.now() - 30 * DAY), "changed_at": SERVER_TIME}
    agent.services.store.commit([update(f"{ROOT}/episodes/{id}", faint) for id in ids])
    answer = agent.call("memory_consolidate_episodes")
    assert answer["consolidated"] == 2
    assert listed(agent) == ["The budget was approved.\nThe train leaves."]
    assert agent.call("memory_consolidate_episodes")["consolidated"] == 0
    assert agent.services.store.count(Query(f"{ROOT}/episodes")) == 3, "two tombstones"


def test_two_instances_see_each_others_writes(agent: Agent, tmp_path_factory: pytest.TempPathFactory) -> None:
    settings = {"AM_STORE": agent.services.settings.store, "GOOGLE_CLOUD_PROJECT": agent.services.settings.project}
    with instance(agent.services.settings.data_dir, **settings) as services:
        other = Agent(services)
        for number in range(20):
            writer, reader = (agent, other) if number % 2 else (other, agent)
            know(writer, f"word{number} was said")
            assert found(reader, f"word{number}", limit=1) == [f"word{number} was said"]
