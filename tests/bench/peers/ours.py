"""am-server on the embedded default, over HTTP and MCP: the word table as embedder, or MiniLM with AM_EMBEDDER=minilm."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.bench.client import Client
from tests.bench.peers.measuring import FOUND, drive
from tests.crash.service import Service


class Memory:
    """Texts carry no session and no speaker here, as with the others."""

    def __init__(self, folder: Path) -> None:
        self._service = Service(folder, {"AM_EMBEDDER": os.environ.get("AM_EMBEDDER", "static")}).start().wait()
        self._client = Client(f"http://127.0.0.1:{self._service.port}")

    def fill(self, texts: Sequence[str]) -> None:
        for text in texts:
            self.add(text)

    def add(self, text: str) -> None:
        self._client.call("memory_store_episode", content=text)

    def settle(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while self._search("anything").get("coverage", 1) < 1 and time.monotonic() < until:
            continue

    def search(self, query: str) -> list[str]:
        return [result["episode"]["content"] for result in self._search(query)["results"]]

    def _search(self, query: str) -> Any:
        return self._client.call("memory_search_episodes", query=query, limit=FOUND)

    def close(self) -> None:
        self._service.kill()


if __name__ == "__main__":
    drive(Memory)
