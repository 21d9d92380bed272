"""A document store and a blob store that note every path they are asked about."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from am_server.store.port import DocumentStore, Query, Write


class SpyingStore:
    """Passes everything on to the store it wraps."""

    def __init__(self, store: DocumentStore) -> None:
        self._store = store
        self.paths: list[str] = []
        self.queries: list[Query] = []

    def get(self, path: str) -> Any:
        self.paths.append(path)
        return self._store.get(path)

    def get_many(self, paths: list[str]) -> Any:
        self.paths.extend(paths)
        return self._store.get_many(paths)

    def query(self, query: Query) -> Any:
        self.queries.append(query)
        return self._store.query(query)

    def count(self, query: Query) -> int:
        self.queries.append(query)
        return self._store.count(query)

    def commit(self, writes: list[Write]) -> Any:
        self.paths.extend(write.path for write in writes)
        return self._store.commit(writes)

    def delete_tree(self, path: str) -> int:
        self.paths.append(path)
        return self._store.delete_tree(path)

    def close(self) -> None:
        self._store.close()


class SpyingObjects:
    """Passes everything on to the blob store it wraps; the first argument of every call is a name or a prefix."""

    def __init__(self, objects: Any) -> None:
        self._objects = objects
        self.names: list[str] = []

    def __getattr__(self, method: str) -> Callable[..., Any]:
        def noted(name: str, *args: Any, **kwargs: Any) -> Any:
            self.names.append(name)
            return getattr(self._objects, method)(name, *args, **kwargs)

        return noted
