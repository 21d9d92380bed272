"""Cursors: where a page ended, as text that a caller hands back unread."""

from __future__ import annotations

import base64
import json
import re
from typing import TypeVar

from am_server.errors import Invalid

Place = TypeVar("Place", int, str)

_DOCUMENT_ID = re.compile(r"[0-9a-f-]{1,64}", re.ASCII)
_BITS = 63


def encode(value: int | str, id: str) -> str:
    """The position of the last item of a page: what the pages are ordered by, and what breaks ties."""
    return base64.urlsafe_b64encode(json.dumps([value, id]).encode()).rstrip(b"=").decode()


def decode(cursor: str | None, ordered_by: type[Place]) -> tuple[Place, str] | None:
    """The position in pages ordered by numbers (`int`, then the document's id) or by texts (`str`).

    Raises Invalid for text that is no cursor, and for the cursor of a list in another order.
    """
    if cursor is None:
        return None
    try:
        value, id = json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
    except (ValueError, TypeError, RecursionError):
        value = id = None
    if not isinstance(value, ordered_by) or isinstance(value, bool) or not isinstance(id, str) or not _can_be(value, id):
        raise Invalid("cursor", "expected the next_cursor of the page before; leave it out for the first page")
    return value, id


def _can_be(value: int | str, id: str) -> bool:
    """Whether `encode` can have met these: the store takes no other numbers and ids, and a text is whole characters."""
    if isinstance(value, int):
        return value.bit_length() <= _BITS and bool(_DOCUMENT_ID.fullmatch(id))
    return not re.search("[\ud800-\udfff]", value + id)
