"""A request and a response as plain data, and JSON in and out."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from am_server.errors import Invalid


@dataclass(frozen=True, slots=True)
class Request:
    """One HTTP request, read completely."""

    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    """Lower-case names; values without the blanks around them."""
    body: bytes = b""
    client_address: str = ""
    id: str = ""
    trace: str = ""
    """Id of the platform's trace that the request belongs to, or empty."""

    def header(self, name: str) -> str | None:
        """The value of a header whatever the case of its name, or None."""
        return self.headers.get(name.lower())

    def json_object(self) -> dict[str, Any]:
        """The body as a JSON object; an empty body is an empty one. Raises Invalid when it is anything else."""
        if not self.body.strip():
            return {}
        try:
            value = parse_json(self.body)
        except ValueError as problem:
            raise Invalid("body", f"not JSON: {problem}") from None
        if not isinstance(value, dict):
            raise Invalid("body", "expected a JSON object")
        return value


@dataclass(frozen=True, slots=True)
class Response:
    """One HTTP response."""

    status: int
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)


def json_response(status: int, value: Any, headers: Mapping[str, str] | None = None) -> Response:
    """A response with a JSON body. Raises ValueError for NaN and infinities, which no JSON reader takes."""
    return Response(status, encode_json(value), {"Content-Type": "application/json", **(headers or {})})


def encode_json(value: Any) -> bytes:
    """Compact UTF-8 JSON. Raises ValueError for NaN and infinities."""
    text = _dump(value)
    try:
        return text.encode()
    except UnicodeEncodeError:  # half of a surrogate pair, e.g. echoed from a request's id: only an escape can carry it
        return json.dumps(value, allow_nan=False, separators=(",", ":")).encode()


_dump = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


def parse_json(body: bytes) -> Any:
    """The value of a UTF-8 JSON text. Raises ValueError with a reason that quotes nothing of the text."""
    try:
        return _decode(body.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise ValueError("the text is not UTF-8") from None
    except json.JSONDecodeError as problem:
        raise ValueError(f"{problem.msg} at line {problem.lineno} column {problem.colno}") from None
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ValueError("a number is too large")
    return number


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


_decode = json.JSONDecoder(parse_float=_finite, parse_constant=_no_constant).decode
