"""What a call may raise: one exception for each error type of the service."""

from __future__ import annotations

from typing import Any, ClassVar


class AgentverseMemoryError(Exception):
    """Any failure of a call; `code` and `type` are the service's."""

    code: ClassVar[int] = 0

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.retry_after = retry_after
        """Seconds after which the call may succeed, when the service told."""


class AuthenticationError(AgentverseMemoryError):
    """No key, a bad key, or a refused space token."""

    code = -32001


class ForbiddenError(AgentverseMemoryError):
    """The tier or the role does not allow it."""

    code = -32002


class NotFoundError(AgentverseMemoryError):
    """A named thing that must exist does not."""

    code = -32003


class ValidationError(AgentverseMemoryError):
    """An argument cannot be used; the message names it."""

    code = -32004


class RateLimitError(AgentverseMemoryError):
    """The month's quota is used up."""

    code = -32005


class ConflictError(AgentverseMemoryError):
    """The call contradicts what is stored, or reuses an idempotency key."""

    code = -32006


class NotConfiguredError(AgentverseMemoryError):
    """The server lacks a secret or a provider."""

    code = -32007


class UnavailableError(AgentverseMemoryError):
    """The server or its store is out of reach, after all retries."""

    code = -32008


_BY_CODE: dict[int, type[AgentverseMemoryError]] = {
    kind.code: kind
    for kind in (
        AuthenticationError,
        ForbiddenError,
        NotFoundError,
        ValidationError,
        RateLimitError,
        ConflictError,
        NotConfiguredError,
        UnavailableError,
    )
}


def error_of(fault: Any, retry_after: float | None = None) -> AgentverseMemoryError:
    """The exception for an `{code, message}` object of the wire."""
    if not isinstance(fault, dict):
        return AgentverseMemoryError(str(fault), retry_after)
    kind = _BY_CODE.get(fault.get("code", 0), AgentverseMemoryError)
    return kind(str(fault.get("message", "the service failed without saying why")), retry_after)
