"""Whatever arguments a tool is sent, it answers properly: a result that fits its schema, or an error that names its cause.

`make test` sends some hundred calls, the same ones every time; `make fuzz` sends FUZZ_CALLS fresh ones.
"""

from __future__ import annotations

import json
import os
from typing import Any

import pytest
from am_server.errors import AmError
from am_server.tools.catalogue import load
from am_server.tools.schemas import input_schema, output_schema
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from tests.functions.caller import tool_call
from tests.functions.spaces import Member
from tests.fuzz.generate import anything, hostile_texts

CALLS = int(os.environ.get("FUZZ_CALLS", "400"))
AGENT_CALLS = 250
"""After so many calls another agent goes on, with an empty memory."""

KNOWN_CODES = {error.code for error in AmError.__subclasses__()} - {-32603}

FUZZING = settings(
    max_examples=CALLS, deadline=None, derandomize="FUZZ_CALLS" not in os.environ, database=None, report_multiple_bugs=False,
    suppress_health_check=list(HealthCheck),
)  # fmt: skip


class Bench:
    """An agent in a shared space, with one of everything, whose ids the arguments may hit upon."""

    def __init__(self, agent: Any) -> None:
        self._agent = agent
        self.calls = 0
        self._renew()

    def _renew(self) -> None:
        self.member = Member(self._agent("builder"))
        self.space = self.member.create("space")
        self.member.ask()
        mcp = self.member.mcp
        episode = mcp.call("memory_store_episode", content="a b c")["structuredContent"]["id"]
        procedure = mcp.call("memory_store_procedure", name="a", steps=["b"])["structuredContent"]["id"]
        mcp.call("memory_graph_add_triple", subject="a", predicate="b", object="c")
        self.ids = [episode, procedure, self.space, "a", "b", "c", "agent"]

    def call(self, tool: str, arguments: dict[str, Any]) -> Any:
        """The HTTP answer to one call."""
        self.calls += 1
        if self.calls % AGENT_CALLS == 0 or tool == "memory_delete_agent":
            self._renew()
        body = json.dumps(tool_call(tool, arguments))
        return self.member.mcp.post(body, {"Authorization": f"Bearer {self.member.token}"})


@pytest.fixture(scope="module")
def bench(agent: Any) -> Bench:
    return Bench(agent)


@FUZZING
@given(data=st.data())
def test_every_call_is_answered_properly(bench, data):
    tool = load()[data.draw(st.sampled_from(sorted(load())))]
    texts = st.one_of(hostile_texts(*bench.ids), st.sampled_from(bench.ids))
    arguments = data.draw(anything(input_schema(tool.arguments), texts))
    answer = bench.call(tool.name, arguments)
    assert answer.status_code == 200, answer.get_data(as_text=True)[:500]
    result = answer.json.get("result")
    assert result is not None, answer.get_data(as_text=True)[:500]
    payload = result["structuredContent"]
    assert list(Draft202012Validator(output_schema(tool.result)).iter_errors(payload)) == []
    if result["isError"]:
        assert payload["error"]["code"] in KNOWN_CODES, payload
        assert 0 < len(payload["error"]["message"]) < 1_000
    else:
        assert "error" not in payload
        assert json.loads(result["content"][0]["text"]) == payload
