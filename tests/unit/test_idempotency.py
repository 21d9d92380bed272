"""One write however often it is sent, also where the answer is known only after the commit."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from am_server.errors import Conflict
from am_server.identity.caller import Caller
from am_server.store.port import Increment, Query, merge
from am_server.tools.call import Call
from am_server.tools.idempotency import commit_once
from am_server.tools.registry import Arguments

from tests.unit.calling import TIER, instance


class Add(Arguments):
    amount: int = 1
    idempotency_key: str | None = None


@pytest.fixture
def call(tmp_path: Path) -> Iterator[Call]:
    with instance(tmp_path) as services:
        yield Call(Caller("account", "a", "a", TIER, "key"), services, services.clock.now())


def add(call: Call, args: Add) -> dict:
    """Add to a counter and answer its new value."""

    def answer(result):
        if result is not None:
            return {"total": result.increments[0]}
        return {"total": call.store.get("agents/a/working/counter").data["total"]}

    return commit_once(call, args, "add", [merge("agents/a/working/counter", {"total": Increment(args.amount)})], answer)


def test_an_answer_that_depends_on_the_commit_is_the_same_for_a_retry(call):
    args = Add(amount=3, idempotency_key="k")
    assert add(call, args) == {"total": 3}
    assert add(call, Add(amount=4, idempotency_key="other")) == {"total": 7}
    assert add(call, args) == {"total": 3}
    assert add(call, Add()) == {"total": 8}


def test_a_retry_of_a_call_that_was_cut_off_answers_from_what_is_stored(call):
    args = Add(amount=3, idempotency_key="k")
    add(call, args)
    [record] = call.store.query(Query("agents/a/requests"))
    call.store.commit([merge(record.path, {"response": ""})])
    assert add(call, args) == {"total": 3}
    add(call, Add(amount=1))
    assert add(call, args) == {"total": 3}, "the answer was noted with the first retry"


def test_other_arguments_under_the_same_key_are_refused_and_write_nothing(call):
    add(call, Add(amount=3, idempotency_key="k"))
    with pytest.raises(Conflict, match="other arguments"):
        add(call, Add(amount=4, idempotency_key="k"))
    assert add(call, Add(amount=1)) == {"total": 4}


def test_the_key_belongs_to_its_tool(call):
    add(call, Add(idempotency_key="k"))
    assert commit_once(call, Add(idempotency_key="k"), "another", [], {"done": True}) == {"done": True}
