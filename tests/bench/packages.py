"""Each function as it is deployed: the size of its package, and the time from process start to its first answers.

    python -m tests.bench.packages [--json FILE]

The zips are built, unpacked and installed as `make package` and the platform do it, and served by functions-framework on
the Firestore emulator and a bucket emulator. Byte code is compiled once before, as it is in a deployed image.
"""

from __future__ import annotations

import argparse
import http.client
import json
import secrets
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from infra.emulators import firestore_emulator, gcs_emulator
from infra.packaged import install, served_function
from infra.packaging import build

STARTS = 3
TOOL_CALL = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}

FIRST: Mapping[str, list[tuple[str, str, str, Any]]] = {
    "health": [("first answer", "GET", "/health", None)],
    "keys": [("first sign-up", "POST", "/v1/keys", {"agent_id": "a", "tier": "explorer"})],
    "mcp": [
        ("first tools/list", "POST", "/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}),
        (
            "then first store",
            "POST",
            "/mcp",
            {**TOOL_CALL, "params": {"name": "memory_store_episode", "arguments": {"content": "x"}}},
        ),
        (
            "then first search",
            "POST",
            "/mcp",
            {**TOOL_CALL, "params": {"name": "memory_search_episodes", "arguments": {"query": "x"}}},
        ),
    ],
    "memories": [("first search", "POST", "/api/v2/memories/search", {"query": "x"})],
    "space_token": [("first token", "POST", "/v1/space-token", {})],
}
"""By function: what is asked of a fresh process, one after the other."""


def ask(port: int, method: str, path: str, body: Any, key: str) -> tuple[int, bytes]:
    """Status and body; tries until the process listens."""
    deadline = time.monotonic() + 30
    while True:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        try:
            headers = {"Content-Type": "application/json", **({"X-API-Key": key} if key else {})}
            connection.request(method, path, None if body is None else json.dumps(body), headers)
            answer = connection.getresponse()
            return answer.status, answer.read()
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.005)
        finally:
            connection.close()


def starts(name: str, source: Path, settings: Mapping[str, str], key: str) -> dict[str, Any]:
    """Milliseconds of the best of some starts, for each of the first requests."""
    best: dict[str, float] = {}
    statuses: dict[str, int] = {}
    for _ in range(STARTS):
        began = time.perf_counter()
        with served_function(name, source, settings) as port:
            for what, method, path, body in FIRST[name]:
                statuses[what], _ = ask(port, method, path, body, "" if name == "keys" else key)
                now = time.perf_counter()
                best[what] = min(best.get(what, 1e9), 1000 * (now - began))
                began = now
    return {what: {"ms": round(ms), "status": statuses[what]} for what, ms in best.items()}


def size_of(folder: Path) -> float:
    return round(sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) / 1e6, 1)


def measure(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = {}
    zips = build(folder / "dist")
    secret = {"AM_KEY_PEPPER": secrets.token_hex(16), "JWT_SECRET": secrets.token_hex(32), "AM_SIGNUP_PER_HOUR": "0"}
    with firestore_emulator() as firestore, gcs_emulator() as bucket:
        settings = {**secret, **firestore, **bucket, "AM_SIGNUP_TIERS": "explorer,pro", "LOG_LEVEL": "ERROR"}
        key = ""
        for name in ("health", "keys", "mcp", "memories", "space_token"):
            source = install(zips[name], folder / name)
            sizes = {
                "zip_kb": round(zips[name].stat().st_size / 1e3),
                "installed_mb": size_of(source) + size_of(folder / name / "venv"),
            }
            if name == "keys":
                with served_function(name, source, settings) as port:
                    _, made = ask(port, "POST", "/v1/keys", {"agent_id": "bench", "tier": "pro"}, "")
                    key = json.loads(made)["key"]
            found[name] = {**sizes, "cold_start": starts(name, source, settings, key)}
        source = install(zips["maintenance"], folder / "maintenance")
        found["maintenance"] = {
            "zip_kb": round(zips["maintenance"].stat().st_size / 1e3),
            "installed_mb": size_of(source) + size_of(folder / "maintenance" / "venv"),
        }
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        result = measure(Path(folder))
    print(json.dumps(result, indent=2))
    if args.json:
        args.json.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
