"""Ports that fail on command: each wraps a real one and does to it what a network, a disk or a provider does."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from datetime import datetime
from threading import Lock
from typing import Any, Literal, TypeVar

import numpy as np
from am_server.embed.batches import embed_in_batches
from am_server.embed.port import EmbedderUnavailable
from am_server.objects.port import Blob, ObjectStore, ObjectStoreUnavailable
from am_server.store.port import Changes, CommitResult, Document, DocumentStore, Query, StoreUnavailable, Write
from numpy.typing import NDArray

T = TypeVar("T")

Fault = Literal["before", "after"]
"""When a call fails: before it reached the store, or after the store did it, so that only the answer is lost."""

Script = Callable[[int, str], Fault | None]
"""What happens to a call, by its number (from 0) and the name of the port's method."""

READS = ("get_many", "query", "changes", "count")
WRITES = ("commit", "delete_tree")


def well(_number: int, _method: str) -> None:
    """No call fails."""


def down(*methods: str) -> Script:
    """Every call of these methods fails, or every call when none are named."""
    return lambda _, method: "before" if not methods or method in methods else None


def nth(number: int, fault: Fault) -> Script:
    """One call fails."""
    return lambda n, _: fault if n == number else None


class _Scripted:
    """Counts calls and fails those that the script says."""

    def __init__(self, error: type[Exception]) -> None:
        self._error = error
        self._lock = Lock()
        self.obey(well)

    def obey(self, script: Script, seconds: float = 0.0) -> None:
        """Start counting anew under this script; every call takes so much longer."""
        self._script, self._seconds, self.calls = script, seconds, 0

    def _run(self, method: str, call: Callable[[], T]) -> T:
        with self._lock:
            fault = self._script(self.calls, method)
            self.calls += 1
        if self._seconds:
            time.sleep(self._seconds)
        if fault == "before":
            raise self._error("made to fail; try again")
        result = call()
        if fault == "after":
            raise self._error("made to fail; try again")
        return result


class FaultyStore(_Scripted):
    """A `DocumentStore` that can be out of reach, slow, throttled, or lose its answers."""

    def __init__(self, inner: DocumentStore) -> None:
        super().__init__(StoreUnavailable)
        self.inner = inner

    def get(self, path: str) -> Document | None:
        return self.get_many([path])[0]

    def get_many(self, paths: Sequence[str]) -> list[Document | None]:
        return self._run("get_many", lambda: self.inner.get_many(paths))

    def query(self, query: Query) -> list[Document]:
        return self._run("query", lambda: self.inner.query(query))

    def changes(self, collection: str, since: datetime | None, select: Sequence[str] | None = None) -> Changes:
        return self._run("changes", lambda: self.inner.changes(collection, since, select))

    def count(self, query: Query) -> int:
        return self._run("count", lambda: self.inner.count(query))

    def commit(self, writes: Sequence[Write]) -> CommitResult:
        return self._run("commit", lambda: self.inner.commit(writes))

    def delete_tree(self, path: str) -> int:
        return self._run("delete_tree", lambda: self.inner.delete_tree(path))

    def close(self) -> None:
        self.inner.close()


class FaultyObjects(_Scripted):
    """An `ObjectStore` that can be out of reach."""

    def __init__(self, inner: ObjectStore) -> None:
        super().__init__(ObjectStoreUnavailable)
        self.inner = inner

    def get(self, name: str) -> Blob | None:
        return self._run("get", lambda: self.inner.get(name))

    def put(self, name: str, data: bytes, if_generation: str | None = None) -> str:
        return self._run("put", lambda: self.inner.put(name, data, if_generation))

    def list(self, prefix: str) -> list[str]:
        return self._run("list", lambda: self.inner.list(prefix))

    def delete(self, name: str) -> None:
        return self._run("delete", lambda: self.inner.delete(name))

    def close(self) -> None:
        self.inner.close()


class FaultyEmbedder:
    """A sentence encoder whose provider hashes words, and can be out of reach, slow, or answer with vectors of another size."""

    pooled = False
    table: Any = None

    def __init__(self, model: str = "hashed", dimension: int = 32) -> None:
        self.model_id = f"{model}/{dimension}"
        self.dimension = self.answer_dimension = dimension
        self.down = False
        self.seconds = 0.0
        self.asked = 0
        """Texts that it was given."""

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return embed_in_batches(texts, self._fetch, dimension=self.dimension, most_texts=100, most_chars=100_000, cut_at=10_000)

    def _fetch(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.asked += len(texts)
        time.sleep(self.seconds)
        if self.down:
            raise EmbedderUnavailable("the embedder was made to fail")
        vectors = np.zeros((len(texts), self.answer_dimension), np.float32)
        for row, text in zip(vectors, texts, strict=True):
            for word in text.lower().split():
                row[sum(word.encode()) % self.answer_dimension] += 1
        return vectors
