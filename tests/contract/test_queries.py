"""The document port: queries, counts, cursors, trees."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from am_server.errors import Invalid
from am_server.store.port import SERVER_TIME, Document, DocumentStore, Query, Scalar, Where, create, delete, merge, put

WORKING = "agents/a/working"
GRAPH = "agents/a/graph"
EPISODES = "agents/a/episodes"


def ids(found: list[Document]) -> str:
    return " ".join(document.id for document in found)


def fill(store: DocumentStore, values: dict[str, Scalar], field: str = "live_until") -> None:
    store.commit([put(f"{WORKING}/{id}", {field: value, "other": id}) for id, value in values.items()])


@pytest.fixture
def numbers(store: DocumentStore) -> DocumentStore:
    """a=1 b=2 c=2 d=2.5 e=3, one without the field, and the same ids in a neighbouring collection."""
    fill(store, {"e": 3, "b": 2, "d": 2.5, "a": 1, "c": 2.0})
    store.commit([put(f"{WORKING}/none", {"other": "none"}), put("agents/b/working/a", {"live_until": 2}), put("working/a", {})])
    return store


def test_without_conditions_the_order_is_the_id(numbers: DocumentStore) -> None:
    assert ids(numbers.query(Query(WORKING))) == "a b c d e none"
    assert ids(numbers.query(Query(WORKING, limit=2))) == "a b"
    assert ids(numbers.query(Query(WORKING, limit=2, after=(None, "b")))) == "c d"
    assert numbers.query(Query("agents/nobody/working")) == []


def test_ids_are_ordered_by_their_bytes(store: DocumentStore) -> None:
    names = ["Z", "a", "A", "é", "\uffff", "\U0001f600", "_", "10", "9"]
    store.commit([put(f"{WORKING}/{name}", {}) for name in names])
    expected = sorted(names, key=str.encode)
    assert [document.id for document in store.query(Query(WORKING))] == expected
    assert [document.id for document in store.query(Query(WORKING, after=(None, "a")))] == expected[expected.index("a") + 1 :]


@pytest.mark.parametrize(
    ("op", "value", "expected"),
    [
        ("==", 2, "b c"),
        ("==", 2.0, "b c"),
        ("==", 9, ""),
        ("<", 2, "a"),
        ("<=", 2, "a b c"),
        (">", 2, "d e"),
        (">=", 2.5, "d e"),
        (">", 2.4, "d e"),
        (">", "2", ""),
        ("<", datetime(2026, 1, 1, tzinfo=UTC), ""),
        ("==", None, ""),
        ("==", True, ""),
    ],
)
def test_a_condition_compares_within_its_type(numbers: DocumentStore, op: str, value: Scalar, expected: str) -> None:
    query = Query(WORKING, [Where("live_until", op, value)])  # type: ignore[arg-type]
    assert ids(numbers.query(query)) == expected
    assert numbers.count(query) == len(expected.split())


def test_conditions_order_and_limit_together(numbers: DocumentStore) -> None:
    between = [Where("live_until", ">=", 2), Where("live_until", "<", 3)]
    assert ids(numbers.query(Query(WORKING, between))) == "b c d"
    assert ids(numbers.query(Query(WORKING, between, order_by="live_until", descending=True))) == "d c b"
    assert ids(numbers.query(Query(WORKING, between, order_by="live_until", descending=True, limit=2))) == "d c"
    assert ids(numbers.query(Query(WORKING, [Where("live_until", "==", 2)], order_by="live_until", descending=True))) == "c b"
    assert ids(numbers.query(Query(WORKING, [Where("live_until", "==", 2)], limit=1, after=(2, "b")))) == "c"
    assert numbers.count(Query(WORKING, between)) == 3
    assert numbers.count(Query(WORKING, between, limit=2)) == 2
    assert numbers.count(Query(WORKING)) == 6
    assert numbers.count(Query("agents/nobody/working")) == 0


def test_ordering_by_a_field_leaves_out_documents_without_it(numbers: DocumentStore) -> None:
    assert ids(numbers.query(Query(WORKING, order_by="live_until"))) == "a b c d e"
    assert numbers.count(Query(WORKING, order_by="live_until")) == 5


@pytest.mark.parametrize("descending", [False, True])
def test_pages_put_together_are_the_whole(numbers: DocumentStore, descending: bool) -> None:
    query = Query(WORKING, order_by="live_until", descending=descending)
    whole = numbers.query(query)
    assert ids(whole) == ("e d c b a" if descending else "a b c d e")
    for size in (1, 2, 3, 5):
        pages, after = [], None
        while page := numbers.query(Query(WORKING, order_by="live_until", descending=descending, limit=size, after=after)):
            pages += page
            after = (page[-1].data["live_until"], page[-1].id)
        assert pages == whole


def test_the_types_have_an_order_among_themselves(store: DocumentStore) -> None:
    values: list[Scalar] = [None, False, True, -1e300, -3, -0.5, 0, 2**53, 2**53 + 1, 1e300]
    values += [datetime(1, 1, 1, tzinfo=UTC), datetime(2026, 3, 1, tzinfo=UTC), datetime(2026, 3, 1, 0, 0, 0, 1, UTC)]
    values += ["", "A", "a", "aa", "b", "é", "\uffff", "\U0001f600", b"", b"\x00", b"\xff"]
    fill(store, {f"{n:02}": value for n, value in enumerate(values)})
    assert [one.data["live_until"] for one in store.query(Query(WORKING, order_by="live_until"))] == values
    for value in values:
        if value is not None:
            found = store.query(Query(WORKING, [Where("live_until", "==", value)]))
            assert [one.data["live_until"] for one in found] == [value]
    assert ids(store.query(Query(WORKING, [Where("live_until", "==", None)]))) == "00"


def test_a_cursor_stands_anywhere_even_where_nothing_is(numbers: DocumentStore) -> None:
    assert ids(numbers.query(Query(WORKING, order_by="live_until", after=(2, "bb")))) == "c d e"
    assert ids(numbers.query(Query(WORKING, order_by="live_until", after=(2.2, "x")))) == "d e"
    assert ids(numbers.query(Query(WORKING, order_by="live_until", descending=True, after=(2.2, "x")))) == "c b a"


def test_select_gives_these_fields_alone(numbers: DocumentStore) -> None:
    (one,) = numbers.query(Query(WORKING, [Where("live_until", "==", 1)], select=["other", "absent"]))
    (bare,) = numbers.query(Query(WORKING, [Where("live_until", "==", 1)], select=[]))
    whole = numbers.get(f"{WORKING}/a")
    assert whole is not None
    assert (one.data, bare.data) == ({"other": "a"}, {})
    assert one.updated_at == bare.updated_at == whole.updated_at


def test_changes_and_deletions_are_seen_at_once(numbers: DocumentStore) -> None:
    query = Query(WORKING, [Where("live_until", ">", 2)])
    numbers.commit([put(f"{WORKING}/a", {"live_until": 7}), put(f"{WORKING}/d", {"other": "x"}), delete(f"{WORKING}/e")])
    assert ids(numbers.query(query)) == "a"
    numbers.commit([merge(f"{WORKING}/a", {"other": "y"}), merge(f"{WORKING}/b", {"live_until": "text"})])
    assert (ids(numbers.query(query)), numbers.count(query)) == ("a", 1)


@pytest.mark.parametrize(
    "query",
    [
        Query(WORKING, [Where("other", "==", 1)]),
        Query(WORKING, order_by="other"),
        Query("accounts", [Where("live_until", "==", 1)]),
        Query(WORKING, [Where("key", "==", "a")], order_by="live_until"),
        Query(WORKING, [Where("key", "==", "a"), Where("live_until", ">", 1)]),
        Query(WORKING, descending=True),
        Query(EPISODES, order_by="changed_at", descending=True),
        Query(EPISODES, order_by="changed_at", limit=5),
        Query(EPISODES, order_by="changed_at", after=(datetime(2026, 1, 1, tzinfo=UTC), "a")),
        Query(EPISODES, [Where("changed_at", ">", 5)]),
    ],
)
def test_a_query_that_would_need_another_index_is_a_bug(store: DocumentStore, query: Query) -> None:
    with pytest.raises(RuntimeError):
        store.query(query)
    with pytest.raises(RuntimeError):
        store.count(query)


@pytest.mark.parametrize("query", [Query("accounts/a"), Query(""), Query(WORKING, limit=0), Query(WORKING, limit=-1)])
def test_what_is_no_query_is_refused(store: DocumentStore, query: Query) -> None:
    with pytest.raises(ValueError):
        store.query(query)


def test_equality_on_text_matches_whole_text_only(store: DocumentStore) -> None:
    names = ["Josh", "josh", "Josh ", "Jos", "J\u00f6sh", "Jo\u0308sh", "x" * 1498, "x" * 1499]
    fill(store, {str(n): name for n, name in enumerate(names)}, "key")
    for n, name in enumerate(names):
        assert ids(store.query(Query(WORKING, [Where("key", "==", name)]))) == str(n)


def test_a_text_longer_than_an_index_entry_is_stored_but_not_looked_up(store: DocumentStore) -> None:
    fill(store, {"1": "x" * 1500}, "key")
    assert ids(store.query(Query(WORKING, order_by="key"))) == "1"
    with pytest.raises(Invalid, match="1,499 bytes"):
        store.query(Query(WORKING, [Where("key", "==", "x" * 1500)]))


def test_a_query_by_commit_time_finds_exactly_what_was_committed_later(store: DocumentStore) -> None:
    def write(id: str) -> datetime:
        return store.commit([merge(f"{GRAPH}/{id}", {"kind": "entity", "name": id, "changed_at": SERVER_TIME})]).time

    times = [write(id) for id in "abcdefgh"]
    for moment, expected in zip(times, ["b c d e f g h", "c d e f g h", "d e f g h"], strict=False):
        assert ids(store.query(Query(GRAPH, [Where("changed_at", ">", moment)]))) == expected
    assert store.query(Query(GRAPH, [Where("changed_at", ">", times[-1])])) == []
    assert ids(store.query(Query(GRAPH, [Where("changed_at", ">=", times[6])], order_by="changed_at"))) == "g h"
    assert ids(store.query(Query(GRAPH, [Where("changed_at", "<=", times[1])], order_by="changed_at"))) == "a b"
    assert ids(store.query(Query(GRAPH, [Where("changed_at", "<", times[1])], order_by="changed_at"))) == "a"
    assert ids(store.query(Query(GRAPH, [Where("changed_at", "==", times[3])]))) == "d"
    assert store.count(Query(GRAPH, [Where("changed_at", ">", times[3])])) == 4
    epoch = datetime(1970, 1, 1, tzinfo=UTC)
    assert store.count(Query(GRAPH, [Where("changed_at", ">", epoch)])) == 8

    write("b")
    assert ids(store.query(Query(GRAPH, order_by="changed_at"))) == "a c d e f g h b"
    (again,) = store.query(Query(GRAPH, [Where("changed_at", ">", times[-1])], select=["name"]))
    assert again.data == {"name": "b"}
    (again,) = store.query(Query(GRAPH, [Where("changed_at", ">", times[-1])], select=["changed_at"]))
    assert again.data == {"changed_at": again.updated_at}


def test_a_commit_time_orders_many_commits_and_many_documents_of_one(store: DocumentStore) -> None:
    writes = [create(f"{GRAPH}/{n:03}", {"kind": "edge", "changed_at": SERVER_TIME}) for n in range(250)]
    store.commit(writes[:120])
    for write in writes[120:]:
        store.commit([write])
    assert [document.id for document in store.query(Query(GRAPH, order_by="changed_at"))] == [f"{n:03}" for n in range(250)]


def tree(store: DocumentStore, root: str, count: int) -> None:
    for start in range(0, count, 500):
        store.commit([put(f"{root}/{n:05}", {"content": "x" * 100}) for n in range(start, min(count, start + 500))])


def test_a_tree_goes_with_everything_below_it_and_nothing_beside_it(store: DocumentStore) -> None:
    gone = ["agents/a", "agents/a/working/1", "agents/a/working/1/deep/2", "agents/a/absent/parent/x/3", "agents/a/z/\U0001f600"]
    kept = [
        "agents/a0",
        "agents/a0/working/1",
        "agents/b/working/1",
        "agents/a-/working/1",
        "spaces/a/members/1",
        "agents/\u00e4",
    ]
    store.commit([put(path, {"n": 1}) for path in gone + kept])
    assert store.delete_tree("agents/a") == len(gone)
    assert store.get_many(gone) == [None] * len(gone)
    assert None not in store.get_many(kept)
    assert store.delete_tree("agents/a") == 0
    assert store.count(Query(WORKING)) == 0


def test_a_collection_is_a_tree_too(store: DocumentStore) -> None:
    gone = ["agents/a/working/1", "agents/a/working/2/deep/3", "agents/a/working/2/deep/4"]
    kept = ["agents/a", "agents/a/working2/1", "agents/a/work/1", "agents/a/requests/1", "working/1"]
    store.commit([put(path, {"live_until": 1}) for path in gone + kept])
    assert store.delete_tree("agents/a/working") == len(gone)
    assert store.get_many(gone) == [None] * len(gone)
    assert None not in store.get_many(kept)
    assert store.query(Query(WORKING, order_by="live_until")) == []


def test_a_document_without_anything_below_is_a_tree(store: DocumentStore) -> None:
    store.commit([put("accounts/a", {}), put("accounts/b", {})])
    assert store.delete_tree("accounts/a") == 1
    assert [one is None for one in store.get_many(["accounts/a", "accounts/b"])] == [True, False]


def test_a_large_tree_goes(store: DocumentStore) -> None:
    tree(store, "agents/a/requests", 5_000)
    store.commit([put("agents/a", {}), put("agents/b", {})])
    assert store.delete_tree("agents/a") == 5_001
    assert store.query(Query("agents/a/requests", limit=1)) == []
    assert ids(store.query(Query("agents"))) == "b"


def test_expired_documents_may_stay_or_go_but_live_ones_stay(store: DocumentStore) -> None:
    now = datetime.now(UTC)
    store.commit(
        [
            put(f"{WORKING}/old", {"expires_at": now - timedelta(days=2)}),
            put(f"{WORKING}/new", {"expires_at": now + timedelta(days=2)}),
            put(f"{WORKING}/never", {}),
        ]
    )
    assert {"new", "never"} <= {document.id for document in store.query(Query(WORKING))}
