"""Cursors: where a page ended, as text that a caller hands back unread."""

from __future__ import annotations

import base64
import json

from am_server.errors import Invalid
from am_server.store.port import Scalar


def encode(value: int | str, id: str) -> str:
    """The position of the last document of a page: the field it is ordered by, and its id."""
    return base64.urlsafe_b64encode(json.dumps([value, id]).encode()).rstrip(b"=").decode()


def decode(cursor: str | None) -> tuple[Scalar, str] | None:
    """The position, as `Query.after` takes it. Raises Invalid for text that is no cursor."""
    if cursor is None:
        return None
    try:
        value, id = json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
    except (ValueError, TypeError):
        value = id = None
    if isinstance(value, bool) or not isinstance(value, int | str) or not isinstance(id, str):
        raise Invalid("cursor", "expected the next_cursor of the page before; leave it out for the first page")
    return value, id
