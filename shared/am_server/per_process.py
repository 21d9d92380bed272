"""Values that every process makes for itself: clients with sockets and threads do not survive a fork."""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable
from threading import Lock
from typing import Generic, TypeVar

T = TypeVar("T")


class PerProcess(Generic[T]):
    """Made by `make` at the first use in each process, and shared by its threads."""

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._made: list[T] = []
        self._lock = Lock()
        # What a fork copied still belongs to the parent: keep it, unused, so that nothing closes it here.
        self._inherited: list[T] = []
        forget = weakref.WeakMethod(self._forget)
        os.register_at_fork(after_in_child=lambda: (method := forget()) and method())

    def get(self) -> T:
        """The value of this process. Whatever `make` raises passes through, and the next call tries again."""
        with self._lock:
            if not self._made:
                self._made.append(self._make())
            return self._made[0]

    def close(self, close: Callable[[T], object]) -> None:
        """Close what this process made, if it did; a later use makes it again."""
        with self._lock:
            while self._made:
                close(self._made.pop())

    def _forget(self) -> None:
        self._inherited += self._made
        self._made, self._lock = [], Lock()
