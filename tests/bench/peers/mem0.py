"""mem0 with infer=False: no language model, qdrant's local files as vector store, vectors from MiniLM in process."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

os.environ |= {"MEM0_TELEMETRY": "False", "OPENAI_API_KEY": "unused", "MEM0_DIR": "/tmp/mem0-bench"}

from mem0 import Memory as Mem0
from mem0.embeddings.base import EmbeddingBase
from mem0.utils.factory import EmbedderFactory

from tests.bench.peers.measuring import FOUND, drive, encoder


class MiniLm(EmbeddingBase):  # type: ignore[misc]
    """The encoder in the place of mem0's own, which would be fetched from a hub."""

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        return encoder().embed(text)


class Memory:
    def __init__(self, folder: Path) -> None:
        store = {"path": str(folder / "qdrant"), "collection_name": "memory", "embedding_model_dims": 384, "on_disk": True}
        folder.mkdir(parents=True, exist_ok=True)
        self._memory = Mem0.from_config({
            "vector_store": {"provider": "qdrant", "config": store},
            "embedder": {"provider": "huggingface", "config": {"embedding_dims": 384}},
            "history_db_path": str(folder / "history.db"),
        })  # fmt: skip

    def fill(self, texts: Sequence[str]) -> None:
        for text in texts:
            self.add(text)

    def add(self, text: str) -> None:
        self._memory.add(text, user_id="u", infer=False)

    def settle(self, seconds: float) -> None:
        self.search("anything")

    def search(self, query: str) -> list[str]:
        found = self._memory.search(query, top_k=FOUND, filters={"user_id": "u"}, threshold=0.0)
        return [entry["memory"] for entry in found["results"]]

    def close(self) -> None:
        self._memory.vector_store.client.close()


if __name__ == "__main__":
    EmbedderFactory.provider_to_class["huggingface"] = "tests.bench.peers.mem0.MiniLm"
    drive(Memory)
