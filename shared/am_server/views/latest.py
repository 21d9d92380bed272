"""A view that is nothing but the state of its collection."""

from __future__ import annotations

from typing import Generic

from am_server.views.log import LogView, State


class Latest(Generic[State]):
    """Hands out the state as each read sees it. Safe under threads."""

    def __init__(self, log: LogView[State]) -> None:
        self._log = log

    def refresh(self) -> State:
        """The state with every change that was acknowledged before this call."""
        return self._log.current()

    @property
    def size(self) -> int:
        """About how many bytes it holds."""
        return self._log.size
