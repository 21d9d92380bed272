"""An object store whose round trips are counted on the request's meter. Objects are not documents: no reads, no writes."""

from __future__ import annotations

from am_server.objects.port import Blob, ObjectStore
from am_server.store.metered import counted


class MeteredObjects:
    """Wrapped around the `ObjectStore` that does the work."""

    def __init__(self, inner: ObjectStore) -> None:
        self._inner = inner

    def get(self, name: str) -> Blob | None:
        with counted():
            return self._inner.get(name)

    def put(self, name: str, data: bytes, if_generation: str | None = None) -> str:
        with counted():
            return self._inner.put(name, data, if_generation)

    def list(self, prefix: str) -> list[str]:
        with counted():
            return self._inner.list(prefix)

    def delete(self, name: str) -> None:
        with counted():
            self._inner.delete(name)

    def close(self) -> None:
        self._inner.close()
