"""The only fields that queries may use, by collection name.

Terraform exempts every other field from Firestore's automatic indexes and declares these; a test compares the two.
All are single-field, ascending and descending. A query on any other field is a bug and raises on every adapter.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

INDEXED: Mapping[str, Sequence[str]] = {
    "keys": ("account", "key_id"),
    "agents": ("account",),
    "episodes": ("changed_at", "stored_at", "valid_at"),
    "graph": ("changed_at", "kind"),
    "procedures": ("changed_at", "kind"),
    "working": ("live_until", "key"),
    "members": ("agent_uid",),
}

EXPIRING: Mapping[str, str] = {
    "working": "expires_at",
    "requests": "expires_at",
    "episodes": "purge_at",
}
"""The time-to-live field of a collection: a datetime after which the store may delete the document."""
