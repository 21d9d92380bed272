"""Two eras of the protocol share the endpoint: the handshake revisions, and 2026-07-28 with an envelope in each request.

The body decides which one a request belongs to; headers only have to agree with it.
"""

from __future__ import annotations

import base64
import binascii
from typing import Any, Literal

from am_server.edge.http import Request
from am_server.mcp.jsonrpc import HEADER_MISMATCH, INVALID_PARAMS, UNSUPPORTED_VERSION, Fault, Message

Era = Literal["handshake", "envelope"]

ENVELOPE_VERSION = "2026-07-28"
HANDSHAKE_VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
VERSIONS = (ENVELOPE_VERSION, *HANDSHAKE_VERSIONS)
"""Every revision served, newest first."""

BATCH_VERSION = "2025-03-26"
"""The one revision with batches, and the one that a request without a version header is taken for."""

META = "io.modelcontextprotocol/"

_NAMED_BY = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}


def era_of(message: Message, request: Request) -> Era:
    """Which era a request belongs to; for an enveloped one every rule of its headers has been checked. Raises Fault."""
    if has_envelope(message.params):
        _check_envelope(message, request)
        return "envelope"
    version = request.header("MCP-Protocol-Version")
    if version == ENVELOPE_VERSION:
        raise Fault(
            INVALID_PARAMS,
            f"revision {ENVELOPE_VERSION} needs params._meta with {META}protocolVersion and {META}clientCapabilities",
            400,
        )
    check_version_header(request)
    return "handshake"


def has_envelope(params: Any) -> bool:
    """Whether a message names a protocol version in its body; other uses of `_meta` say nothing."""
    meta = params.get("_meta") if isinstance(params, dict) else None
    return isinstance(meta, dict) and f"{META}protocolVersion" in meta


def check_version_header(request: Request) -> None:
    """Raises Fault when the version header names a revision that is not served."""
    version = request.header("MCP-Protocol-Version")
    if version is not None and version not in VERSIONS:
        raise unsupported(version)


def unsupported(version: str) -> Fault:
    """A version that is not served, and those that are."""
    return Fault(
        UNSUPPORTED_VERSION, "unsupported protocol version", 400, {"supported": list(VERSIONS), "requested": version[:64]}
    )


def _check_envelope(message: Message, request: Request) -> None:
    meta = message.params["_meta"]
    version = meta[f"{META}protocolVersion"]
    if not isinstance(version, str):
        raise Fault(INVALID_PARAMS, f"params._meta: {META}protocolVersion must be a string", 400)
    if not isinstance(meta.get(f"{META}clientCapabilities"), dict):
        raise Fault(INVALID_PARAMS, f"params._meta: {META}clientCapabilities must be an object", 400)
    _check_header(request, "MCP-Protocol-Version", version)
    _check_header(request, "Mcp-Method", str(message.method))
    named_by = _NAMED_BY.get(str(message.method))
    if named_by and isinstance(message.params.get(named_by), str):
        _check_header(request, "Mcp-Name", message.params[named_by])
    if version != ENVELOPE_VERSION:
        raise unsupported(version)


def _check_header(request: Request, name: str, expected: str) -> None:
    found = request.header(name)
    if found is None:
        raise Fault(HEADER_MISMATCH, f"header mismatch: {name} is missing", 400)
    if (_decoded(found) if name == "Mcp-Name" else found) != expected:
        raise Fault(HEADER_MISMATCH, f"header mismatch: {name} differs from the body", 400)


def _decoded(value: str) -> str | None:
    """The text of a header that may be base64 of UTF-8 between markers; None when it is not canonical base64."""
    if not (value.startswith("=?base64?") and value.endswith("?=")):
        return value
    inner = value[len("=?base64?") : -len("?=")]
    try:
        raw = base64.b64decode(inner, validate=True)
        return raw.decode() if base64.b64encode(raw).decode() == inner else None
    except (binascii.Error, ValueError):
        return None
