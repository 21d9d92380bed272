"""@modelcontextprotocol/server-memory: the reference MCP server over standard input and output, one entity for each text."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.bench.peers.measuring import FOUND, drive


class Memory:
    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._names, self._ids = itertools.count(), itertools.count(1)
        self._server = subprocess.Popen(
            ["node", os.environ["SERVER_MEMORY"]],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "MEMORY_FILE_PATH": str(folder / "memory.json")},
        )
        client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
        self._ask("initialize", client)
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def fill(self, texts: Sequence[str]) -> None:
        entities = [{"name": f"turn {next(self._names)}", "entityType": "turn", "observations": [text]} for text in texts]
        self._call("create_entities", {"entities": entities})

    def add(self, text: str) -> None:
        self.fill([text])

    def settle(self, seconds: float) -> None:
        self.search("anything")

    def search(self, query: str) -> list[str]:
        answer = self._call("search_nodes", {"query": query})
        graph = answer.get("structuredContent") or json.loads(answer["content"][0]["text"])
        return [entity["observations"][0] for entity in graph["entities"][:FOUND]]

    def close(self) -> None:
        self._server.kill()
        self._server.wait()

    def _call(self, tool: str, arguments: Any) -> Any:
        result = self._ask("tools/call", {"name": tool, "arguments": arguments})
        assert not result.get("isError"), result
        return result

    def _ask(self, method: str, params: Any) -> Any:
        id = next(self._ids)
        self._send({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
        assert self._server.stdout is not None
        while True:
            answer = json.loads(self._server.stdout.readline())
            if answer.get("id") == id:
                assert "error" not in answer, answer
                return answer["result"]

    def _send(self, message: Any) -> None:
        assert self._server.stdin is not None
        self._server.stdin.write(json.dumps(message).encode() + b"\n")
        self._server.stdin.flush()


if __name__ == "__main__":
    drive(Memory)
