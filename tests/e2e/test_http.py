"""What only a real server and a real socket show."""

from __future__ import annotations

import http.client
import json
import socket
from urllib.parse import urlsplit

import pytest
from am_server.edge.receive import MAX_BODY_BYTES

PING = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"}).encode()


@pytest.fixture
def address(base_url):
    parts = urlsplit(base_url)
    return parts.hostname, parts.port


@pytest.fixture
def headers(new_key):
    return {"X-API-Key": new_key(), "Content-Type": "application/json"}


def test_one_connection_serves_on_after_a_refused_body(address, headers):
    connection = http.client.HTTPConnection(*address, timeout=10)
    for body, status in [(PING, 200), (b"x" * (MAX_BODY_BYTES + 1), 413), (PING, 200), (b"{", 400), (PING, 200)]:
        connection.request("POST", "/mcp", body, headers)
        answer = connection.getresponse()
        assert (answer.status, "jsonrpc" in json.load(answer)) == (status, True)
    connection.close()


def test_a_body_in_chunks_of_unknown_length(address, headers):
    for chunks, status in [([PING[:10], PING[10:]], 200), ([b" " * 65_536] * 70, 413)]:
        connection = http.client.HTTPConnection(*address, timeout=10)
        connection.request("POST", "/mcp", iter(chunks), headers, encode_chunked=True)
        assert connection.getresponse().status == status
        connection.close()


def test_a_client_that_breaks_off_does_no_harm(address, headers, base_url):
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    with socket.create_connection(address, timeout=10) as broken:
        broken.sendall(f"POST /mcp HTTP/1.1\r\nHost: x\r\n{lines}Content-Length: 500\r\n\r\n".encode() + PING)
        broken.shutdown(socket.SHUT_WR)
        assert broken.recv(100).startswith(b"HTTP/1.1 400")
    connection = http.client.HTTPConnection(*address, timeout=10)
    connection.request("POST", "/mcp", PING, headers)
    assert json.load(connection.getresponse())["result"] == {}
    connection.close()


@pytest.mark.parametrize("path", ["/%2e%2e/mcp", "/mcp%2F..", "/a" * 1_000, "/%FF"])
def test_odd_paths_are_unknown_paths(address, path):
    connection = http.client.HTTPConnection(*address, timeout=10)
    connection.request("GET", path)
    answer = connection.getresponse()
    assert answer.status == 404
    assert "error" in json.load(answer)
    connection.close()


def test_a_header_beyond_any_use_is_refused(address):
    connection = http.client.HTTPConnection(*address, timeout=10)
    connection.request("POST", "/mcp", PING, {"X-API-Key": "am_" + "x" * 20_000})
    assert 400 <= connection.getresponse().status < 500
    connection.close()
