"""One request on its way through the service, and what is learnt about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from am_server.edge.credentials import Credentials, credentials
from am_server.edge.http import Request
from am_server.errors import Internal
from am_server.identity.caller import Caller

if TYPE_CHECKING:
    from am_server.identity.quota import RateLimit
    from am_server.wiring import Services


@dataclass(slots=True)
class Exchange:
    """What a route handler works with; the rest of the fields are for headers and the log line."""

    request: Request
    services: Services
    params: Mapping[str, str] = field(default_factory=dict)
    """The variable parts of the path by name."""
    template: str = ""
    """The path as declared, e.g. `/v1/keys/{key_id}`."""
    caller: Caller | None = None
    rate: RateLimit | None = None
    tool: str | None = None
    fault: str | None = None
    """The type of the error that the answer reports, in-band or not."""
    bug: BaseException | None = None
    """The unexpected exception behind an answer that reports an internal error."""

    @property
    def credentials(self) -> Credentials:
        """What the request presents, unverified."""
        return credentials(self.request, self.services.settings.auth_header)

    def authenticate(self) -> Caller:
        """Who calls. Raises Unauthorized."""
        shown = self.credentials
        self.caller = self.services.accounts.authenticate(shown.api_key, shown.bearer)
        return self.caller

    def spend(self, caller: Caller) -> None:
        """Count one operation. Raises RateLimited when the quota is used up."""
        self.rate = self.services.quota.spend(caller)

    def unexpected(self, bug: Exception) -> Internal:
        """The error to answer with when something failed that should not; the log line gets the details."""
        self.fault, self.bug = Internal.type, bug
        return Internal(f"internal error; the operator finds it in the log under request id {self.request.id}")

    def rate_limit(self) -> RateLimit | None:
        """The caller's quota as it stands; None for an unknown caller, or when it cannot be read now."""
        if self.rate is None and self.caller is not None:
            try:
                self.rate = self.services.quota.peek(self.caller)
            except Exception as problem:  # the answer is ready and stands without its rate-limit headers
                self.bug = self.bug or problem
                return None
        return self.rate
