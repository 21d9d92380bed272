"""One JSON line for each request, as Cloud Logging reads it. Never a key, a token or anything that was stored."""

from __future__ import annotations

import hashlib
import json
import sys
import traceback
from collections.abc import Mapping
from typing import Any

from am_server.edge.exchange import Exchange
from am_server.store.metered import Meter

LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR")


def line(exchange: Exchange, function: str, status: int, milliseconds: float, meter: Meter) -> dict[str, Any]:
    """The fields of the line for one finished request."""
    request = exchange.request
    fields: dict[str, Any] = {
        "severity": _severity(status, exchange.bug),
        "message": f"{request.method} {exchange.template or '(unknown path)'} {exchange.tool or ''} {status}".replace("  ", " "),
        "request_id": request.id,
        "function": function,
        "method": request.method,
        "path": exchange.template,
        "tool": exchange.tool,
        "status": status,
        "error": exchange.fault,
        "latency_ms": round(milliseconds, 3),
        "reads": meter.reads,
        "writes": meter.writes,
        "deletes": meter.deletes,
        "rpcs": meter.rpcs,
        "rpcs_total": meter.rpcs_total,
        "account": exchange.caller and hashlib.sha256(exchange.caller.account.encode()).hexdigest()[:16],
        "logging.googleapis.com/trace": _trace(request.trace, exchange.services.settings.project),
        **(_bug(exchange.bug) if exchange.bug else {}),
    }
    return {name: value for name, value in fields.items() if value not in (None, "")}


def _severity(status: int, bug: BaseException | None) -> str:
    """Whoever asks for what is not offered (501) is at fault, as with 4xx, and wakes nobody."""
    if bug or (status >= 500 and status != 501):
        return "ERROR"
    return "WARNING" if status in (413, 429) else "INFO"


def _trace(trace: str, project: str) -> str:
    return f"projects/{project}/traces/{trace}" if trace and project else trace


def _bug(problem: BaseException) -> dict[str, Any]:
    """Where an exception arose: its type and the places, not its text, which may quote what a caller stored."""
    frames = traceback.extract_tb(problem.__traceback__)
    return {
        "exception": type(problem).__qualname__,
        "at": [f"{frame.filename.rpartition('am_server/')[2]}:{frame.lineno} {frame.name}" for frame in frames[-12:]],
    }


def write(fields: Mapping[str, Any], level: str) -> None:
    """Print a line unless it is less severe than `level`."""
    if LEVELS.index(str(fields["severity"])) >= LEVELS.index(level):
        sys.stdout.write(json.dumps(fields, ensure_ascii=False, separators=(",", ":")) + "\n")
        sys.stdout.flush()
