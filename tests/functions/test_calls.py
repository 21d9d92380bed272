"""tools/call: the gates in their order, what counts, and how failures are told."""

from __future__ import annotations

import json

import pytest

from tests.functions.caller import Caller, request, tool_call

pytestmark = pytest.mark.usefixtures("sample_catalogue")


@pytest.fixture
def mcp(agent):
    return agent()


def error(result):
    assert result["isError"] is True
    [block] = result["content"]
    assert block == {"type": "text", "text": result["structuredContent"]["error"]["message"]}
    return result["structuredContent"]["error"]


def remaining(answer):
    return int(answer.headers["X-RateLimit-Remaining"])


def test_success_is_told_twice(mcp):
    result = mcp.call("echo", text="ünï ", times=2)
    assert result["structuredContent"] == {"said": "ünï ünï ", "agent_id": "agent"}
    assert json.loads(result["content"][0]["text"]) == result["structuredContent"]


def test_arguments_are_read_leniently(mcp):
    assert mcp.call("echo", text="a", times="2", surprise=1)["structuredContent"]["said"] == "aa"


def test_a_wrong_argument_is_named(mcp):
    assert error(mcp.call("echo")) == {
        "code": -32004,
        "type": "validation_error",
        "message": "validation error on 'text': required field missing or invalid",
    }


def test_an_error_that_a_tool_expects(mcp):
    assert error(mcp.call("unavailable"))["type"] == "unavailable"


@pytest.mark.parametrize(("tool", "arguments"), [("crash", {"text": "Ada's secret"}), ("not_a_number", {})])
def test_a_bug_tells_the_request_id_and_nothing_else(mcp, capsys, tool, arguments):
    answer = mcp.post(tool_call(tool, arguments))
    told = error(answer.json["result"])
    assert (answer.status_code, told["code"], told["type"]) == (200, -32603, "internal")
    assert answer.headers["X-Request-Id"] in told["message"]
    line = json.loads(capsys.readouterr().out)
    assert (line["severity"], line["tool"], line["error"]) == ("ERROR", tool, "internal")
    assert line["exception"] in ("RuntimeError", "ValueError")
    assert "secret" not in answer.text + json.dumps(line)


# --- who may


def test_the_tier_gate_names_what_every_tier_has(agent):
    told = error(agent("explorer").call("find_star", text="x"))
    assert (told["code"], told["type"]) == (-32002, "forbidden")
    assert told["message"].startswith("forbidden: tier 'explorer' cannot access 'builder' feature A* pathfinding")
    assert "memory_traverse_graph" in told["message"]
    assert agent("builder").call("find_star", text="x")["isError"] is False


def test_the_gates_come_in_order(agent):
    # tier, then token, then arguments
    assert error(agent("explorer").call("share"))["code"] == -32002
    assert error(agent("builder").call("share"))["code"] == -32001


def test_a_shared_tool_asks_for_a_token(agent):
    assert error(agent("builder").call("share", text="x"))["message"] == (
        "unauthorized: Shared space operations require JWT authentication. "
        "Use 'Authorization: Bearer <jwt>' with a valid JWT token."
    )


def test_a_bad_token_beside_a_good_key_is_named_by_shared_tools_only(agent):
    mcp = agent("builder")
    headers = {"Authorization": "Bearer a.b.c"}
    assert "jwt_invalid" in error(mcp.post(tool_call("share", {"text": "x"}), headers).json["result"])["message"]
    assert mcp.post(tool_call("fixed"), headers).json["result"]["isError"] is False


@pytest.fixture
def token(agent, services):
    """A caller with a space token and no key."""
    key = agent("builder").key
    who = services.accounts.authenticate(key, None)
    return Caller(agent().app, None), {"Authorization": f"Bearer {services.tokens.mint(who.did, 'builder', []).token}"}, key


def test_a_token_alone_opens_shared_tools_only(token):
    nobody, bearer, _ = token
    assert nobody.post(tool_call("share", {"text": "x"}), bearer).json["result"]["isError"] is False
    assert nobody.post(request("tools/list"), bearer).status_code == 200
    refused = error(nobody.post(tool_call("echo", {"text": "x"}), bearer).json["result"])
    assert refused["code"] == -32001
    assert "X-API-Key" in refused["message"]


def test_key_and_token_together(token):
    nobody, bearer, key = token
    for tool in ("share", "echo"):
        answer = nobody.post(tool_call(tool, {"text": "x"}), {**bearer, "X-API-Key": key})
        assert answer.json["result"]["isError"] is False


# --- what counts


def test_only_a_call_that_passes_every_gate_counts(mcp):
    before = remaining(mcp.post(tool_call("fixed")))
    for body in (
        tool_call("echo"),
        tool_call("find_star", {"text": "x"}),
        tool_call("nope"),
        request("tools/list"),
        request("ping"),
    ):
        assert remaining(mcp.post(body)) == before
    assert remaining(mcp.post(tool_call("crash", {"text": "x"}))) == before - 1


def test_each_call_of_a_batch_counts(mcp):
    before = remaining(mcp.post(tool_call("fixed")))
    assert remaining(mcp.post([tool_call("fixed"), tool_call("fixed", id=2)])) == before - 2


def test_a_used_up_quota(agent):
    mcp = agent("tiny")
    assert [remaining(mcp.post(tool_call("fixed"))) for _ in range(3)] == [2, 1, 0]
    answer = mcp.post(tool_call("fixed", id="last"))
    assert answer.status_code == 429
    assert answer.json["id"] == "last"
    told = error(answer.json["result"])
    assert (told["code"], told["type"], told["limit"], told["remaining"]) == (-32005, "rate_limited", 3, 0)
    assert told["reset"] == int(answer.headers["X-RateLimit-Reset"])
    assert told["retry_after"] == int(answer.headers["Retry-After"]) > 0
    assert (answer.headers["X-RateLimit-Limit"], answer.headers["X-RateLimit-Remaining"]) == ("3", "0")

    assert mcp.modern("tools/call", {"name": "fixed", "arguments": {}}).json["result"]["resultType"] == "complete"
    assert mcp.post(request("tools/list")).status_code == 200
    [in_batch] = mcp.post([tool_call("fixed")]).json
    assert error(in_batch["result"])["code"] == -32005


def test_a_tier_without_limit(agent):
    answer = agent("enterprise").post(tool_call("fixed"))
    assert answer.headers["X-RateLimit-Limit"] == answer.headers["X-RateLimit-Remaining"] == "9007199254740991"
