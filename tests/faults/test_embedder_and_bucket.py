"""Searching while the embedder or the bucket fails: lexical with a reason, never an error, and by itself as before."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from am_server.views import meaning

from tests.faults.conftest import Service
from tests.faults.ports import FaultyEmbedder, down, well

SEARCH = {"query": "Who repaired the violin?", "limit": 2}
Start = Callable[..., Service]


@pytest.fixture(autouse=True)
def no_quiet_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """An embedder that failed is asked again at the next search instead of after a while."""
    monkeypatch.setattr(meaning, "QUIET_SECONDS", 0)


def with_embedder(service: Service, embedder: FaultyEmbedder) -> FaultyEmbedder:
    service.services.__dict__["embedder"] = embedder
    return embedder


def contents(answer: dict[str, Any]) -> list[str]:
    return [result["episode"]["content"] for result in answer["results"]]


def assert_degraded(service: Service, reason: str) -> None:
    answer = service.ok("memory_search_episodes", **SEARCH)
    assert answer["retrieval"] == "tfidf"
    assert reason in answer["degraded"]
    assert contents(answer)[0] == "Alice repaired the violin."


def assert_hybrid(service: Service) -> dict[str, Any]:
    answer: dict[str, Any] = service.ok("memory_search_episodes", **SEARCH)
    assert answer["retrieval"] == "hybrid"
    assert "degraded" not in answer
    assert "coverage" not in answer
    assert contents(answer)[0] == "Alice repaired the violin."
    return answer


@pytest.mark.parametrize("harm", [{"down": True}, {"answer_dimension": 7}], ids=["down", "wrong dimension"])
@pytest.mark.parametrize("warm", [False, True])
def test_an_embedder_that_fails_degrades_a_search_until_it_is_back(service: Service, harm: dict[str, Any], warm: bool) -> None:
    embedder = with_embedder(service, FaultyEmbedder())
    if warm:
        assert_hybrid(service)
    before = dict(vars(embedder))
    vars(embedder).update(harm)
    assert_degraded(service, "made to fail" if embedder.down else "dimensions")
    service.ok("memory_store_episode", content="Stored while the embedder is down.")
    assert_degraded(service, "made to fail" if embedder.down else "dimensions")
    vars(embedder).update(before)
    assert_hybrid(service)
    found = service.ok("memory_search_episodes", query="stored while the embedder is down", limit=1)
    assert (contents(found), found["retrieval"]) == (["Stored while the embedder is down."], "hybrid")


def test_a_failing_embedder_is_left_alone_for_a_while(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(meaning, "QUIET_SECONDS", 0.3)
    embedder = with_embedder(service, FaultyEmbedder())
    embedder.down = True
    assert_degraded(service, "made to fail")
    asked = embedder.asked
    for _ in range(3):
        assert_degraded(service, "a moment ago")
    assert embedder.asked == asked
    embedder.down = False
    time.sleep(0.35)
    assert_hybrid(service)


def test_a_slow_embedder_holds_up_no_write_and_no_lexical_search(service: Service) -> None:
    embedder = with_embedder(service, FaultyEmbedder())
    embedder.seconds = 0.5
    waiting = threading.Thread(target=lambda: service.ok("memory_search_episodes", **SEARCH))
    waiting.start()
    time.sleep(0.1)
    began = time.monotonic()
    service.ok("memory_store_episode", content="A write meanwhile.")
    found = service.ok("memory_search_episodes", query="a write meanwhile", limit=1, use_hybrid=False)
    assert time.monotonic() - began < 0.35
    assert contents(found) == ["A write meanwhile."]
    waiting.join()


def test_a_changed_model_embeds_anew_and_the_old_vectors_never_meet_it(start: Start) -> None:
    first = start().warm()
    with_embedder(first, FaultyEmbedder("old", 32))
    assert_hybrid(first)
    second = start(first.folder).warm()
    embedder = with_embedder(second, FaultyEmbedder("new", 16))
    assert_hybrid(second)
    assert embedder.asked == 3  # the query and both episodes
    third = start(first.folder).warm()
    back = with_embedder(third, FaultyEmbedder("old", 32))
    assert_hybrid(third)
    assert back.asked == 1  # its vectors are still there


@pytest.mark.parametrize("fault", ["before", "after"])
def test_a_bucket_out_of_reach_costs_no_answer_and_no_second_embedding(start: Start, fault: str) -> None:
    writer = start().warm()
    with_embedder(writer, FaultyEmbedder())
    assert_hybrid(writer)
    reader = start(writer.folder).warm()
    embedder = with_embedder(reader, FaultyEmbedder())
    reader.objects.obey(lambda *_: fault)  # type: ignore[arg-type,return-value]
    assert_degraded(reader, "made to fail")
    reader.objects.obey(well)
    assert_hybrid(reader)
    assert embedder.asked == 1  # only the query: what was in the bucket was read after all


def test_vectors_that_could_not_be_stored_serve_their_instance_and_are_made_again_by_the_next(start: Start) -> None:
    service = start().warm()
    with_embedder(service, FaultyEmbedder())
    service.objects.obey(down("put"))
    assert_hybrid(service)
    assert_hybrid(service)
    again = start(service.folder).warm()
    embedder = with_embedder(again, FaultyEmbedder())
    assert_hybrid(again)
    assert embedder.asked == 3


def test_erasing_while_the_bucket_is_down_is_told_and_completed_by_a_retry(service: Service) -> None:
    with_embedder(service, FaultyEmbedder())
    assert_hybrid(service)
    [name] = [name for name in service.objects.inner.list("agents/") if "/vectors/" in name]
    service.objects.obey(down())
    service.unavailable("memory_delete_agent", confirm=True)
    assert service.ok("memory_search_episodes", **SEARCH)["count"] == 0
    service.objects.obey(well)
    service.ok("memory_delete_agent", confirm=True)
    assert service.objects.inner.get(name) is None
