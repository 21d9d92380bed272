"""The handshake revisions, 2024-11-05 to 2025-11-25, over POST /mcp."""

from __future__ import annotations

import base64
import json

import pytest
from am_server.mcp.hello import INSTRUCTIONS

from tests.functions.caller import envelope, request, tool_call

pytestmark = pytest.mark.usefixtures("sample_catalogue")

REVISIONS = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"]
NOTE = {"jsonrpc": "2.0", "method": "notifications/initialized"}


@pytest.fixture(scope="module")
def mcp(agent):
    return agent()


@pytest.mark.parametrize("revision", REVISIONS)
def test_initialize_echoes_a_revision_that_has_a_handshake(mcp, revision):
    assert mcp.rpc("initialize", {"protocolVersion": revision})["result"]["protocolVersion"] == revision


@pytest.mark.parametrize("params", [None, {}, {"protocolVersion": "2026-07-28"}, {"protocolVersion": "banana"}], ids=str)
def test_initialize_falls_back_to_the_newest_handshake(mcp, params):
    assert mcp.rpc("initialize", params)["result"] == {
        "protocolVersion": "2025-11-25",
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "am-server", "title": "Agentverse Memory", "version": "0.1.0"},
        "instructions": INSTRUCTIONS,
    }


def test_initialize_refuses_a_version_that_is_no_text(mcp):
    assert mcp.rpc("initialize", {"protocolVersion": 5})["error"]["code"] == -32602


def test_initialize_may_carry_a_version_header(mcp):
    answer = mcp.post(request("initialize", {"protocolVersion": "2025-06-18"}), {"MCP-Protocol-Version": "2025-11-25"})
    assert answer.json["result"]["protocolVersion"] == "2025-06-18"
    assert "Mcp-Session-Id" not in answer.headers


def test_instructions_fit_what_clients_keep():
    assert len(INSTRUCTIONS) < 2_000
    for word in ("memory_search_episodes", "session_id", "speaker"):
        assert word in INSTRUCTIONS


def test_ping_without_params(mcp):
    assert mcp.rpc("ping") == {"jsonrpc": "2.0", "id": 1, "result": {}}


@pytest.mark.parametrize("id", [0, -7, 2**40, "", "abc", "ünï", "half \ud83d of a pair"])
def test_any_id_comes_back_as_it_was(mcp, id):
    for body in (request("ping", id=id), request("nope", id=id), tool_call("nope", id=id), tool_call("fixed", id=id)):
        answer = json.loads(mcp.post(body).data)
        assert answer["id"] == id
        assert type(answer["id"]) is type(id)


@pytest.mark.parametrize("revision", [None, *REVISIONS])
def test_tools_need_no_initialize(mcp, revision):
    answer = mcp.post(tool_call("fixed"), {"MCP-Protocol-Version": revision})
    assert answer.json["result"] == {
        "content": [{"type": "text", "text": '{"said":"hello"}'}],
        "structuredContent": {"said": "hello"},
        "isError": False,
    }


@pytest.mark.parametrize("revision", [None, *REVISIONS])
def test_unknown_names_are_http_200(mcp, revision):
    headers = {"MCP-Protocol-Version": revision}
    for body in (request("nope/nope"), tool_call("memory_nope"), request("prompts/list"), request("server/discover")):
        answer = mcp.post(body, headers)
        assert (answer.status_code, answer.json["error"]["code"]) == (200, -32601)
    assert "unknown tool" in mcp.post(tool_call("memory_nope"), headers).json["error"]["message"].lower()


def test_an_unknown_version_header_names_the_known_ones(mcp):
    for body in (request("ping"), NOTE, {"jsonrpc": "2.0", "id": 1, "result": {}}):
        answer = mcp.post(body, {"MCP-Protocol-Version": "1999-01-01"})
        assert (answer.status_code, answer.json["error"]["code"]) == (400, -32022)
        assert answer.json["error"]["data"]["requested"] == "1999-01-01"
        assert set(REVISIONS) < set(answer.json["error"]["data"]["supported"])


@pytest.mark.parametrize("method", ["notifications/initialized", "notifications/cancelled", "tools/call", "nope"])
def test_what_has_no_id_gets_202_and_no_body(mcp, method):
    answer = mcp.post({"jsonrpc": "2.0", "method": method})
    assert (answer.status_code, answer.data) == (202, b"")
    assert "Content-Type" not in answer.headers
    assert mcp.post({"jsonrpc": "2.0", "id": 5, "error": {"code": 1, "message": "x"}}).status_code == 202


@pytest.mark.parametrize(
    "body", ["{", "", "nope", '{"jsonrpc": "2.0"', b"\xff\xfe{}", "[" * 100_000, '{"a": NaN}', '{"a": 1e999}']
)
def test_what_is_no_json_gets_a_parse_error_without_an_id(mcp, body):
    answer = mcp.post(body)
    assert (answer.status_code, answer.json["error"]["code"]) == (400, -32700)
    assert "id" not in answer.json


NO_REQUEST = [1, "ping", True, None, [], {}, {"jsonrpc": "2.0", "id": 1}, {"id": 1, "method": "ping"}]
NO_REQUEST += [request("ping", id=id) for id in (None, True, 1.5, {})] + [request(method) for method in (5, None)]


@pytest.mark.parametrize("body", NO_REQUEST, ids=json.dumps)
def test_what_is_no_request(mcp, body):
    answer = mcp.post(json.dumps(body))
    assert (answer.status_code, answer.json["error"]["code"]) == (400, -32600)


def test_params_that_are_no_object(mcp):
    for params in ([], "x", 5):
        assert mcp.rpc("tools/list", params)["error"]["code"] == -32602


# --- batches


@pytest.mark.parametrize("revision", [None, "2025-03-26"])
def test_a_batch_has_one_answer_for_each_request(mcp, revision):
    batch = [request("ping", id=1), NOTE, tool_call("nope", id="two"), {"jsonrpc": "2.0", "id": 9, "result": {}}, 5]
    answer = mcp.post(batch, {"MCP-Protocol-Version": revision})
    assert answer.status_code == 200
    one, two, broken = answer.json
    assert one == {"jsonrpc": "2.0", "id": 1, "result": {}}
    assert (two["id"], two["error"]["code"]) == ("two", -32601)
    assert ("id" in broken, broken["error"]["code"]) == (False, -32600)


@pytest.mark.parametrize("revision", ["2024-11-05", "2025-06-18", "2025-11-25", "2026-07-28", "1999-01-01"])
def test_other_revisions_have_no_batches(mcp, revision):
    answer = mcp.post([request("ping")], {"MCP-Protocol-Version": revision})
    assert (answer.status_code, answer.json["error"]["code"]) == (400, -32600)


def test_a_batch_without_requests_gets_202(mcp):
    answer = mcp.post([NOTE, NOTE])
    assert (answer.status_code, answer.data) == (202, b"")


def test_initialize_is_refused_inside_a_batch(mcp):
    first, second = mcp.post([request("initialize", {"protocolVersion": "2025-03-26"}, id=1), request("ping", id=2)]).json
    assert (first["id"], first["error"]["code"]) == (1, -32600)
    assert second["result"] == {}


def test_an_enveloped_request_spoils_the_batch(mcp):
    answer = mcp.post([request("ping"), request("tools/list", envelope())])
    assert (answer.status_code, answer.json["error"]["code"]) == (400, -32600)


def test_a_batch_has_an_end(mcp):
    assert mcp.post([request("ping")] * 51).json["error"]["code"] == -32600


# --- tools/list


def test_the_list_is_one_page_in_a_steady_order(mcp, agent):
    listed = mcp.rpc("tools/list")["result"]
    assert [tool["name"] for tool in listed["tools"]][:2] == ["echo", "fixed"]
    assert list(listed) == ["tools"]
    assert agent("builder").rpc("tools/list")["result"] == listed


def test_the_list_shows_all_of_a_tool(mcp):
    [fixed] = [tool for tool in mcp.rpc("tools/list")["result"]["tools"] if tool["name"] == "fixed"]
    assert fixed["title"] == "The fixed tool"
    assert fixed["inputSchema"] == {"type": "object", "properties": {}, "additionalProperties": True}
    assert fixed["outputSchema"]["properties"]["said"] == {"type": "string"}
    assert fixed["annotations"] == {
        "title": "The fixed tool",
        "readOnlyHint": True,
        "destructiveHint": False,
        "idempotentHint": True,
        "openWorldHint": False,
    }


@pytest.mark.parametrize("cursor", ["", "x", 5])
def test_there_is_no_second_page(mcp, cursor):
    assert mcp.rpc("tools/list", {"cursor": cursor})["error"]["code"] == -32602


def test_toolsets_narrow_the_list(mcp):
    by_header = mcp.post(request("tools/list"), {"X-AM-Toolsets": "working, graph"})
    by_query = mcp.post(request("tools/list"), path="/mcp?toolsets=working,graph")
    for answer in (by_header, by_query):
        assert [tool["name"] for tool in answer.json["result"]["tools"]] == ["echo", "find_star"]
    wrong = mcp.post(request("tools/list"), {"X-AM-Toolsets": "wroking"})
    assert (wrong.status_code, wrong.json["error"]["code"]) == (200, -32602)
    assert "working" in wrong.json["error"]["message"]


def test_base64_is_nothing_special_here(mcp):
    name = "=?base64?" + base64.b64encode(b"fixed").decode() + "?="
    assert mcp.post(tool_call("fixed"), {"Mcp-Name": name, "Mcp-Method": "nonsense"}).json["result"]["isError"] is False
