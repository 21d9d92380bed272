"""A view that is nothing but the state of its collection."""

from __future__ import annotations

from typing import Generic

from am_server.views.log import LogView, State


class Latest(Generic[State]):
    """The state that the last refresh saw. Safe under threads."""

    state: State
    """There is one after the first refresh."""

    def __init__(self, log: LogView[State]) -> None:
        self._log = log

    def refresh(self) -> None:
        """Take in every change that was acknowledged before this call."""
        self.state = self._log.current()

    @property
    def size(self) -> int:
        """About how many bytes it holds."""
        return self._log.size
