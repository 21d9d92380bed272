"""Working memory over HTTP on the embedded default: latency, throughput, and the time from start to the first answer.

python -m tests.bench.http [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path
from typing import Any

from infra.serving import served
from tests.bench.client import Client, quantiles, throughput, timed

ROUNDS = 2_000


def latency(client: Client) -> dict[str, Any]:
    """End to end, and inside the service, of one client on one connection."""
    found: dict[str, Any] = {}
    jobs = {
        "set_working": lambda n: client.call("memory_set_working", key=f"key {n % 100}", content="a short value"),
        "get_working": lambda n: client.call("memory_get_working", key=f"key {n % 100}"),
    }
    for name, job in jobs.items():
        timed(200, job)
        inside: list[float] = []

        def once(n: int, job: Any = job, inside: list[float] = inside) -> None:
            job(n)
            inside.append(client.handler_ms() / 1000)

        found[name] = {"http_ms": quantiles(timed(ROUNDS, once)), "handler_ms": quantiles(inside)}
    return found


def first_answer() -> dict[str, float]:
    """Milliseconds from process start to the first answer of /health and of tools/list."""
    with tempfile.TemporaryDirectory() as folder:
        began = time.monotonic()
        with served(Path(folder)) as base_url:
            healthy = time.monotonic() - began
            client = Client(base_url)
            client.post("/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
            listed = time.monotonic() - began
    return {"health_ms": round(healthy * 1000), "sign_up_and_tools_list_ms": round(listed * 1000)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, served(Path(folder)) as base_url:
        client = Client(base_url)
        result: dict[str, Any] = {"latency": latency(client), "throughput_per_s": {}}
        for number in (1, 8, 32):
            clients = [client.again() for _ in range(number)]
            result["throughput_per_s"][number] = {
                "set_working": throughput(
                    clients, 3, lambda c, n: c.call("memory_set_working", key=f"key {n % 100}", content="x")
                ),
                "get_working": throughput(clients, 3, lambda c, n: c.call("memory_get_working", key=f"key {n % 100}")),
            }
    result["first_answer"] = first_answer()
    print(json.dumps(result, indent=2))
    if args.json:
        args.json.write_text(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
