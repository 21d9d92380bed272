"""Names: what is the same, what is found, and which ids follow."""

from __future__ import annotations

import uuid

import pytest
from am_server.memory.names import edge_uuid, entity_uuid, exact, folded, is_edge_uuid, procedure_uuid, uuid_version
from hypothesis import given
from hypothesis import strategies as st


def test_equivalent_spellings_are_one_entity() -> None:
    assert entity_uuid("Caf\u00e9") == entity_uuid("Cafe\u0301")
    assert exact("Cafe\u0301") == "Caf\u00e9"


def test_case_and_spaces_make_another_entity() -> None:
    assert len({entity_uuid(name) for name in ("Josh", "josh", "Josh ", "J osh")}) == 4


@pytest.mark.parametrize(
    ("one", "other"),
    [("Josh", "josh"), ("Straße", "STRASSE"), ("New  York", "new york"), ("ﬁne", "FINE"), (" a\tb\u3000c ", "A B C"), ("①", "1")],
)
def test_near_spellings_fold_to_the_same(one: str, other: str) -> None:
    assert folded(one) == folded(other)


@given(st.text())
def test_folding_twice_is_folding_once(name: str) -> None:
    assert folded(folded(name)) == folded(name)
    assert folded(exact(name)) == folded(name)


def test_ids_are_version_5_and_differ_by_kind() -> None:
    ids = [entity_uuid("x"), procedure_uuid("x"), edge_uuid("x", "x", "x")]
    assert [uuid_version(id) for id in ids] == [5, 5, 5]
    assert len(set(ids)) == 3


@given(st.text(), st.text(), st.text())
def test_an_id_tells_an_entity_from_an_edge(subject: str, predicate: str, object_: str) -> None:
    assert not is_edge_uuid(entity_uuid(subject))
    assert is_edge_uuid(edge_uuid(subject, predicate, object_))
    assert uuid_version(entity_uuid(subject)) == uuid_version(edge_uuid(subject, predicate, object_)) == 5


def test_parts_of_an_edge_do_not_run_into_each_other() -> None:
    assert edge_uuid("a", "b c", "d") != edge_uuid("a b", "c", "d")
    assert edge_uuid('a","b', "c", "d") != edge_uuid("a", 'b","c', "d")


def test_what_is_a_uuid() -> None:
    assert uuid_version(str(uuid.uuid4())) == 4
    assert uuid_version(str(uuid.uuid4()).upper()) == 4
    for text in ("", "Ada", "x" * 36, "{12345678-1234-5678-1234-567812345678}", uuid.uuid4().hex, "-" * 36):
        assert uuid_version(text) is None
