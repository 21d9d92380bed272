"""What is read from an episode when it is written, packed small enough to travel in its document.

A reader builds its index from these bytes alone and never reads the text again. Nothing here needs numpy.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgpack

from am_server.memory import timewords
from am_server.memory.tokens import Token, read_tokens

ASKS, TELLS_TIME = 1, 2
"""Flags: the text ends in a question mark; the text has a time expression."""

SHORT_TEXT_WORDS = 12
"""In texts up to this many words the function words may be the point ("To be, or not to be") and are indexed too."""

MAX_COUNT = 127
MAX_NAME_CHARS = 256
_VERSION = 1


@dataclass(frozen=True, slots=True)
class Terms:
    """The index terms of one episode."""

    own: Mapping[str, int]
    """How often each term occurs in the text, 1 to MAX_COUNT."""
    meta: frozenset[str]
    """Terms of the speaker, of the date, and of the dates that relative expressions mean."""
    length: int = 0
    """Content tokens in the text."""
    flags: int = 0
    session: str = ""
    speaker: str = ""


def extract(content: str, *, valid_at: int, session: str = "", speaker: str = "") -> Terms:
    """Read an episode: its text, who said it, in which conversation, and when (microseconds since 1970)."""
    read = list(read_tokens(content, every_character=True))
    kept = [token for token in read if not token.stop]
    if len(read) <= SHORT_TEXT_WORDS or not kept:
        kept = read
    own = Counter(token.term for token in kept)
    meta = {token.term for token in read_tokens(speaker, every_character=True)}
    meta.update(timewords.date_terms(valid_at), timewords.meant_terms(content, valid_at))
    return Terms(
        own={term: min(count, MAX_COUNT) for term, count in own.items()},
        meta=frozenset(meta),
        length=sum(_counts(token) for token in kept),
        flags=ASKS * content.rstrip().endswith(("?", "？")) | TELLS_TIME * timewords.has_time(content),
        session=session[:MAX_NAME_CHARS],
        speaker=speaker[:MAX_NAME_CHARS],
    )


def extract_for(content: str, metadata: Mapping[str, Any] | None, *, valid_at: int) -> Terms:
    """`extract` with session and speaker as `session_of` and `speaker_of` find them in the metadata."""
    return extract(content, valid_at=valid_at, session=session_of(metadata), speaker=speaker_of(metadata))


def session_of(metadata: Mapping[str, Any] | None) -> str:
    """`session_id` of the metadata, or nothing."""
    return _name((metadata or {}).get("session_id"))


def speaker_of(metadata: Mapping[str, Any] | None) -> str:
    """`speaker`, else `producer`, else `role` of the metadata, or nothing."""
    return next((name for key in ("speaker", "producer", "role") if (name := _name((metadata or {}).get(key)))), "")


def pack_terms(terms: Terms) -> bytes:
    """Bytes of about the size of the text; `unpack_terms` gives the same terms back."""
    own = sorted(terms.own.items())
    spelled = "\n".join(term for term, _ in own)
    meta = "\n".join(sorted(terms.meta))
    packed: bytes = msgpack.packb(
        [_VERSION, terms.flags, terms.length, terms.session, terms.speaker, spelled, bytes(n for _, n in own), meta]
    )
    return packed


def unpack_terms(packed: bytes) -> Terms:
    """The terms of `pack_terms`. Raises ValueError when the bytes are nothing it wrote."""
    try:
        version, flags, length, session, speaker, spelled, counts, meta = msgpack.unpackb(packed)
        if version != _VERSION:
            raise ValueError("another version")
        own = dict(zip(spelled.split("\n") if counts else (), counts, strict=True))
        return Terms(own, frozenset(meta.split("\n") if meta else ()), length, flags, session, speaker)
    except (ValueError, TypeError, AttributeError, msgpack.UnpackException) as error:
        raise ValueError("these are no packed terms") from error


def _counts(token: Token) -> bool:
    return token.counts and not token.stop


def _name(value: object) -> str:
    return str(value).encode("utf-8", "ignore").decode().strip() if isinstance(value, str | int | float) else ""
