"""Requests and answers as plain data: what the two clients share."""

from __future__ import annotations

import random
import uuid
from collections.abc import Mapping
from typing import Any

import httpx

from agentverse_memory.errors import AgentverseMemoryError, UnavailableError, error_of
from agentverse_memory.operations import Operation

DEFAULT_BASE_URL = "http://127.0.0.1:8080"
RETRIES = 3
AGAIN = {429, 502, 503, 504}
LONGEST_WAIT = 30.0
"""Seconds; a service that asks for a longer pause is not waited for."""


def request_of(operation: Operation[Any]) -> dict[str, Any]:
    """The JSON-RPC request of a call; a write without an idempotency key is given one, so that it may be sent again."""
    arguments = dict(operation.arguments)
    if operation.writes:
        arguments.setdefault("idempotency_key", uuid.uuid4().hex)
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": operation.tool, "arguments": arguments}}


def json_of(response: httpx.Response) -> Any:
    """The JSON body of a good answer. Raises the exception of any other."""
    try:
        value = response.json()
    except ValueError:
        raise UnavailableError(f"the answer is no JSON (HTTP {response.status_code}); is the base URL right?") from None
    if response.status_code >= 400:
        raise error_of(_fault_of(value), retry_after(response))
    return value


def worth_repeating(response: httpx.Response) -> bool:
    """Whether the same request may succeed later: by its status, or because a tool could not reach its store."""
    if response.status_code in AGAIN:
        return True
    if b'"isError":true' not in response.content:
        return False
    fault = _fault_of(response.json())
    return isinstance(fault, dict) and fault.get("code") == UnavailableError.code


def _fault_of(answer: Any) -> Any:
    """The `{code, message}` of a failed answer: a route's, JSON-RPC's, or a tool's within its result."""
    if not isinstance(answer, dict):
        return answer
    result = answer.get("result")
    if isinstance(result, dict) and result.get("isError"):
        return result.get("structuredContent", {}).get("error") or {"message": result["content"][0]["text"]}
    return answer.get("error", answer.get("detail", answer))


def result_of(answer: Any) -> Any:
    """structuredContent of a JSON-RPC answer. Raises the exception of an error, in-band or not."""
    if "error" in answer or answer["result"].get("isError"):
        raise error_of(_fault_of(answer))
    return answer["result"]["structuredContent"]


def retry_after(response: httpx.Response) -> float | None:
    """Seconds that the answer asks to wait."""
    try:
        return float(response.headers["Retry-After"])
    except (KeyError, ValueError):
        return None


def pause(attempt: int, asked: float | None) -> float | None:
    """Seconds to wait before another attempt (the first is 0); None to give up."""
    if attempt >= RETRIES or (asked is not None and asked > LONGEST_WAIT):
        return None
    return asked if asked is not None else random.uniform(0.5, 1.0) * 0.2 * 2**attempt  # noqa: S311


def headers_of(api_key: str | None, token: str | None = None) -> Mapping[str, str]:
    """The headers that carry the credentials."""
    headers = {"X-API-Key": api_key} if api_key else {}
    return {**headers, "Authorization": f"Bearer {token}"} if token else headers


def out_of_reach(base_url: str, problem: Exception) -> AgentverseMemoryError:
    """The exception for a server that does not answer."""
    return UnavailableError(f"no answer from {base_url} ({type(problem).__name__})")
