"""`make smoke URL=…`: does a deployed service remember?

Opens an account of the free tier, stores a memory over MCP, recalls it, deletes the agent's memory and revokes the
key, printing what each step took. Leaves nothing but the empty account behind. The exit status tells whether all went well.
"""

from __future__ import annotations

import json
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from typing import Any

SENTENCE = "The smoke test keeps a heron named Ottoline in the harbour."
TIMEOUT_SECONDS = 60


class Failed(Exception):
    """A step answered something else than it should."""


def call(url: str, method: str, body: Any = None, key: str = "") -> Any:
    """One JSON request. Raises Failed with the status and the beginning of the answer."""
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    if key:
        headers["Authorization"] = f"Bearer {key}"
    data = None if body is None else json.dumps(body).encode()
    try:
        request = urllib.request.Request(url, data, headers, method=method)  # noqa: S310 - the operator names the URL
        with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS) as answer:  # noqa: S310
            return json.loads(answer.read() or b"null")
    except urllib.error.HTTPError as refusal:
        raise Failed(f"{method} {url} answered {refusal.code}: {refusal.read(300).decode(errors='replace')}") from None
    except OSError as problem:
        raise Failed(f"{method} {url} did not answer: {problem}") from None


def tool(base_url: str, key: str, name: str, **arguments: Any) -> Any:
    """Call a tool and return its structured result. Raises Failed for an error of the tool."""
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
    answer = call(f"{base_url}/mcp", "POST", message, key)
    result = answer.get("result", {})
    if "error" in answer or result.get("isError"):
        raise Failed(f"{name} failed: {json.dumps(answer)[:300]}")
    return result["structuredContent"]


def smoke(base_url: str, say: Callable[[str], None] = print) -> None:
    """Run the steps. Raises Failed at the first that goes wrong."""
    base_url = base_url.rstrip("/")

    def step(title: str, action: Callable[[], Any]) -> Any:
        started = time.perf_counter()
        answer = action()
        say(f"ok  {(time.perf_counter() - started) * 1000:7.0f} ms  {title}")
        return answer

    health = step("health", lambda: call(f"{base_url}/health", "GET"))
    if health.get("status") != "ok":
        raise Failed(f"/health says {health}")
    sign_up = {"agent_id": f"smoke-{time.time_ns()}", "tier": "explorer"}
    account = step("create a key", lambda: call(f"{base_url}/v1/keys", "POST", sign_up))
    key = account["key"]
    try:
        step("store an episode", lambda: tool(base_url, key, "memory_store_episode", content=SENTENCE))
        found = step("recall it", lambda: tool(base_url, key, "memory_search_episodes", query="Who lives in the harbour?"))
        if SENTENCE not in json.dumps(found):
            raise Failed(f"the search did not find what was stored: {json.dumps(found)[:300]}")
        step("count the call", lambda: call(f"{base_url}/v1/usage", "GET", key=key))
    finally:
        step("delete the agent's memory", lambda: tool(base_url, key, "memory_delete_agent", confirm=True))
        step("revoke the key", lambda: call(f"{base_url}/v1/keys/{account['key_id']}", "DELETE", key=key))


def main() -> None:
    """Smoke-test the service at the base URL given as the argument."""
    if len(sys.argv) != 2:
        sys.exit("usage: make smoke URL=https://...")
    try:
        smoke(sys.argv[1].rstrip("/"))
    except Failed as failure:
        sys.exit(f"FAILED  {failure}")


if __name__ == "__main__":
    main()
