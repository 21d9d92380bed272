"""The object store as the service sees it: named immutable-by-convention blobs with generations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from am_server.errors import AmError, Unavailable

ABSENT = ""
"""As `if_generation`: only when no object has this name yet."""


@dataclass(frozen=True, slots=True)
class Blob:
    """An object as read; `generation` changes with every put."""

    data: bytes
    generation: str


class ObjectStore(Protocol):
    """What every adapter offers. Names are `/`-separated, without `..`. Safe under threads."""

    def get(self, name: str) -> Blob | None: ...

    def put(self, name: str, data: bytes, if_generation: str | None = None) -> str:
        """Store under a name and return the new generation.

        `if_generation` None overwrites, ABSENT creates only, else the stored generation must be that one.
        Raises GenerationMismatch, ObjectStoreUnavailable.
        """
        ...

    def list(self, prefix: str) -> list[str]:
        """Every name that begins with the prefix, sorted."""
        ...

    def delete(self, name: str) -> None:
        """No object under this name any more; absent is fine."""
        ...

    def close(self) -> None: ...


class GenerationMismatch(AmError):
    """The object is not of the generation that the caller expected; nothing was written."""

    code, type, status = -32006, "conflict", 409


class ObjectStoreUnavailable(Unavailable):
    """The bucket did not answer in time."""
