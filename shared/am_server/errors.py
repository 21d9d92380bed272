"""What can go wrong, in the words a caller can act on.

Every error that reaches a caller is one of these; its `code` and `type` travel in JSON-RPC and in tool results,
its `status` on the REST routes. The message tells the caller what to do next and never holds a key, a token or
anything that was stored.
"""

from __future__ import annotations

from typing import ClassVar


class AmError(Exception):
    """An error the caller should see."""

    code: ClassVar[int] = -32603
    type: ClassVar[str] = "internal"
    status: ClassVar[int] = 500

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message

    def as_dict(self) -> dict[str, object]:
        """The `{code, type, message}` object of the wire."""
        return {"code": self.code, "type": self.type, "message": self.message}


class Unauthorized(AmError):
    """No key, a bad key, or a refused token."""

    code, type, status = -32001, "unauthorized", 401


class Forbidden(AmError):
    """The tier, the role or the scope does not allow it."""

    code, type, status = -32002, "forbidden", 403


class NotFound(AmError):
    """A named thing that must exist does not."""

    code, type, status = -32003, "not_found", 404


class Invalid(AmError):
    """An argument cannot be used; `field` names it."""

    code, type, status = -32004, "validation_error", 422

    def __init__(self, field: str, reason: str) -> None:
        super().__init__(f"validation error on '{field}': {reason}")
        self.field = field
        self.reason = reason


class RateLimited(AmError):
    """The quota is used up; `retry_after` is in seconds."""

    code, type, status = -32005, "rate_limited", 429

    def __init__(self, message: str, retry_after: int) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class Conflict(AmError):
    """The request contradicts what is stored."""

    code, type, status = -32006, "conflict", 409


class NotConfigured(AmError):
    """A secret or a provider is not set on this server."""

    code, type, status = -32007, "not_configured", 503


class Unavailable(AmError):
    """A store or a bucket is out of reach; the same request may succeed later."""

    code, type, status = -32008, "unavailable", 503


class Internal(AmError):
    """A bug; the message carries a request id and nothing else."""
