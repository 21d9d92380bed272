"""A client that sends too much, too deep, or nothing at all does not keep the service from others."""

from __future__ import annotations

import http.client
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from infra.gateway import ROOT, THREADS
from infra.serving import free_port

PING = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"}).encode()

PATIENCE = 2
"""Seconds for which the impatient service waits for a client; make run waits half a minute."""


@pytest.fixture
def address(base_url):
    parts = urlsplit(base_url)
    return parts.hostname, parts.port


@pytest.fixture
def headers(new_key):
    return {"X-API-Key": new_key(), "Content-Type": "application/json"}


def ask(
    address: tuple[str, int], method: str, path: str, body: bytes | None, headers: dict[str, str]
) -> http.client.HTTPResponse:
    connection = http.client.HTTPConnection(*address, timeout=20)
    connection.request(method, path, body, headers)
    return connection.getresponse()


@pytest.mark.parametrize("path", ["/mcp", "/v1/keys", "/v1/space-token", "/api/v2/memories"])
@pytest.mark.parametrize("body", [
    b"[" * 100_000, b"[" * 100_000 + b"]" * 100_000, b'{"a":' * 100_000, b'{"a":' * 50_000 + b"1" + b"}" * 50_000,
], ids=["lists", "closed lists", "objects", "closed objects"])  # fmt: skip
def test_a_deep_body_is_refused_quickly(address, headers, path, body):
    started = time.monotonic()
    answer = ask(address, "POST", path, body, headers)
    assert answer.status in (400, 422), answer.read()[:300]
    assert time.monotonic() - started < 2
    json.load(answer)


@pytest.mark.parametrize("more", [
    {"X-Long": "x" * 17_000}, {"X-API-Key": "am_" + "x" * 17_000}, {f"X-{n}": "x" for n in range(150)}, {"Cookie": "x" * 60_000},
], ids=["long", "key", "many", "cookie"])  # fmt: skip
def test_headers_have_a_limit(address, headers, more):
    answer = ask(address, "POST", "/mcp", PING, {**headers, **more})
    assert 400 <= answer.status < 500
    assert ask(address, "POST", "/mcp", PING, headers).status == 200


def test_a_long_request_line_is_refused(address):
    assert ask(address, "GET", "/v1/usage?x=" + "x" * 100_000, None, {}).status in (400, 414)


@pytest.fixture
def impatient(tmp_path: Path) -> Iterator[tuple[str, int]]:
    """A service that gives a silent client PATIENCE seconds."""
    port = free_port()
    program = f"import infra.gateway as gateway; gateway.SLOW_CLIENT_SECONDS = {PATIENCE}; gateway.main()"
    environment = {**os.environ, "PORT": str(port), "AM_DATA_DIR": str(tmp_path)}
    process = subprocess.Popen([sys.executable, "-c", program], cwd=ROOT, env=environment, stderr=subprocess.DEVNULL)
    try:
        for _ in range(200):
            try:
                ask(("127.0.0.1", port), "GET", "/health", None, {})
                break
            except OSError:
                time.sleep(0.1)
        yield "127.0.0.1", port
    finally:
        process.terminate()
        process.wait(15)


@pytest.mark.parametrize("sent", [
    b"POST /mcp HTTP/1.1\r\nHost: x\r\nContent-Ty",
    b"POST /mcp HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n{",
    b"POST /mcp HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1000\r\n{",
], ids=["headers", "body", "chunk"])  # fmt: skip
def test_silent_clients_do_not_keep_the_threads(impatient, sent):
    silent = [socket.create_connection(impatient, timeout=10) for _ in range(THREADS + 8)]
    for connection in silent:
        connection.sendall(sent)
    time.sleep(0.2)
    started = time.monotonic()
    assert ask(impatient, "GET", "/health", None, {}).status == 200
    assert time.monotonic() - started < 3 * PATIENCE
    for connection in silent:
        connection.close()
