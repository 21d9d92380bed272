"""What a tool's handler works with: who calls, and the ports and views of this instance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from am_server.identity.caller import Caller

if TYPE_CHECKING:
    from am_server.identity.accounts import Accounts
    from am_server.store.port import DocumentStore
    from am_server.views.views import Views
    from am_server.wiring import Services


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a tool."""

    caller: Caller
    services: Services
    now: int
    """Microseconds since 1970 at which the call began; unique and rising within an instance."""

    @property
    def store(self) -> DocumentStore:
        """The document store."""
        return self.services.store

    @property
    def views(self) -> Views:
        """The views over agents' memories; loads numpy."""
        return self.services.views

    @property
    def accounts(self) -> Accounts:
        """Accounts, their agents and what they have used."""
        return self.services.accounts

    def path(self, collection: str, id: str) -> str:
        """A document of the calling agent."""
        return f"agents/{self.caller.agent_uid}/{collection}/{id}"

    def collection(self, name: str) -> str:
        """A collection of the calling agent."""
        return f"agents/{self.caller.agent_uid}/{name}"
