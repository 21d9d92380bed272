"""A JSON request to an embedding provider, tried again for a bounded time when the provider is busy."""

from __future__ import annotations

import json
import random
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from am_server.embed.port import EmbedderUnavailable

_BUSY = frozenset({408, 409, 429, 500, 502, 503, 504})


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a request may take, in seconds."""

    timeout: float = 10.0
    """Of each attempt."""
    attempts: int = 3
    first_wait: float = 0.5
    """Before the second attempt; doubled before each further one, and varied so that instances do not try in step."""
    longest_wait: float = 4.0
    """A provider that asks for more (`Retry-After`) is given up for now."""


def post(provider: str, url: str, body: Mapping[str, Any], headers: Mapping[str, str], patience: Patience) -> Any:
    """The JSON answer to a POST. Raises EmbedderUnavailable, which names the provider and repeats nothing of the request."""
    data = json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json", **headers})  # noqa: S310 (settings name it)
    for attempt in range(patience.attempts):
        wait = min(patience.longest_wait, patience.first_wait * 2**attempt) * random.uniform(0.75, 1.25)  # noqa: S311
        try:
            with urllib.request.urlopen(request, timeout=patience.timeout) as response:  # noqa: S310
                return json.load(response)
        except urllib.error.HTTPError as error:
            with error:
                asked = _seconds(error.headers.get("Retry-After"))
            if error.code not in _BUSY or asked > patience.longest_wait:
                raise EmbedderUnavailable(f"{provider} answered with status {error.code}") from None
            problem, wait = f"answered with status {error.code}", max(wait, asked)
        except (OSError, ValueError):
            problem = "did not answer"
        if attempt + 1 < patience.attempts:
            time.sleep(wait)
    raise EmbedderUnavailable(f"{provider} {problem}, {patience.attempts} times")


def _seconds(text: str | None) -> float:
    try:
        return max(0.0, float(text or 0))
    except ValueError:
        return 0.0
