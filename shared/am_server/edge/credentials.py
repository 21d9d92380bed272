"""Which credentials a request presents."""

from __future__ import annotations

from dataclasses import dataclass

from am_server.edge.http import Request

KEY_PREFIX = "am_"


@dataclass(frozen=True, slots=True)
class Credentials:
    """A key, a bearer token that is no key (a space token or the admin token), both, or neither."""

    api_key: str | None = None
    bearer: str | None = None

    def __repr__(self) -> str:
        return "Credentials(…)"

    @property
    def absent(self) -> bool:
        """Whether the request presents nothing at all."""
        return self.api_key is None and self.bearer is None


def credentials(request: Request, auth_header: str) -> Credentials:
    """Read `X-API-Key` and the bearer token in the header named `auth_header`.

    Only that header counts: a gateway puts a credential of its own into `Authorization` and moves the caller's to
    another header, and whoever took whichever is there could be talked into trusting the wrong one.
    """
    key = request.header("X-API-Key") or None
    scheme, _, token = (request.header(auth_header) or "").partition(" ")
    bearer = token.strip() if scheme.lower() == "bearer" else ""
    if bearer.startswith(KEY_PREFIX):
        return Credentials(key or bearer)
    return Credentials(key, bearer or None)
