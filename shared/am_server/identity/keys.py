"""API keys: how they are made and recognised. A key itself is shown once and never stored."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets

PREFIX = "am_"

_FORM = re.compile(r"am_[A-Za-z0-9_-]{43}", re.ASCII)
_ID = re.compile(r"[0-9a-f]{24}", re.ASCII)


def new_key() -> str:
    """A fresh key: the prefix and 256 random bits in base64url."""
    return PREFIX + secrets.token_urlsafe(32)


def new_key_id() -> str:
    """A name for a key that may be shown and logged; it has nothing to do with the key."""
    return secrets.token_hex(12)


def is_key_id(text: str) -> bool:
    """Whether a text has the form of `new_key_id`."""
    return _ID.fullmatch(text) is not None


def has_key_form(text: str) -> bool:
    """Whether a text could be a key at all; what could not is refused without asking the store."""
    return _FORM.fullmatch(text) is not None


def key_hash(key: str, pepper: str) -> str:
    """The id under which a key's document is stored: HMAC-SHA256 in hex.

    The lookup is by this hash, so how long it takes tells nothing about any stored key; a copy of the store without
    the pepper cannot even confirm a guess.
    """
    return hmac.new(pepper.encode(), key.encode(), hashlib.sha256).hexdigest()


def same_secret(given: str, expected: str) -> bool:
    """Whether a caller knows a secret, in constant time; an unset secret is known to nobody."""
    return bool(expected) and hmac.compare_digest(given.encode(), expected.encode())
