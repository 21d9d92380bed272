"""A request of the web server as plain data."""

from __future__ import annotations

import io
import os
import re
import uuid
from collections.abc import Mapping
from typing import TYPE_CHECKING

import flask
from werkzeug.exceptions import HTTPException
from werkzeug.wsgi import get_input_stream

from am_server.edge.faults import BadRequest, TooLarge
from am_server.edge.http import Request
from am_server.errors import AmError

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIEnvironment

MAX_BODY_BYTES = 4 * 1024 * 1024
"""What the MCP SDKs take by default, too."""

_CHUNK = 65_536
_BROKEN_OFF = "the body broke off; send as many bytes as Content-Length says"
_TRACE = re.compile(r"[0-9a-f]{2}-([0-9a-f]{32})-|([0-9a-f]{32})(?![0-9a-f])", re.ASCII)


def received(incoming: flask.Request) -> tuple[Request, AmError | None]:
    """The request, read completely, and what is wrong with its body if anything is (the body is empty then)."""
    fault: AmError | None = None
    try:
        body = _body(incoming.environ)
    except AmError as error:
        body, fault = b"", error
    except (HTTPException, OSError):
        body, fault = b"", BadRequest(_BROKEN_OFF)
    headers = {name.lower(): value.strip(" \t") for name, value in incoming.headers.items()}
    request = Request(
        method=incoming.method,
        path=incoming.path,
        query=incoming.args.to_dict(),
        headers=headers,
        body=body,
        client_address=_client_address(incoming, headers),
        id=uuid.uuid4().hex,
        trace=_trace(headers),
    )
    return request, fault


def _body(environ: WSGIEnvironment) -> bytes:
    """Everything that the client sends. Raises TooLarge beyond the limit, BadRequest for less than was declared."""
    stream, declared = get_input_stream(environ), environ.get("CONTENT_LENGTH", "")
    # functions-framework reads the body once more after the answer, and fails when the client has broken off
    environ["wsgi.input"], environ["CONTENT_LENGTH"] = io.BytesIO(), "0"
    body = bytearray()
    while chunk := stream.read(_CHUNK):
        if len(body) <= MAX_BODY_BYTES:  # beyond it the rest is read and dropped: an early answer is lost on many clients
            body += chunk
    if len(body) > MAX_BODY_BYTES:
        raise TooLarge(f"the body exceeds {MAX_BODY_BYTES} bytes; send fewer or shorter items")
    if declared.isdecimal() and len(body) < int(declared):
        raise BadRequest(_BROKEN_OFF)
    return bytes(body)


def _client_address(incoming: flask.Request, headers: Mapping[str, str]) -> str:
    """Who connected: on Cloud Run its front end appends that address to `X-Forwarded-For`; a client can only prepend."""
    if "K_SERVICE" in os.environ:
        return headers.get("x-forwarded-for", "").rpartition(",")[2].strip()
    return incoming.remote_addr or ""


def _trace(headers: Mapping[str, str]) -> str:
    for name in ("x-cloud-trace-context", "traceparent"):
        found = _TRACE.match(headers.get(name, ""))
        if found:
            return str(found[1] or found[2])
    return ""
