"""MCP over standard input and output, for hosts that start a server as a program.

Each line is one JSON-RPC message and goes the way of a POST to /mcp; what would be its body comes back as one line.
The headers that HTTP demands of the newest revision are taken from the message itself.
"""

from __future__ import annotations

import os
import sys
from typing import Any, BinaryIO

from am_server.edge.exchange import Exchange
from am_server.edge.http import Request, encode_json, parse_json
from am_server.errors import AmError
from am_server.local import local_key
from am_server.mcp.endpoint import render, respond
from am_server.wiring import Services

_META = "io.modelcontextprotocol/protocolVersion"


def serve(services: Services, key: str, incoming: BinaryIO, outgoing: BinaryIO) -> None:
    """Answer line by line until the input ends."""
    for line in incoming:
        if line.strip():
            answer = answer_line(services, key, line.strip())
            if answer:
                outgoing.write(answer.replace(b"\n", b" ") + b"\n")
                outgoing.flush()


def answer_line(services: Services, key: str, line: bytes) -> bytes:
    """The answer to one message; empty when it expects none."""
    request = Request("POST", "/mcp", headers={"content-type": "application/json", "x-api-key": key, **_headers(line)}, body=line)
    exchange = Exchange(request, services)
    try:
        return respond(exchange).body
    except AmError as error:
        return render(error, request).body
    except Exception as bug:
        return render(exchange.unexpected(bug), request).body


def _headers(line: bytes) -> dict[str, str]:
    try:
        message: Any = parse_json(line)
        version = message["params"]["_meta"][_META]
    except (ValueError, TypeError, KeyError, IndexError):
        return {}
    named = {"mcp-protocol-version": version, "mcp-method": message.get("method"), "mcp-name": message["params"].get("name")}
    return {name: value for name, value in named.items() if isinstance(value, str)}


def main(services: Services) -> None:
    """Serve this process's own standard input and output, to the local agent or the one that AM_API_KEY names."""
    outgoing = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # whatever a library prints must not get between the messages
    try:
        key = os.environ.get("AM_API_KEY") or local_key(services)
    except AmError as error:
        outgoing.write(encode_json({"jsonrpc": "2.0", "error": error.as_dict()}) + b"\n")
        outgoing.flush()
        raise SystemExit(1) from None
    serve(services, key, sys.stdin.buffer, outgoing)
