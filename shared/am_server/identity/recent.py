"""What an instance remembers for a short while, bounded in number and in age."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock
from typing import Generic, TypeVar

Value = TypeVar("Value")


class Recent(Generic[Value]):
    """The most recently used values, each until a moment of its own. Safe under threads."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._values: OrderedDict[str, tuple[Value, int]] = OrderedDict()
        self._lock = Lock()
        self._forgotten = 0

    def get(self, key: str, now: int) -> Value | None:
        """The value, unless it was never kept or its moment has passed."""
        with self._lock:
            found = self._values.get(key)
            if found is None:
                return None
            value, until = found
            if now >= until:
                del self._values[key]
                return None
            self._values.move_to_end(key)
            return value

    def mark(self) -> int:
        """A mark to take before reading what is to be kept, see `keep`."""
        with self._lock:
            return self._forgotten

    def keep(self, key: str, value: Value, until: int, mark: int) -> None:
        """Remember a value that was read after `mark`, unless something was forgotten since: it may be what was read."""
        with self._lock:
            if mark != self._forgotten:
                return
            self._values[key] = (value, until)
            self._values.move_to_end(key)
            if len(self._values) > self._capacity:
                self._values.popitem(last=False)

    def forget(self, key: str) -> None:
        """Drop a value at once, also one that another thread is reading just now."""
        with self._lock:
            self._forgotten += 1
            self._values.pop(key, None)
