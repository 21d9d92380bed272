"""A web request as plain data."""

from __future__ import annotations

import flask
import pytest
from am_server.edge.credentials import Credentials, credentials
from am_server.edge.http import Request
from am_server.edge.receive import received
from werkzeug.test import EnvironBuilder


def request_of(**headers):
    builder = EnvironBuilder("/mcp?toolsets=graph", headers={name.replace("_", "-"): value for name, value in headers.items()})
    request, fault = received(flask.Request(builder.get_environ() | {"REMOTE_ADDR": "127.0.0.1"}))
    assert fault is None
    return request


def test_header_names_ignore_case_and_values_lose_the_blanks_around_them():
    request = request_of(Mcp_Name=" a b \t")
    assert request.header("MCP-NAME") == request.header("mcp-name") == "a b"
    assert request.header("absent") is None
    assert (request.path, request.query) == ("/mcp", {"toolsets": "graph"})


@pytest.mark.parametrize(
    ("header", "value", "trace"),
    [
        ("X_Cloud_Trace_Context", "0123456789abcdef0123456789abcdef/1;o=1", "0123456789abcdef0123456789abcdef"),
        ("X_Cloud_Trace_Context", "0123456789abcdef0123456789abcdef", "0123456789abcdef0123456789abcdef"),
        ("traceparent", "00-0123456789abcdef0123456789abcdef-0123456789abcdef-01", "0123456789abcdef0123456789abcdef"),
        ("traceparent", "00-0-0-00", ""),
        ("X_Cloud_Trace_Context", "<script>", ""),
    ],
)
def test_the_trace_of_the_platform(header, value, trace):
    assert request_of(**{header: value}).trace == trace


def test_whom_the_sign_up_throttle_counts(monkeypatch):
    assert request_of(X_Forwarded_For="6.6.6.6").client_address == "127.0.0.1"
    monkeypatch.setenv("K_SERVICE", "keys")
    assert request_of(X_Forwarded_For="6.6.6.6, 203.0.113.9").client_address == "203.0.113.9"


@pytest.mark.parametrize(
    ("headers", "found"),
    [
        ({}, (None, None)),
        ({"x-api-key": "am_1"}, ("am_1", None)),
        ({"authorization": "bearer am_2"}, ("am_2", None)),
        ({"authorization": "Bearer a.b.c"}, (None, "a.b.c")),
        ({"x-api-key": "am_1", "authorization": "Bearer a.b.c"}, ("am_1", "a.b.c")),
        ({"x-api-key": "am_1", "authorization": "Bearer am_2"}, ("am_1", None)),
        ({"x-api-key": "", "authorization": "Basic am_2"}, (None, None)),
    ],
    ids=str,
)
def test_credentials(headers, found):
    shown = credentials(Request("POST", "/mcp", headers=headers), "Authorization")
    assert (shown.api_key, shown.bearer) == found
    assert shown.absent is (found == (None, None))
    assert "am_" not in repr(shown)
    assert credentials(Request("POST", "/mcp", headers={"authorization": "Bearer am_2"}), "X-Other") == Credentials()
