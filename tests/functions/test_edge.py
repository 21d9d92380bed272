"""The HTTP around every function: credentials, origins, limits, statuses, headers, the log line."""

from __future__ import annotations

import io
import json
import re

import pytest
from am_server import wiring
from am_server.edge.receive import MAX_BODY_BYTES
from am_server.errors import NotConfigured

from tests.functions.caller import Caller, request, tool_call

pytestmark = pytest.mark.usefixtures("sample_catalogue")

BAD_KEY = "am_" + "x" * 43
PROBES = [
    ("GET", "/nope"),
    ("GET", "/v1/nope"),
    ("GET", "/.well-known/oauth-protected-resource/mcp"),
    ("GET", "/.well-known/openid-configuration"),
    ("POST", "/register"),
    ("GET", "/"),
    ("GET", "/robots.txt"),
    ("GET", "/favicon.ico"),
    ("DELETE", "/v1/nope%0A"),
]


@pytest.fixture(scope="module")
def mcp(agent):
    return agent()


# --- who asks


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"X-API-Key": BAD_KEY},
        {"X-API-Key": "nonsense"},
        {"X-API-Key": ""},
        {"X-API-Key": "am_ü"},
        {"Authorization": f"Bearer {BAD_KEY}"},
        {"Authorization": f"Basic {BAD_KEY}"},
        {"Authorization": "Bearer"},
    ],
    ids=str,
)
@pytest.mark.parametrize("method", ["initialize", "tools/list", "tools/call"])
def test_nobody_gets_in_without_a_key(nobody, headers, method):
    answer = nobody.post(request(method, {"name": "echo"}, id="me"), headers)
    assert (answer.status_code, answer.json["id"], answer.json["error"]["code"]) == (401, "me", -32001)
    assert "X-API-Key" in answer.json["error"]["message"] or "AM_API_KEY" in answer.json["error"]["message"]
    assert answer.headers["WWW-Authenticate"] == 'Bearer realm="am-server", error="invalid_token"'
    assert "X-RateLimit-Limit" not in answer.headers
    assert BAD_KEY not in answer.text + str(answer.headers)


def test_401_comes_before_everything_but_the_origin(nobody):
    assert nobody.send("GET", "/mcp").status_code == 401
    assert nobody.post("{").status_code == 401
    assert nobody.post(request("ping"), {"Content-Type": "text/plain"}).status_code == 401


@pytest.mark.parametrize("name", ["api_key", "key", "X-API-Key", "token"])
def test_a_key_in_the_query_is_no_key(nobody, mcp, name):
    assert nobody.post(request("ping"), path=f"/mcp?{name}={mcp.key}").status_code == 401


@pytest.mark.parametrize("header", ["X-API-Key: {}", "x-api-key:{} ", "Authorization: Bearer {}", "authorization: BEARER  {}"])
def test_either_header_carries_the_key(nobody, mcp, header):
    name, _, value = header.format(mcp.key).partition(":")
    assert nobody.post(tool_call("echo", {"text": "x"}), {name: value}).json["result"]["isError"] is False


def test_behind_a_gateway_only_the_named_header_counts(app, mcp, setting):
    setting("AM_AUTH_HEADER", "X-Forwarded-Authorization")
    nobody = Caller(app)
    right = {"X-Forwarded-Authorization": f"Bearer {mcp.key}", "Authorization": "Bearer the gateway's own"}
    assert nobody.post(request("ping"), right).status_code == 200
    assert nobody.post(request("ping"), {"Authorization": f"Bearer {mcp.key}"}).status_code == 401


# --- from where


@pytest.mark.parametrize("origin", ["http://localhost:3000", "http://127.0.0.1:8080", "https://[::1]", "http://localhost"])
def test_pages_on_this_machine_may_call(mcp, origin):
    answer = mcp.post(request("ping"), {"Origin": origin})
    assert (answer.status_code, answer.headers["Access-Control-Allow-Origin"]) == (200, origin)
    assert "WWW-Authenticate" in answer.headers["Access-Control-Expose-Headers"]


@pytest.mark.parametrize(
    "origin", ["http://evil.example.com", "null", "", "http://localhost.evil.example.com", "http://127.0.0.1.evil.example.com:80"]
)
def test_other_pages_may_not(mcp, nobody, origin):
    for caller in (mcp, nobody):
        answer = caller.post(request("ping", id=7), {"Origin": origin})
        assert (answer.status_code, answer.json["id"]) == (403, 7)
        assert "Access-Control-Allow-Origin" not in answer.headers
        assert caller.send("OPTIONS", "/mcp", {"Origin": origin}).status_code == 403


def test_preflight_needs_no_key(nobody):
    for path in ("/mcp", "/v1/keys", "/api/v2/memories"):
        answer = nobody.send("OPTIONS", path, {"Origin": "http://localhost:3000", "Access-Control-Request-Method": "POST"})
        assert (answer.status_code, answer.data) == (204, b"")
        assert "MCP-Protocol-Version" in answer.headers["Access-Control-Allow-Headers"]


def test_listed_origins_replace_the_local_ones(mcp, setting):
    setting("AM_ALLOWED_ORIGINS", "https://app.example.com, https://b.example.com")
    found = {
        origin: mcp.post(request("ping"), {"Origin": origin}).status_code
        for origin in ("https://app.example.com", "https://b.example.com", "http://localhost:3000")
    }
    assert found == {"https://app.example.com": 200, "https://b.example.com": 200, "http://localhost:3000": 403}


# --- what is sent


@pytest.mark.parametrize("method", ["GET", "HEAD", "DELETE", "PUT", "PATCH"])
def test_mcp_takes_post_only(mcp, method):
    answer = mcp.send(method, "/mcp", {"Accept": "text/event-stream", "Mcp-Session-Id": "x", "Last-Event-ID": "1"})
    assert (answer.status_code, answer.headers["Allow"]) == (405, "POST")
    assert "X-RateLimit-Limit" in answer.headers


def test_the_path_may_end_in_a_slash(mcp):
    assert mcp.post(request("ping"), path="/mcp/").json["result"] == {}


@pytest.mark.parametrize("accept", [None, "*/*", "application/json", "text/event-stream", "text/html"])
def test_any_accept_header_gets_json(mcp, accept):
    answer = mcp.post(request("ping"), {"Accept": accept})
    assert (answer.json["result"], answer.headers["Content-Type"]) == ({}, "application/json")


@pytest.mark.parametrize(
    ("media_type", "status"),
    [
        ("application/json", 200),
        ("Application/JSON; charset=utf-8", 200),
        ("text/plain", 415),
        (None, 415),
        ("application/jsonx", 415),
    ],
)
def test_the_body_is_declared_as_json(mcp, media_type, status):
    answer = mcp.post(request("ping"), {"Content-Type": media_type})
    assert answer.status_code == status


def sized(size):
    body = json.dumps(tool_call("echo", {"text": ""}))
    return body.replace('"text": ""', '"text": "' + "x" * (size - len(body)) + '"')


def test_bodies_up_to_4_mib(mcp):
    assert mcp.post(sized(MAX_BODY_BYTES)).status_code == 200
    answer = mcp.post(sized(MAX_BODY_BYTES + 1))
    assert (answer.status_code, answer.json["error"]["code"]) == (413, -32600)
    assert str(MAX_BODY_BYTES) in answer.json["error"]["message"]


def test_a_body_without_a_declared_length(mcp):
    def chunked(size):
        body = io.BytesIO(sized(size).encode())
        environ = {"wsgi.input_terminated": True, "HTTP_TRANSFER_ENCODING": "chunked"}
        return mcp.send("POST", "/mcp", {"Content-Type": "application/json"}, input_stream=body, environ_overrides=environ)

    assert chunked(1_000).json["result"]["isError"] is False
    assert chunked(MAX_BODY_BYTES + 1).status_code == 413


def test_a_body_shorter_than_declared(mcp):
    body = io.BytesIO(json.dumps(request("ping")).encode())
    headers = {"Content-Type": "application/json"}
    answer = mcp.send("POST", "/mcp", headers, input_stream=body, environ_overrides={"CONTENT_LENGTH": "500"})
    assert (answer.status_code, answer.json["error"]["code"]) == (400, -32600)


# --- other paths


@pytest.mark.parametrize(("method", "path"), PROBES, ids=str)
def test_unknown_paths_are_404_in_json(nobody, method, path):
    answer = nobody.send(method, path)
    assert (answer.status_code, answer.headers["Content-Type"]) == (404, "application/json")
    assert answer.json["error"]["type"] == "not_found"
    assert "/mcp" in answer.json["error"]["message"]


def test_json_rpc_at_the_base_url_is_told_where_to_go(mcp):
    answer = mcp.post(request("tools/list", id="q"), path="/")
    assert (answer.status_code, answer.json["id"]) == (404, "q")
    assert "POST /mcp" in answer.json["error"]["message"]


def test_health(nobody):
    answer = nobody.send("GET", "/health")
    assert (answer.status_code, answer.json) == (200, {"service": "am-server", "status": "ok", "version": "0.1.0"})
    assert answer.headers["X-AM-Cost"] == "reads=0;writes=0;rpcs=0"
    assert nobody.send("POST", "/health").status_code == 405


def test_deep_health_asks_store_and_bucket(nobody, services, monkeypatch):
    well = nobody.send("GET", "/health?deep=1")
    assert (well.status_code, well.json["status"], well.json["store"], well.json["objects"]) == (200, "ok", "ok", "ok")

    def unreachable(name):
        raise wiring.NotConfigured("AM_BUCKET is unset")

    monkeypatch.setattr(wiring.services().objects, "get", unreachable)
    ill = nobody.send("GET", "/health?deep=1")
    assert (ill.status_code, ill.json["status"], ill.json["objects"]) == (503, "degraded", "unreachable")


def test_settings_that_cannot_be_used(nobody, setting):
    setting("AM_STORE", "tape")
    answer = nobody.send("GET", "/health")
    assert (answer.status_code, answer.json["error"]["code"]) == (503, NotConfigured.code)
    assert "AM_STORE" in answer.json["error"]["message"]


# --- what every answer says


def test_headers_of_an_answer(mcp):
    for answer in (
        mcp.post(request("ping")),
        mcp.post("{"),
        mcp.post({"jsonrpc": "2.0", "method": "x"}),
        mcp.send("GET", "/mcp"),
    ):
        assert answer.headers["Cache-Control"] == "no-store"
        assert re.fullmatch(r"[0-9a-f]{32}", answer.headers["X-Request-Id"])
        assert re.fullmatch(r"reads=\d+;writes=\d+;rpcs=\d+", answer.headers["X-AM-Cost"])
        assert re.fullmatch(r"total;dur=[\d.]+, store;dur=[\d.]+", answer.headers["Server-Timing"])
        assert answer.headers["X-RateLimit-Limit"] == "50000"


def test_one_log_line_without_secrets(mcp, capsys, setting):
    setting("GOOGLE_CLOUD_PROJECT", "acme")
    trace = "0123456789abcdef0123456789abcdef"
    answer = mcp.post(tool_call("echo", {"text": "a private thought"}), {"X-Cloud-Trace-Context": f"{trace}/123;o=1"})
    [text] = capsys.readouterr().out.splitlines()
    line = json.loads(text)
    assert line["severity"] == "INFO"
    assert (line["function"], line["method"], line["path"], line["tool"], line["status"]) == ("mcp", "POST", "/mcp", "echo", 200)
    assert line["request_id"] == answer.headers["X-Request-Id"]
    assert line["logging.googleapis.com/trace"] == f"projects/acme/traces/{trace}"
    assert line["latency_ms"] > 0
    assert {"reads", "writes", "rpcs"} < set(line)
    assert re.fullmatch(r"[0-9a-f]{16}", line["account"])
    assert mcp.key not in text
    assert "private thought" not in text


@pytest.mark.parametrize(("level", "lines"), [("DEBUG", 2), ("INFO", 2), ("WARNING", 1), ("ERROR", 1)])
def test_log_level(nobody, capsys, setting, monkeypatch, level, lines):
    setting("LOG_LEVEL", level)

    def crash(*_):
        raise RuntimeError("quoted")

    monkeypatch.setattr(wiring.services().accounts, "authenticate", crash)
    nobody.send("GET", "/health")
    answer = nobody.post(request("ping", id=3))
    assert (answer.status_code, answer.json["id"], answer.json["error"]["code"]) == (500, 3, -32603)
    assert "quoted" not in answer.text
    out = capsys.readouterr().out
    assert len(out.splitlines()) == lines
    assert "quoted" not in out
