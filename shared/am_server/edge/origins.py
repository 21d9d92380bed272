"""Which web pages may call, and what browsers are told about it.

A page of another site that reaches a server on somebody's own machine sends its true `Origin`; comparing that with
`Host` proves nothing once the page's name resolves to 127.0.0.1, so only a list helps.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from am_server.edge.faults import BadOrigin
from am_server.edge.http import Request, Response

_LOCAL = re.compile(r"https?://(localhost|127\.0\.0\.1|\[::1\])(:\d{1,5})?", re.ASCII)

_PREFLIGHT = {
    "Access-Control-Allow-Methods": "GET, POST, DELETE, OPTIONS",
    "Access-Control-Allow-Headers": (
        "Content-Type, Accept, Authorization, X-API-Key, X-AM-Toolsets, MCP-Protocol-Version, Mcp-Method, Mcp-Name, "
        "Mcp-Session-Id, Last-Event-ID"
    ),
    "Access-Control-Max-Age": "3600",
}

_EXPOSED = "WWW-Authenticate, Retry-After, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, X-AM-Cost, X-Request-Id"


def origin_allowed(request: Request, allowed: Collection[str]) -> bool:
    """Whether a request of this origin is answered: one of the listed; without a list, one of this machine.

    A request without an origin is no web page's: every client but browsers sends none.
    """
    origin = request.header("Origin")
    if origin is None:
        return True
    return origin in allowed if allowed else _LOCAL.fullmatch(origin) is not None


def check_origin(request: Request, allowed: Collection[str]) -> None:
    """Raises BadOrigin for a request whose origin is not allowed."""
    if not origin_allowed(request, allowed):
        raise BadOrigin("this origin may not call; the operator lists allowed ones in AM_ALLOWED_ORIGINS")


def preflight() -> Response:
    """The answer to OPTIONS, which browsers send without credentials."""
    return Response(204, headers=_PREFLIGHT)


def cors_headers(request: Request, allowed: Collection[str]) -> dict[str, str]:
    """What lets the page of an allowed origin read the answer."""
    origin = request.header("Origin")
    if origin is None:
        return {}
    if not origin_allowed(request, allowed):
        return {"Vary": "Origin"}
    return {"Vary": "Origin", "Access-Control-Allow-Origin": origin, "Access-Control-Expose-Headers": _EXPOSED}
