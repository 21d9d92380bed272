"""Revision 2026-07-28: every request carries its version in an envelope, and headers that agree with it."""

from __future__ import annotations

import base64

import pytest
from am_server.mcp.hello import INSTRUCTIONS

from tests.functions.caller import META, MODERN, envelope, request, tool_call

pytestmark = pytest.mark.usefixtures("sample_catalogue")

ECHO = {"name": "echo", "arguments": {"text": "hi"}}


@pytest.fixture(scope="module")
def mcp(agent):
    return agent()


def b64(text):
    return "=?base64?" + base64.b64encode(text.encode()).decode() + "?="


def test_discover(mcp):
    assert mcp.modern("server/discover", id="server-discover-probe-1").json == {
        "jsonrpc": "2.0",
        "id": "server-discover-probe-1",
        "result": {
            "supportedVersions": ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"],
            "capabilities": {"tools": {}},
            "instructions": INSTRUCTIONS,
            "ttlMs": 3_600_000,
            "cacheScope": "public",
            "resultType": "complete",
            "_meta": {
                "io.modelcontextprotocol/serverInfo": {"name": "am-server", "title": "Agentverse Memory", "version": "0.1.0"}
            },
        },
    }


def test_the_list_is_the_one_of_the_other_era_and_says_how_long_it_holds(mcp):
    result = mcp.modern("tools/list").json["result"]
    assert result["tools"] == mcp.rpc("tools/list")["result"]["tools"]
    assert (result["ttlMs"], result["cacheScope"], result["resultType"]) == (300_000, "public", "complete")


def test_a_narrowed_list_is_not_for_everybody(mcp):
    result = mcp.modern("tools/list", headers={"X-AM-Toolsets": "working"}).json["result"]
    assert ([tool["name"] for tool in result["tools"]], result["cacheScope"]) == (["echo"], "private")


def test_a_call(mcp):
    answer = mcp.modern("tools/call", ECHO, id="s-1")
    assert answer.status_code == 200
    assert answer.json["id"] == "s-1"
    result = answer.json["result"]
    assert (result["structuredContent"]["said"], result["isError"], result["resultType"]) == ("hi", False, "complete")
    assert result["_meta"][META + "serverInfo"]["name"] == "am-server"
    assert "ttlMs" not in result


def test_a_failed_call_is_in_band(mcp):
    answer = mcp.modern("tools/call", {"name": "echo", "arguments": {}})
    result = answer.json["result"]
    assert (answer.status_code, result["isError"], result["resultType"]) == (200, True, "complete")
    assert result["structuredContent"]["error"]["code"] == -32004


def test_an_unknown_tool_is_a_wrong_parameter(mcp):
    answer = mcp.modern("tools/call", {"name": "memory_nope", "arguments": {}}, id="u")
    assert (answer.status_code, answer.json["id"], answer.json["error"]["code"]) == (200, "u", -32602)
    assert answer.json["error"]["message"].startswith("Unknown tool: memory_nope")


@pytest.mark.parametrize("name", [5, None, ["echo"], {}])
def test_a_name_that_is_no_text(mcp, name):
    answer = mcp.modern("tools/call", {"name": name}, {"Mcp-Name": "x"})
    assert (answer.status_code, answer.json["error"]["code"]) == (200, -32602)


@pytest.mark.parametrize(
    "method", ["initialize", "ping", "logging/setLevel", "subscriptions/listen", "prompts/list", "nope/nope"]
)
def test_methods_that_this_revision_does_not_have(mcp, method):
    answer = mcp.modern(method)
    assert (answer.status_code, answer.json["error"]["code"]) == (404, -32601)


@pytest.mark.parametrize(
    "headers",
    [
        {"MCP-Protocol-Version": None},
        {"Mcp-Method": None},
        {"Mcp-Name": None},
        {"MCP-Protocol-Version": "2025-11-25"},
        {"Mcp-Method": "tools/list"},
        {"Mcp-Method": "Tools/Call"},
        {"Mcp-Name": "ECHO"},
        {"Mcp-Name": "echo,echo"},
        {"Mcp-Name": "=?base64?!!!?="},
        {"Mcp-Name": "=?base64?ZWNobw?="},
        {"Mcp-Name": "=?base64?/w==?="},
        {"Mcp-Name": b64("other")},
    ],
    ids=str,
)
def test_headers_that_differ_from_the_body(mcp, headers):
    answer = mcp.modern("tools/call", ECHO, headers, id="h")
    assert (answer.status_code, answer.json["id"], answer.json["error"]["code"]) == (400, "h", -32020)


@pytest.mark.parametrize(
    "headers",
    [
        {"Mcp-Name": "echo \t"},
        {"Mcp-Method": " tools/call "},
        {"Mcp-Name": b64("echo")},
        {"Mcp-Param-Text": "whatever"},
        {"MCP-Protocol-Version": None, "mcp-protocol-version": MODERN, "Mcp-Method": None, "mcp-method": "tools/call"},
    ],
    ids=str,
)
def test_headers_that_agree(mcp, headers):
    assert mcp.modern("tools/call", ECHO, headers).status_code == 200


def test_a_name_between_the_markers_is_decoded_and_any_other_is_literal(mcp):
    literal = {"name": "=?base64?", "arguments": {}}
    assert mcp.modern("tools/call", literal).json["error"]["code"] == -32602
    unicode = {"name": "ünï", "arguments": {}}
    assert mcp.modern("tools/call", unicode, {"Mcp-Name": b64("ünï")}).json["error"]["code"] == -32602


@pytest.mark.parametrize(
    "params",
    [
        None,
        {},
        {"_meta": None},
        {"_meta": {}},
        {"_meta": {META + "clientCapabilities": {}}},
        {"_meta": {META + "protocolVersion": MODERN}},
        {"_meta": {META + "protocolVersion": MODERN, META + "clientCapabilities": "none"}},
        {"_meta": {META + "protocolVersion": 5, META + "clientCapabilities": {}}},
        [],
    ],
    ids=str,
)
def test_an_envelope_must_be_whole(mcp, params):
    answer = mcp.post(request("tools/list", params), {"MCP-Protocol-Version": MODERN, "Mcp-Method": "tools/list"})
    assert (answer.status_code, answer.json["error"]["code"]) == (400, -32602)


def test_an_envelope_may_tell_more(mcp):
    meta = {META + "clientInfo": {"name": "test", "version": "1"}, "progressToken": "p", "traceparent": "00-0-0-00"}
    assert mcp.modern("tools/list", envelope(**meta)).status_code == 200


def test_a_bare_meta_is_no_envelope(mcp):
    answer = mcp.post(request("tools/call", {**ECHO, "_meta": {"progressToken": 1}}))
    assert "resultType" not in answer.json["result"]


@pytest.mark.parametrize("version", ["v999.0.0", "2025-11-25"])
def test_a_version_that_no_envelope_can_name(mcp, version):
    answer = mcp.modern("tools/list", envelope(version=version), {"MCP-Protocol-Version": version})
    assert (answer.status_code, answer.json["error"]["code"]) == (400, -32022)
    data = answer.json["error"]["data"]
    assert (data["requested"], data["supported"][0]) == (version, MODERN)
    assert set(data["supported"]) <= set(mcp.modern("server/discover").json["result"]["supportedVersions"])


def test_another_version_in_the_body_alone_is_a_mismatch(mcp):
    assert mcp.modern("tools/list", envelope(version="v999.0.0")).json["error"]["code"] == -32020


def test_notifications_and_responses(mcp):
    headers = {"MCP-Protocol-Version": MODERN, "Mcp-Method": "notifications/cancelled"}
    note = mcp.post({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": envelope()}, headers)
    assert (note.status_code, note.data) == (202, b"")
    response = mcp.post({"jsonrpc": "2.0", "id": 1, "result": {}}, headers)
    assert (response.status_code, response.json["error"]["code"]) == (400, -32600)


def test_arguments_must_be_an_object(mcp):
    for arguments in (None, [], "x", 5, True):
        for answer in (
            mcp.modern("tools/call", {"name": "fixed", "arguments": arguments}),
            mcp.post(request("tools/call", {"name": "fixed", "arguments": arguments})),
        ):
            assert (answer.status_code, answer.json["error"]["code"]) == (200, -32602)


def test_no_answer_holds_a_null(mcp):
    for answer in (
        mcp.modern("server/discover"),
        mcp.modern("tools/list"),
        mcp.modern("tools/call", ECHO),
        mcp.modern("nope"),
        mcp.modern("tools/list", envelope(version="v9")),
        mcp.post("{"),
        mcp.post(tool_call("echo")),
        mcp.post(request("tools/list")),
    ):
        assert "null" not in answer.text.replace("JSON text", "")
