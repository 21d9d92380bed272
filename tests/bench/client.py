"""A light client and the arithmetic of latency, shared by the benchmarks."""

from __future__ import annotations

import http.client
import json
import time
import uuid
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import urlsplit


class Client:
    """One keep-alive connection of one agent."""

    def __init__(self, base_url: str, key: str | None = None, tier: str = "pro") -> None:
        self.base_url = base_url
        self._connection = http.client.HTTPConnection(urlsplit(base_url).netloc, timeout=120)
        self.key = key or self.post("/v1/keys", {"agent_id": f"bench-{uuid.uuid4().hex[:8]}", "tier": tier})["key"]

    def again(self) -> Client:
        """Another connection of the same agent."""
        return Client(self.base_url, self.key)

    def post(self, path: str, body: Any) -> Any:
        headers = {"Content-Type": "application/json"}
        if getattr(self, "key", None):
            headers["X-API-Key"] = self.key
        self._connection.request("POST", path, json.dumps(body), headers)
        response = self._connection.getresponse()
        self.headers = response.headers
        answer = response.read()
        if response.status >= 400:
            raise RuntimeError(f"{path}: {response.status} {answer[:300]!r}")
        return json.loads(answer)

    def call(self, tool: str, **arguments: Any) -> Any:
        """structuredContent of a tool call that succeeds."""
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
        result = self.post("/mcp", body)["result"]
        if result["isError"]:
            raise RuntimeError(f"{tool}: {result['content'][0]['text']}")
        return result["structuredContent"]

    def handler_ms(self) -> float:
        """The time inside the service of the last request, from `Server-Timing`."""
        timing = self.headers["Server-Timing"]
        return float(
            next(part for part in timing.split(",") if "total" in part or "handler" in part).partition("dur=")[2].split(";")[0]
        )


def quantiles(seconds: Sequence[float]) -> dict[str, float]:
    """p50, p95 and p99 in milliseconds."""
    ordered = sorted(seconds)
    return {f"p{q}": round(1000 * ordered[min(len(ordered) - 1, len(ordered) * q // 100)], 3) for q in (50, 95, 99)}


def timed(times: int, work: Callable[[int], Any]) -> list[float]:
    """Seconds of each of so many calls, one after the other."""
    taken = []
    for number in range(times):
        began = time.perf_counter()
        work(number)
        taken.append(time.perf_counter() - began)
    return taken


def throughput(clients: Sequence[Client], seconds: float, work: Callable[[Client, int], Any]) -> float:
    """Calls per second of several clients at once."""
    deadline = time.monotonic() + seconds

    def run(client: Client) -> int:
        done = 0
        while time.monotonic() < deadline:
            work(client, done)
            done += 1
        return done

    began = time.monotonic()
    with ThreadPoolExecutor(len(clients)) as pool:
        total = sum(pool.map(run, clients))
    return round(total / (time.monotonic() - began), 1)
