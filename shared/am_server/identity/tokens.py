"""Space tokens and invitations: signed with HS256, verified with the algorithm pinned and every fault named.

Both are JSON web tokens, but neither passes for the other: they differ in audience and are signed with different keys
that are derived from one secret. JWT_SECRET may hold several secrets; the first signs and all of them verify, so a
secret is rotated by putting the new one in front and dropping the old one a day later.
"""

from __future__ import annotations

import hashlib
import hmac
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from am_server.errors import NotConfigured, Unauthorized
from am_server.times import SECOND, Clock

ISSUER = "agentverse-memory"
AUDIENCE = "am-server"
INVITATION_AUDIENCE = "am-server/invitation"

MIN_TTL, DEFAULT_TTL, MAX_TTL = 60, 3_600, 86_400
INVITATION_TTL = 7 * 86_400
MAX_TOKEN_CHARS = 8_192
"""Longer ones are refused unread."""

_SUBJECT = re.compile(r"did:fetch:([0-9a-f]{32})", re.ASCII)


class TokenRefused(Unauthorized):
    """A token that does not open anything; `fault` is the seed's name for the reason, such as `jwt_expired`."""

    def __init__(self, fault: str, reason: str) -> None:
        super().__init__(f"{fault}: {reason}")
        self.fault = fault


@dataclass(frozen=True, slots=True)
class Claims:
    """A verified space token."""

    agent_uid: str
    spaces: Sequence[str]


@dataclass(frozen=True, slots=True)
class Minted:
    """A fresh space token. Times are seconds since 1970."""

    token: str
    issued_at: int
    expires_at: int


@dataclass(frozen=True, slots=True)
class Invitation:
    """A verified invitation. `agent` is the agent id or DID that it is meant for, None for whoever holds it."""

    id: str
    space_id: str
    role: str
    author: str
    """The uid of the agent that wrote it."""
    agent: str | None
    expires_at: int


class SpaceTokens:
    """Makes and verifies tokens. Without a secret it makes none, and none is good."""

    def __init__(self, secrets: Sequence[str], clock: Clock) -> None:
        self._token_keys = [secret.encode() for secret in secrets]
        self._invitation_keys = [hmac.new(key, b"invitation", hashlib.sha256).digest() for key in self._token_keys]
        self._clock = clock

    def require_secret(self) -> None:
        """Raise NotConfigured when JWT_SECRET is unset."""
        if not self._token_keys:
            raise NotConfigured("JWT_SECRET is unset; set it to a long random secret to enable shared spaces")

    def mint(self, did: str, tier: str, spaces: Sequence[str], ttl: int = DEFAULT_TTL) -> Minted:
        """A token for these spaces; `ttl` in seconds. Raises NotConfigured without a secret."""
        self.require_secret()
        now = self._now()
        claims = {"sub": did, "iss": ISSUER, "aud": AUDIENCE, "spaces": list(spaces), "tier": tier, "iat": now, "exp": now + ttl}
        return Minted(_sign(claims, self._token_keys), now, now + ttl)

    def verify(self, token: str) -> Claims:
        """The claims of a good token. Raises TokenRefused naming what is wrong with any other."""
        claims = self._read(token, self._token_keys, AUDIENCE)
        spaces = claims.get("spaces")
        if not isinstance(spaces, list) or not all(isinstance(space, str) for space in spaces):
            raise TokenRefused("jwt_missing_claim", "'spaces' must be a list of space ids")
        subject = claims.get("sub")
        found = _SUBJECT.fullmatch(subject) if isinstance(subject, str) else None
        if not found:
            raise TokenRefused("jwt_missing_claim", "'sub' must be an agent's DID")
        return Claims(found[1], tuple(spaces))

    def invite(self, author: str, space_id: str, role: str, agent: str | None) -> tuple[str, int]:
        """An invitation from the agent `author` and when it expires, in seconds since 1970. Raises NotConfigured."""
        self.require_secret()
        now = self._now()
        claims = {"jti": uuid4().hex, "iss": ISSUER, "aud": INVITATION_AUDIENCE, "space": space_id, "role": role,
                  "author": author, "iat": now, "exp": now + INVITATION_TTL}
        if agent is not None:
            claims["agent"] = agent
        return _sign(claims, self._invitation_keys), now + INVITATION_TTL

    def read_invitation(self, text: str) -> Invitation:
        """A good invitation. Raises TokenRefused for anything else, a space token included."""
        claims = self._read(text, self._invitation_keys, INVITATION_AUDIENCE)
        return Invitation(
            claims["jti"], claims["space"], claims["role"], claims["author"], claims.get("agent"), int(claims["exp"])
        )

    def _now(self) -> int:
        return self._clock.now() // SECOND

    def _read(self, token: str, keys: Sequence[bytes], audience: str) -> Mapping[str, Any]:
        claims = _verified(token, keys)
        for name in ("iss", "aud", "exp", "iat"):
            if claims.get(name) is None:
                raise TokenRefused("jwt_missing_claim", f"'{name}' is missing")
        if claims["iss"] != ISSUER:
            raise TokenRefused("jwt_invalid_issuer", f"'iss' must be {ISSUER}")
        if claims["aud"] != audience:
            raise TokenRefused("jwt_invalid_audience", f"'aud' must be {audience}")
        for name in ("exp", "iat"):
            # text is refused although many libraries take it: what they read as a number may differ from what was meant
            if type(claims[name]) not in (int, float) or not math.isfinite(claims[name]):
                raise TokenRefused("jwt_missing_claim", f"'{name}' must be a number of seconds")
        if claims["exp"] <= self._now():
            raise TokenRefused("jwt_expired", "get a fresh token from POST /v1/space-token")
        return claims


def _sign(claims: Mapping[str, Any], keys: Sequence[bytes]) -> str:
    import jwt

    return jwt.encode(dict(claims), keys[0], algorithm="HS256")


def _verified(token: str, keys: Sequence[bytes]) -> Mapping[str, Any]:
    """The claims of a token that one of the keys signed; they are not checked otherwise."""
    if len(token) > MAX_TOKEN_CHARS:
        raise TokenRefused("jwt_invalid_signature", f"a token has at most {MAX_TOKEN_CHARS} characters")
    if not keys:
        raise TokenRefused("jwt_invalid_signature", "this server has no JWT_SECRET, so no token is good here")
    import jwt

    unchecked = {"verify_exp": False, "verify_iat": False, "verify_nbf": False, "verify_aud": False, "verify_iss": False,
                 "verify_sub": False, "verify_jti": False}
    for key in keys:
        try:
            claims: Mapping[str, Any] = jwt.decode(token, key, algorithms=["HS256"], options=unchecked)  # type: ignore[arg-type]
            return claims
        except (jwt.InvalidTokenError, ValueError, RecursionError):
            continue
    raise TokenRefused("jwt_invalid_signature", "the token was not signed with this server's secret by HS256, or was changed")
