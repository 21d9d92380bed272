"""GET /health, and what is said at paths that nobody serves."""

from __future__ import annotations

from collections.abc import Callable

from am_server import __version__
from am_server.edge.exchange import Exchange
from am_server.edge.faults import envelope
from am_server.edge.http import Request, Response, json_response
from am_server.errors import AmError

_PROBE = "health/probe"
"""A document and an object that do not exist: asking for them shows that the store and the bucket answer."""


def health(exchange: Exchange) -> Response:
    """Whether this function answers; with `?deep=1` also whether store and bucket do: 503 and "degraded" if not."""
    report = {"service": "am-server", "status": "ok", "version": __version__}
    if exchange.request.query.get("deep", "0") in ("", "0", "false"):
        return json_response(200, report)
    services = exchange.services
    report["store"] = _reached(lambda: services.store.get(_PROBE))
    report["objects"] = _reached(lambda: services.objects.get(_PROBE))
    if "unreachable" in report.values():
        return json_response(503, {**report, "status": "degraded"})
    return json_response(200, report)


def _reached(ask: Callable[[], object]) -> str:
    try:
        ask()
    except AmError:
        return "unreachable"
    return "ok"


def astray(error: AmError, request: Request) -> Response:
    """An error that JSON-RPC clients understand too, for those who post to the wrong path."""
    try:
        sent = request.json_object()
    except AmError:
        sent = {}
    if sent.get("jsonrpc") == "2.0" and isinstance(sent.get("id"), int | str):
        return json_response(error.status, {"jsonrpc": "2.0", "id": sent["id"], "error": error.as_dict()})
    return envelope(error, request)
