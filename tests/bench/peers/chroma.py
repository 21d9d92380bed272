"""Chroma, a vector index: a persistent collection in process, exact vectors from MiniLM."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import chromadb
from chromadb.config import Settings

from tests.bench.peers.measuring import FOUND, drive, encoder


class Chroma:
    def __init__(self, folder: Path, embed: Any) -> None:
        client = chromadb.PersistentClient(str(folder), Settings(anonymized_telemetry=False))
        self._collection = client.create_collection("memory", metadata={"hnsw:space": "cosine"}, embedding_function=None)
        self._embed = embed

    def fill(self, texts: Sequence[str]) -> None:
        ids = [uuid.uuid4().hex for _ in texts]
        self._collection.add(ids=ids, documents=list(texts), embeddings=[self._embed(text) for text in texts])

    def add(self, text: str) -> None:
        self.fill([text])

    def settle(self, seconds: float) -> None:
        self.search("anything")

    def search(self, query: str) -> list[str]:
        found = self._collection.query(query_embeddings=[self._embed(query)], n_results=FOUND, include=["documents"])
        return list(found["documents"][0])

    def close(self) -> None:
        """Chroma has no way to close a client."""


if __name__ == "__main__":
    embed = encoder().embed
    drive(lambda folder: Chroma(folder, embed))
