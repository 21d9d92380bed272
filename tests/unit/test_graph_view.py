"""The graph as a view of its documents: what a reader sees, what a cold reader pays."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from am_server.memory.graph import Graph
from am_server.memory.graph_columns import Columns
from am_server.memory.names import edge_uuid, entity_uuid
from am_server.store.metered import MeteredStore, metering
from am_server.store.port import SERVER_TIME, DocumentStore, Write, merge, put
from am_server.store.sqlite import SqliteStore
from am_server.views.graph import GraphCodec, GraphModel
from am_server.views.log import LogView

ROOT = "agents/a"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[DocumentStore]:
    store = MeteredStore(SqliteStore(tmp_path / "store.sqlite"))
    yield store
    store.close()


def view(store: DocumentStore) -> LogView[Graph]:
    return LogView(store, ROOT, GraphModel())


def edge(subject: str, predicate: str, object_: str, **more: float) -> Write:
    parts = {"subject": subject, "predicate": predicate, "object": object_}
    path = f"{ROOT}/graph/{edge_uuid(subject, predicate, object_)}"
    return merge(path, {"kind": "edge", **parts, "changed_at": SERVER_TIME, **more})


def entity(name: str, **more: str | float) -> Write:
    return merge(f"{ROOT}/graph/{entity_uuid(name)}", {"kind": "entity", "entity_id": name, "changed_at": SERVER_TIME, **more})


def triples(graph: Graph) -> list[tuple[str, str, str]]:
    return [graph.triple(number) for number in range(graph.edges)]


def test_edges_and_entities_are_one_graph(store: DocumentStore) -> None:
    store.commit(
        [edge("Alice", "likes", "tea"), entity("Alice", type="person", description="A physicist", trail=2.0), entity("Bob")]
    )
    graph = view(store).current()
    alice, tea, bob = (graph.find(name) for name in ("Alice", "tea", "Bob"))
    assert alice is not None
    assert tea is not None
    assert bob is not None
    assert triples(graph) == [("Alice", "likes", "tea")]
    assert (graph.types[alice], graph.descriptions[alice], graph.trail[alice]) == ("person", "A physicist", 2.0)
    assert (graph.types[tea], graph.types[bob]) == (None, "")
    assert [graph.nodes.names[node] for node in graph.entities] == ["Alice", "Bob"]


def test_a_warm_view_follows_every_change(store: DocumentStore) -> None:
    seen = view(store)
    store.commit([edge("a", "to", "b")])
    first = seen.current()
    for write in (edge("a", "to", "b", weight=3.0), edge("a", "by", "b"), edge("b", "to", "c"), entity("c", description="new")):
        store.commit([write])
    second = seen.current()
    assert triples(second) == [("a", "to", "b"), ("a", "by", "b"), ("b", "to", "c")]
    assert second.weight.tolist() == [3, 1, 1]
    assert second.descriptions == ["", "", "new"]
    assert triples(first) == [("a", "to", "b")], "a graph that was handed out stays as it was"
    assert (first.size, first.weight.tolist(), first.find("c")) == (2, [1], None)
    assert second.outgoing.node[: second.outgoing.start[1]].tolist() == [1, 1]


def test_a_node_is_found_by_name_id_and_near_spelling(store: DocumentStore) -> None:
    store.commit([edge("Josh", "likes", "tea")])
    store.commit([edge("josh", "likes", "New  York")])
    graph = view(store).current()
    find = graph.find
    assert (find("Josh"), find("josh"), find("JOSH")) == (0, 2, 0)
    assert find(entity_uuid("josh")) == find(entity_uuid("josh").upper()) == 2
    assert find("new york") == find("New  York") == 3
    assert find("Joshua") is None
    assert find(entity_uuid("nobody")) is None


def test_what_a_change_leaves_alone_is_not_derived_again(store: DocumentStore) -> None:
    seen = view(store)
    store.commit([edge("a", "to", "b"), entity("a", type="letter", description="first")])
    first = seen.current()
    derived = ("outgoing", "incoming", "either_way", "entities", "of_type", "described", "term_counts")
    kept = [getattr(first, name) for name in derived]
    store.commit([entity("a", trail=5.0), edge("a", "to", "b", trail=2.0)])
    second = seen.current()
    assert (second.trail.tolist(), second.edge_trail.tolist()) == ([5, 0], [2])
    assert [getattr(second, name) is old for name, old in zip(derived, kept, strict=True)] == [True] * 7
    store.commit([edge("a", "to", "b", weight=2.0), entity("b", description="second")])
    third = seen.current()
    assert (third.weight.tolist(), list(third.entities), list(third.described)) == ([2], [0, 1], [0, 1])
    assert third.of_type["letter"].tolist() == [0]


def test_erasure_empties_the_graph(store: DocumentStore) -> None:
    seen = view(store)
    store.commit([edge("a", "to", "b")])
    seen.current()
    store.commit([put(f"{ROOT}/graph/erased", {"kind": "erased", "changed_at": SERVER_TIME})])
    store.commit([edge("c", "to", "d")])
    assert triples(seen.current()) == [("c", "to", "d")]
    assert seen.current().find("a") is None


ROWS = {
    edge_uuid("a", "p", "ü"): {"kind": "edge", "subject": "a", "predicate": "p", "object": "ü", "weight": 0.5, "trail": 3.25},
    edge_uuid("a", "a", "a"): {"kind": "edge", "subject": "a", "predicate": "a", "object": "a"},
    entity_uuid("a"): {"kind": "entity", "entity_id": "a", "description": "a"},
    entity_uuid("ü"): {"kind": "entity", "entity_id": "ü", "type": "a", "trail": 1e300},
}


def told(columns: Columns) -> tuple[list[tuple[object, ...]], list[tuple[object, ...]]]:
    graph = Graph().updated(columns)
    names, types, descriptions = graph.nodes.names, graph.types, graph.descriptions
    entities = [(names[node], types[node], descriptions[node], float(graph.trail[node])) for node in graph.entities]
    edges = [(*graph.triple(n), float(graph.weight[n]), float(graph.edge_trail[n])) for n in range(graph.edges)]
    return entities, sorted(edges)


def test_the_codec_keeps_what_rows_say() -> None:
    codec = GraphCodec()
    built = codec.build(ROWS)
    entities, edges = told(built)
    assert entities == [("a", "", "a", 0), ("ü", "a", "", 1e300)]
    assert edges == [("a", "a", "a", 1, 0), ("a", "p", "ü", 0.5, 3.25)]
    assert told(codec.unpack(codec.pack(built))) == (entities, edges)
    assert (codec.count(built), codec.count(codec.unpack(codec.pack(built)))) == (4, 4)


def test_the_codec_merges_what_it_split() -> None:
    codec = GraphCodec()
    first, second = codec.split(codec.build(ROWS))
    assert (codec.count(first), codec.count(second)) == (2, 2)
    assert told(codec.merge(first, second, ())) == told(codec.build(ROWS))
    newer = codec.build({entity_uuid("a"): {"kind": "entity", "entity_id": "a", "type": "letter"}})
    assert told(codec.merge(first, newer, ()))[0] == [("a", "letter", "", 0)]


def test_a_cold_read_of_20_000_edges_costs_few_documents(store: DocumentStore) -> None:
    seen = view(store)
    for start in range(0, 20_000, 400):
        store.commit(
            [edge(f"person {n % 4_999}", f"relation {n % 17}", f"thing {n * 7 % 9_973}") for n in range(start, start + 400)]
        )
        if start % 4_000 == 0:
            seen.current()
    view(store).current()
    cold = view(store)
    with metering() as first:
        graph = cold.current()
    assert (graph.edges, graph.size) == (20_000, 14_972)
    assert first.reads <= 8
    assert first.rpcs <= 2
    with metering() as warm:
        assert cold.current().edges == 20_000
    assert (warm.reads, warm.rpcs) == (1, 1)
