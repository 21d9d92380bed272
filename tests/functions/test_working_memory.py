"""Working memory beyond the contract: sessions, prefixes, pages, limits."""

import time

import pytest


@pytest.fixture
def memory(agent):
    return agent()


def keys(memory, **arguments):
    return [item["key"] for item in memory.ok("memory_list_working", **arguments)["items"]]


def test_sessions_do_not_collide(memory):
    for session, value in (("one", "1"), ("two", "2"), (None, "0")):
        memory.ok("memory_set_working", key="k", content=value, session_id=session)
    assert memory.ok("memory_get_working", key="k")["item"]["content"] == "0"
    assert memory.ok("memory_get_working", key="k", session_id="two")["item"] == {"key": "k", "content": "2", "session_id": "two"}
    assert memory.ok("memory_list_working")["count"] == 3
    assert memory.ok("memory_list_working", session_id="one")["items"][0]["content"] == "1"


def test_without_a_session_the_newest_of_any_session_is_found(memory):
    for session in ("one", "two"):
        memory.ok("memory_set_working", key="k", content=session, session_id=session)
    assert memory.ok("memory_get_working", key="k")["item"]["content"] == "two"
    assert memory.ok("memory_get_working", key="k", session_id="three") == {"found": False, "key": "k"}


def test_keys_are_sorted_filtered_and_paged(memory):
    for key in ("b2", "a1", "b1", "b3"):
        memory.ok("memory_set_working", key=key, content="x")
    assert keys(memory) == ["a1", "b1", "b2", "b3"]
    first = memory.ok("memory_list_working", prefix="b", limit=2)
    assert [item["key"] for item in first["items"]] == ["b1", "b2"]
    rest = memory.ok("memory_list_working", prefix="b", limit=2, cursor=first["next_cursor"])
    assert [item["key"] for item in rest["items"]] == ["b3"]
    assert "next_cursor" not in rest
    assert memory.error("memory_list_working", cursor="b2")["code"] == -32004
    assert memory.ok("memory_list_working", limit=10**6)["count"] == 4


def test_clearing_a_part(memory):
    for key, session in (("tmp a", None), ("tmp b", "s"), ("keep", None), ("keep", "s")):
        memory.ok("memory_set_working", key=key, content="x", session_id=session)
    assert memory.ok("memory_clear_working", prefix="tmp")["keys_deleted"] == 2
    assert memory.ok("memory_clear_working", session_id="s")["keys_deleted"] == 1
    assert memory.ok("memory_clear_working", key="keep", session_id="s")["removed"] is False
    assert keys(memory) == ["keep"]


def test_clearing_a_key_leaves_none_to_read(memory):
    for session in ("one", "two", None):
        memory.ok("memory_set_working", key="k", content="x", session_id=session)
    assert memory.ok("memory_clear_working", key="k", session_id="one") == {"key": "k", "removed": True}
    assert memory.ok("memory_clear_working", key="k") == {"key": "k", "removed": True}
    assert memory.ok("memory_get_working", key="k") == {"found": False, "key": "k"}
    assert memory.ok("memory_clear_working", key="k") == {"key": "k", "removed": False}


def test_an_expired_item_hides_no_live_one(memory):
    memory.ok("memory_set_working", key="k", content="live", session_id="s")
    memory.ok("memory_set_working", key="k", content="gone", ttl_seconds=1)
    time.sleep(1.05)
    assert memory.ok("memory_get_working", key="k")["item"]["content"] == "live"


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("ttl_seconds", 0),
        ("ttl_seconds", -5),
        ("ttl_seconds", 10**12),
        ("key", ""),
        ("key", "k" * 1_025),
        ("content", "x" * 70_000),
    ],
)
def test_limits(memory, argument, value):
    error = memory.error("memory_set_working", **{"key": "k", "content": "x", argument: value})
    assert (error["code"], argument in error["message"]) == (-32004, True)
    assert keys(memory) == []


def test_an_expiring_item_tells_when(memory):
    memory.ok("memory_set_working", key="k", content="x", ttl_seconds=60)
    assert memory.ok("memory_get_working", key="k")["item"]["expires_at"].endswith("Z")
