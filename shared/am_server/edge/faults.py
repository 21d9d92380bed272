"""What is wrong with a request before any route looks at it, and how the REST routes say so."""

from __future__ import annotations

from am_server.edge.http import Request, Response, json_response
from am_server.errors import AmError, NotFound


class BadRequest(AmError):
    """The request broke off or cannot be read."""

    code, type, status = -32600, "invalid_request", 400


class BadOrigin(AmError):
    """A web page of a site that is not on the list asks."""

    code, type, status = -32600, "bad_origin", 403


class WrongMethod(AmError):
    """The path is right and the method is not; `allow` lists the methods that are."""

    code, type, status = -32600, "method_not_allowed", 405

    def __init__(self, allow: str) -> None:
        super().__init__(f"this path takes {allow}")
        self.allow = allow


class TooLarge(AmError):
    """The body exceeds the limit."""

    code, type, status = -32600, "payload_too_large", 413


class WrongMediaType(AmError):
    """The body is not declared as JSON."""

    code, type, status = -32600, "unsupported_media_type", 415


def nothing_here() -> NotFound:
    """For a path that no function serves: clients probe such paths, and people mistype them."""
    return NotFound(
        "there is nothing at this path. MCP (JSON-RPC) is served by POST /mcp, keys by /v1/keys, use by /v1/usage, "
        "space tokens by /v1/space-token, the memories API under /api/v2, and health by /health"
    )


def envelope(error: AmError, request: Request) -> Response:  # noqa: ARG001 - every route family renders with these two
    """`{"error": {code, type, message}}`, the shape of the /v1 routes."""
    return json_response(error.status, {"error": error.as_dict()})
