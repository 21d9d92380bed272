"""mcp-memory-service: its SQLite backend in process, hybrid search, vectors from MiniLM."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

# likeness to what was stored before would refuse some of the texts
os.environ |= {"MCP_SEMANTIC_DEDUP_ENABLED": "false", "MCP_QUALITY_SYSTEM_ENABLED": "false", "HF_HUB_OFFLINE": "1"}

from mcp_memory_service.models.memory import Memory as Entry
from mcp_memory_service.storage.sqlite_vec import SqliteVecMemoryStorage
from mcp_memory_service.utils.hashing import generate_content_hash

from tests.bench.peers.measuring import FOUND, drive, encoder


class Model:
    """The encoder in the place of its own, which would be fetched from a bucket."""

    def __init__(self, embed: Any) -> None:
        self._embed = embed

    def encode(self, texts: Sequence[str], **_: Any) -> Any:
        return np.array([self._embed(text) for text in texts], np.float32)


class Storage(SqliteVecMemoryStorage):  # type: ignore[misc]
    model: Any = None

    async def _initialize_embedding_model(self) -> None:
        self.embedding_model, self.embedding_dimension = Storage.model, 384


class Memory:
    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._loop = asyncio.new_event_loop()
        self._storage = Storage(str(folder / "memory.db"))
        self._run(self._storage.initialize())
        self._storage.embedding_model = Storage.model

    def fill(self, texts: Sequence[str]) -> None:
        stored = self._run(self._storage.store_batch([_entry(text) for text in texts]))
        assert all(ok for ok, _ in stored), stored[:3]

    def add(self, text: str) -> None:
        ok, message = self._run(self._storage.store(_entry(text)))[:2]
        assert ok, message

    def settle(self, seconds: float) -> None:
        self.search("anything")

    def search(self, query: str) -> list[str]:
        return [found.memory.content for found in self._run(self._storage.retrieve_hybrid(query, n_results=FOUND))]

    def close(self) -> None:
        closed = self._storage.close()
        if asyncio.iscoroutine(closed):
            self._run(closed)

    def _run(self, work: Any) -> Any:
        return self._loop.run_until_complete(work)


def _entry(text: str) -> Any:
    return Entry(content=text, content_hash=generate_content_hash(text), tags=["bench"], memory_type="observation")


if __name__ == "__main__":
    Storage.model = Model(encoder().embed)
    drive(Memory)
