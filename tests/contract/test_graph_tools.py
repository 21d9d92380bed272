"""Entities, relations, triples and the tools that read them, on every document store."""

from __future__ import annotations

from typing import Any

import pytest
from am_server.errors import Invalid, NotFound
from am_server.memory.names import edge_uuid, entity_uuid

from tests.unit.calling import Agent


def add(agent: Agent, *triples: str) -> None:
    for triple in triples:
        subject, predicate, object_ = triple.split()
        agent.call("memory_graph_add_triple", subject=subject, predicate=predicate, object=object_)


def names(items: list[dict[str, Any]]) -> list[str]:
    return [item["entity_id"] for item in items]


# --- entities


def test_an_upsert_keeps_what_is_not_passed(agent: Agent) -> None:
    agent.call("memory_store_entity", entity_id="Alice", type="person", description="A physicist", metadata={"age": 30})
    agent.call("memory_store_entity", entity_id="Alice", description="")
    agent.call("memory_store_relation", from_id="Alice", to_id="Bob", predicate="knows")
    entity = agent.call("memory_get_entity", entity_id="Alice")["entity"]
    assert {key: entity[key] for key in entity if key != "updated_at"} == {
        "id": entity_uuid("Alice"),
        "entity_id": "Alice",
        "type": "person",
        "metadata": {"age": 30},
    }


def test_a_fact_a_relation_and_a_triple_are_the_same_edge(agent: Agent) -> None:
    fact = agent.call("memory_store_entity", entity_id="Alice", predicate="likes", object_value="tea")
    relation = agent.call("memory_store_relation", from_id="Alice", to_id="tea", predicate="likes", weight=2)
    triple = agent.call("memory_graph_add_triple", subject="Alice", predicate="likes", object="tea")
    assert fact["triple_id"] == relation["id"] == triple["triple_id"] == edge_uuid("Alice", "likes", "tea")
    relations = agent.call("memory_get_relations", entity_id="tea")["relations"]
    assert relations == [{"id": relation["id"], "from_id": "Alice", "to_id": "tea", "predicate": "likes", "weight": 2.0}]


def test_half_a_fact_is_refused(agent: Agent) -> None:
    error = agent.error("memory_store_entity", entity_id="Alice", predicate="likes")
    assert isinstance(error, Invalid)
    assert error.field == "object_value"
    assert agent.call("memory_get_entity", entity_id="Alice")["found"] is False


@pytest.mark.parametrize("name", ["", "  ", "x" * 1_025, "東" * 342])
def test_a_name_has_a_text_of_at_most_1_kb(agent: Agent, name: str) -> None:
    assert isinstance(agent.error("memory_store_entity", entity_id=name), Invalid)


def test_an_entity_is_found_under_a_near_spelling(agent: Agent) -> None:
    agent.call("memory_store_entity", entity_id="New  York", description="city")
    assert agent.call("memory_get_entity", entity_id="new york")["entity"]["entity_id"] == "New  York"
    agent.call("memory_store_entity", entity_id="new york", description="another")
    assert agent.call("memory_get_entity", entity_id="new york")["entity"]["description"] == "another"


def test_an_id_of_nothing_is_no_end_of_a_relation(agent: Agent) -> None:
    error = agent.error("memory_store_relation", from_id=entity_uuid("nobody"), to_id="Bob", predicate="knows")
    assert isinstance(error, NotFound)
    assert "from_id" in error.message
    assert agent.call("memory_get_entity", entity_id="Bob")["found"] is False


def test_a_relation_to_itself_is_one_entity_and_one_edge(agent: Agent) -> None:
    agent.call("memory_store_relation", from_id="X", to_id="X", predicate="self")
    assert agent.call("memory_list_entities")["count"] == 1
    assert agent.call("memory_get_relations", entity_id="X")["count"] == 1


def test_entities_are_listed_page_by_page(agent: Agent) -> None:
    for name in ("Eve", "alice", "Bob", "carol", "Alice 2"):
        agent.call("memory_store_entity", entity_id=name, type="Person" if name != "Bob" else "robot")
    pages, cursor = [], None
    while True:
        page = agent.call("memory_list_entities", limit=2, cursor=cursor)
        assert page["count"] == len(page["entities"])
        pages.append(names(page["entities"]))
        cursor = page.get("next_cursor")
        if cursor is None:
            break
    assert pages == [["alice", "Alice 2"], ["Bob", "carol"], ["Eve"]]
    assert names(agent.call("memory_list_entities", prefix="ALICE")["entities"]) == ["alice", "Alice 2"]
    assert names(agent.call("memory_list_entities", type="ROBOT")["entities"]) == ["Bob"]
    assert isinstance(agent.error("memory_list_entities", cursor="nonsense"), Invalid)


def test_relations_are_listed_page_by_page(agent: Agent) -> None:
    add(agent, *(f"hub to spoke{number}" for number in range(7)), "other by hub")
    seen, cursor = [], None
    while True:
        page = agent.call("memory_get_relations", entity_id="hub", limit=3, cursor=cursor)
        seen += [(relation["predicate"], relation["to_id"]) for relation in page["relations"]]
        cursor = page.get("next_cursor")
        if cursor is None:
            break
    assert len(seen) == len(set(seen)) == 8
    assert seen[0] == ("by", "hub")


# --- budgets


def test_writes_read_nothing_and_reads_are_one_round_trip(agent: Agent) -> None:
    agent.call("memory_store_entity", entity_id="Alice")
    add(agent, "Alice likes tea", "tea from China")
    agent.call("memory_traverse_graph", start_id="Alice")

    def cost(tool: str, /, **given: Any) -> tuple[int, int, int]:
        meter = agent.cost(tool, **given)
        return meter.reads, meter.writes, meter.rpcs

    assert cost("memory_store_entity", entity_id="Bob", type="person") == (0, 1, 1)
    assert cost("memory_store_entity", entity_id="Bob", predicate="likes", object_value="tea") == (0, 2, 1)
    assert cost("memory_store_relation", from_id="Bob", to_id="Carol", predicate="knows") == (0, 3, 1)
    ids = {"from_id": entity_uuid("Bob"), "to_id": entity_uuid("Carol")}
    assert cost("memory_store_relation", **ids, predicate="likes") == (4, 1, 2)
    assert cost("memory_graph_add_triple", subject="a", predicate="b", object="c") == (0, 1, 1)
    assert cost("memory_get_entity", entity_id="Alice") == (1, 0, 1)
    assert cost("memory_get_entity", entity_id=entity_uuid("Alice")) == (1, 0, 1)
    assert cost("memory_get_pheromone", node_id="Alice") == (1, 0, 1)
    assert cost("memory_deposit_pheromone", node_id="Alice") == (0, 1, 1)
    agent.call("memory_list_entities")
    for tool, given in [
        ("memory_list_entities", {}),
        ("memory_get_relations", {"entity_id": "Alice"}),
        ("memory_query_graph", {"query": "tea"}),
        ("memory_semantic_search", {"query": "tea"}),
        ("memory_get_neighbors", {"entity_id": "alice"}),
        ("memory_find_path", {"from_id": "Alice", "to_id": "China"}),
        ("memory_traverse_graph", {"start_id": "Alice"}),
        ("memory_graph_neighbors", {"node": "Alice"}),
        ("memory_graph_shortest_path", {"from": "Alice", "to": "China"}),
    ]:
        reads, writes, rpcs = cost(tool, **given)
        assert (writes, rpcs) == (0, 1), tool
        # Firestore reads the changes of the last seconds once more
        assert reads == 1 or agent.services.settings.store == "firestore", tool


# --- walks and paths


def test_what_is_cut_says_so(agent: Agent) -> None:
    add(agent, *(f"hub to spoke{number}" for number in range(6)))
    for tool, given, items in [
        ("memory_traverse_graph", {"start_id": "hub"}, "visited"),
        ("memory_traverse_graph", {"start_id": "hub", "algorithm": "dfs"}, "visited"),
        ("memory_get_neighbors", {"entity_id": "hub"}, "neighbors"),
        ("memory_graph_neighbors", {"node": "hub"}, "neighbors"),
        ("memory_query_graph", {"query": "hub"}, "edges"),
    ]:
        cut, whole = agent.call(tool, **given, limit=4), agent.call(tool, **given)
        assert (cut["truncated"], cut["count"], len(cut[items])) == (True, 4, 4), tool
        assert "truncated" not in whole, tool


def test_neighbours_tell_how_far_they_are(agent: Agent) -> None:
    add(agent, "a to b", "b to c", "d to a", "a to a")
    near = agent.call("memory_get_neighbors", entity_id="a", hops=2)["neighbors"]
    assert sorted((one["entity_id"], one["hops"]) for one in near) == [("b", 1), ("c", 2), ("d", 1)]
    out = agent.call("memory_get_neighbors", entity_id="a", hops=2, direction="outgoing")["neighbors"]
    assert names(out) == ["b", "c"]


def test_the_shortest_path_names_nodes_and_edges(agent: Agent) -> None:
    add(agent, "a to b", "c to b")
    path = agent.call("memory_graph_shortest_path", **{"from": "a", "to": "c", "undirected": True})
    assert (path["path"], path["hops"]) == (["a", "b", "c"], 2)
    assert path["edges"] == [
        {"subject": "a", "predicate": "to", "object": "b"},
        {"subject": "c", "predicate": "to", "object": "b"},
    ]
    assert agent.call("memory_graph_shortest_path", **{"from": "a", "to": "c"})["found"] is False
    assert agent.call("memory_graph_shortest_path", **{"from": "a", "to": "a"})["hops"] == 0


def test_a_trodden_trail_draws_the_path(agent: Agent) -> None:
    add(agent, "start to left", "left to goal", "start to right", "right to goal")
    agent.call("memory_store_entity", entity_id="right")
    agent.call("memory_deposit_pheromone", node_id="right", strength=3)
    path = agent.call("memory_find_path", from_id="start", to_id="goal")
    assert path["path"] == ["start", "right", "goal"]
    assert path["cost"] == pytest.approx((0.4 + 0.3 / 4 + 0.3) + (0.3 + 0.3), abs=1e-3)
    agent.call("memory_deposit_pheromone", node_id=edge_uuid("start", "to", "left"), strength=50)
    assert agent.call("memory_find_path", from_id="start", to_id="goal")["path"] == ["start", "left", "goal"]
    shortest = agent.call("memory_find_path", from_id="start", to_id="goal", strategy="shortest")
    assert (shortest["cost"], shortest["hops"]) == (2.0, 2)


def test_no_path_is_an_empty_path(agent: Agent) -> None:
    add(agent, "a to b")
    for from_id, to_id in (("b", "a"), ("a", "nowhere"), ("nowhere", "a")):
        path = agent.call("memory_find_path", from_id=from_id, to_id=to_id)
        assert (path["found"], path["path"], path["edges"], path["hops"]) == (False, [], [], 0)
        assert "cost" not in path
    same = agent.call("memory_find_path", from_id="a", to_id="a")
    assert (same["found"], same["path"], same["hops"]) == (True, ["a"], 0)


# --- search


def test_a_graph_query_ranks_and_gives_context(agent: Agent) -> None:
    agent.call("memory_store_entity", entity_id="Acme", type="company")
    agent.call("memory_graph_add_triple", subject="Alice", predicate="works_at", object="Acme")
    agent.call("memory_graph_add_triple", subject="Acme", predicate="based_in", object="Oslo")
    agent.call("memory_graph_add_triple", subject="Alice", predicate="likes", object="green tea")
    agent.call("memory_graph_add_triple", subject="Bob", predicate="likes", object="coffee")
    found = agent.call("memory_query_graph", query="where does Alice work")
    assert found["edges"][0]["predicate"] == "works_at"
    assert found["count"] == len(found["edges"]) == 2
    assert {"entity_id": "Acme", "type": "company"} in found["nodes"]
    assert found["context"] == [{"subject": "Acme", "predicate": "based_in", "object": "Oslo"}]
    nothing = agent.call("memory_query_graph", query="zzyzx")
    assert (nothing["edges"], nothing["nodes"], nothing["context"], nothing["count"]) == ([], [], [], 0)


def test_semantic_search_says_what_matched(agent: Agent) -> None:
    agent.call("memory_store_entity", entity_id="Velocio", type="shop", description="Repairs bicycles")
    agent.call("memory_store_entity", entity_id="Fermentum", type="bakery", description="Sells sourdough")
    agent.call("memory_store_relation", from_id="Alice", to_id="Velocio", predicate="works_at")

    def found(query: str) -> list[tuple[str, list[str]]]:
        results = agent.call("memory_semantic_search", query=query)["results"]
        return [(result["entity"]["entity_id"], result["matched"]) for result in results]

    assert found("bicycle repair") == [("Velocio", ["description"])]
    assert found("bakery") == [("Fermentum", ["type"])]
    assert found("velocio") == [("Velocio", ["name"]), ("Alice", ["facts"])]
    assert found("works") == [("Alice", ["facts"]), ("Velocio", ["facts"])]
    facts = agent.call("memory_semantic_search", query="works")["results"][0]["facts"]
    assert facts == [{"subject": "Alice", "predicate": "works_at", "object": "Velocio"}]
    agent.call("memory_store_entity", entity_id="Velocio", description="Sells cheese")
    assert found("bicycle repair") == []
    assert found("cheese") == [("Velocio", ["description"])]


def test_what_is_erased_is_not_found(agent: Agent) -> None:
    add(agent, "a to b")
    assert agent.call("memory_graph_neighbors", node="a")["count"] == 1
    agent.call("memory_delete_agent", confirm=True)
    assert agent.call("memory_graph_neighbors", node="a")["count"] == 0
    assert agent.call("memory_list_entities")["entities"] == []


def test_agents_do_not_meet(agent: Agent) -> None:
    add(agent, "a to b")
    other = Agent(agent.services, "other")
    assert other.call("memory_graph_neighbors", node="a")["count"] == 0
    assert other.call("memory_query_graph", query="to")["count"] == 0


def test_a_retry_with_a_key_gives_the_first_answer(agent: Agent) -> None:
    for tool, given in [
        ("memory_store_entity", {"entity_id": "Alice", "predicate": "likes", "object_value": "tea"}),
        ("memory_store_relation", {"from_id": "Alice", "to_id": "Bob", "predicate": "knows"}),
        ("memory_graph_add_triple", {"subject": "a", "predicate": "to", "object": "b"}),
    ]:
        first = agent.call(tool, **given, idempotency_key="once")
        assert agent.call(tool, **given, idempotency_key="once") == first
