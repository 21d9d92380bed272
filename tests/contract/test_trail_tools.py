"""Deposits and weights: exact, never lost, and only on what is there."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor

import pytest
from am_server.errors import Conflict, Invalid, NotFound
from am_server.memory import trails
from am_server.memory.names import edge_uuid, entity_uuid
from am_server.store.port import SERVER_TIME, put
from am_server.times import SECOND

from tests.unit.calling import Agent

EPISODE = "0b2a7f2c-6f0e-4c57-9a55-0d6c8f1b2a3d"


def stored_at(agent: Agent, node: str) -> float:
    data = agent.services.store.get(f"agents/{agent.uid}/graph/{entity_uuid(node)}")
    assert data is not None
    return float(data.data["trail"])  # type: ignore[arg-type]


def test_name_and_id_share_one_trail(agent: Agent) -> None:
    agent.call("memory_store_entity", entity_id="Alice")
    assert agent.call("memory_get_pheromone", node_id="Alice")["weight"] == 0
    agent.call("memory_deposit_pheromone", node_id="Alice", strength=2)
    out = agent.call("memory_deposit_pheromone", node_id=entity_uuid("Alice"), strength=3)
    assert out["node_type"] == "entity"
    assert out["new_weight"] == pytest.approx(5, rel=1e-6)
    near = agent.call("memory_deposit_pheromone", node_id="ALICE", strength=1)
    assert near["new_weight"] == pytest.approx(6, rel=1e-6)
    assert agent.call("memory_get_entity", entity_id="Alice")["entity"]["pheromone"] == pytest.approx(6, rel=1e-6)


def test_the_new_weight_is_exact(agent: Agent) -> None:
    agent.call("memory_store_entity", entity_id="Alice")
    times, strengths = [], [0.5, 2.0, 1.25]
    for strength in strengths:
        weight = agent.call("memory_deposit_pheromone", node_id="Alice", strength=strength)["new_weight"]
        times.append(agent.services.clock.now())
    elapsed = [(times[-1] - time) / trails.TAU for time in times]
    wanted = sum(strength * math.exp(-age) for strength, age in zip(strengths, elapsed, strict=True))
    assert weight == pytest.approx(wanted, abs=1e-6)
    later = times[-1] + 48 * 3_600 * SECOND
    assert trails.weight(stored_at(agent, "Alice"), later) == pytest.approx(wanted * math.exp(-48 / 72), abs=1e-6)


def test_deposits_of_20_threads_are_all_kept(agent: Agent) -> None:
    agent.call("memory_store_entity", entity_id="Alice")
    with ThreadPoolExecutor(20) as pool:
        list(pool.map(lambda _: agent.call("memory_deposit_pheromone", node_id="Alice", strength=1), range(100)))
    assert agent.call("memory_get_pheromone", node_id="Alice")["weight"] == pytest.approx(100, rel=1e-4)


@pytest.mark.parametrize("node_id", ["Nobody", EPISODE, entity_uuid("Nobody"), edge_uuid("a", "b", "c")])
def test_nothing_has_no_trail(agent: Agent, node_id: str) -> None:
    error = agent.error("memory_deposit_pheromone", node_id=node_id)
    assert isinstance(error, NotFound)
    assert "memory_store_entity" in error.message
    assert agent.call("memory_get_pheromone", node_id=node_id) == {"node_id": node_id, "found": False}


def test_a_label_of_a_triple_is_no_entity(agent: Agent) -> None:
    agent.call("memory_graph_add_triple", subject="a", predicate="to", object="b")
    assert isinstance(agent.error("memory_deposit_pheromone", node_id="a"), NotFound)
    edge = edge_uuid("a", "to", "b")
    assert agent.call("memory_deposit_pheromone", node_id=edge)["node_type"] == "edge"
    assert agent.call("memory_get_pheromone", node_id=edge)["weight"] == pytest.approx(1, rel=1e-6)


def test_an_episode_has_the_trail_it_began_with(agent: Agent) -> None:
    path = f"agents/{agent.uid}/episodes/{EPISODE}"
    trail = trails.deposit(1, agent.services.clock.now())
    agent.services.store.commit([put(path, {"content": "x", "trail": trail, "changed_at": SERVER_TIME})])
    out = agent.call("memory_deposit_pheromone", node_id=EPISODE, strength=2.5)
    assert out["node_type"] == "episode"
    assert out["new_weight"] == pytest.approx(3.5, rel=1e-6)


def test_a_deleted_episode_has_no_trail(agent: Agent) -> None:
    path = f"agents/{agent.uid}/episodes/{EPISODE}"
    agent.services.store.commit([put(path, {"deleted_at": 1, "changed_at": SERVER_TIME})])
    for _ in range(3):
        assert isinstance(agent.error("memory_deposit_pheromone", node_id=EPISODE), NotFound)
        assert agent.call("memory_get_pheromone", node_id=EPISODE)["found"] is False


def test_an_entity_may_be_named_like_an_id(agent: Agent) -> None:
    for name in (EPISODE, entity_uuid("x"), edge_uuid("x", "y", "z")):
        agent.call("memory_store_entity", entity_id=name)
        assert agent.call("memory_deposit_pheromone", node_id=name)["node_type"] == "entity"
        assert agent.call("memory_get_pheromone", node_id=name)["weight"] == pytest.approx(1, rel=1e-6)
        assert agent.call("memory_get_entity", entity_id=name)["entity"]["entity_id"] == name


@pytest.mark.parametrize("strength", [0, -1, 1e10, "strong", True])
def test_a_strength_is_a_positive_number(agent: Agent, strength: object) -> None:
    agent.call("memory_store_entity", entity_id="Alice")
    assert isinstance(agent.error("memory_deposit_pheromone", node_id="Alice", strength=strength), Invalid)
    assert agent.call("memory_get_pheromone", node_id="Alice")["weight"] == 0


def test_a_retry_with_a_key_deposits_once(agent: Agent) -> None:
    agent.call("memory_store_entity", entity_id="Alice")
    given = {"node_id": "Alice", "strength": 2, "idempotency_key": "once"}
    first = agent.call("memory_deposit_pheromone", **given)
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda _: agent.call("memory_deposit_pheromone", **given), range(8))) == [first] * 8
    assert agent.call("memory_get_pheromone", node_id="Alice")["weight"] == pytest.approx(2, rel=1e-6)
    assert isinstance(agent.error("memory_deposit_pheromone", **{**given, "strength": 3}), Conflict)
