"""Which names an object may have, the same on every adapter."""

from __future__ import annotations

_MAX_NAME_BYTES = 1024
_MAX_PART_BYTES = 200


def check_name(name: str) -> None:
    """Raise ValueError unless every adapter can store an object under this name."""
    parts = name.split("/")
    fits = len(name.encode()) <= _MAX_NAME_BYTES and all(len(part.encode()) <= _MAX_PART_BYTES for part in parts)
    if not fits or any(part in ("", ".", "..") for part in parts) or any(ord(character) < 32 for character in name):
        raise ValueError(f"not a name for an object: {name!r}")
