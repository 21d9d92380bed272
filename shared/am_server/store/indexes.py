"""The only fields that queries may use, by collection name.

Terraform exempts every other field from Firestore's automatic indexes and declares these; a test compares the two.
All are single-field, ascending and descending. A query on any other field is a bug and raises on every adapter.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

INDEXED: Mapping[str, Sequence[str]] = {
    "keys": ("account", "key_id"),
    "episodes": ("changed_at", "stored_at", "valid_at"),
    "graph": ("changed_at", "kind"),
    "procedures": ("changed_at", "kind"),
    "working": ("live_until", "key"),
    "members": ("agent_id",),
    "spaces": ("owner_account",),
}

EXPIRING: Mapping[str, str] = {
    "working": "expires_at",
    "requests": "expires_at",
    "episodes": "purge_at",
    "invitations": "expires_at",
    "signups": "expires_at",
}
"""The time-to-live field of a collection: a datetime after which the store may delete the document."""

COMMIT_TIME = "changed_at"
"""The field that holds the time of the document's last commit, wherever INDEXED declares it.

Every write to such a collection sets it to SERVER_TIME, and nothing else sets it. Firestore evaluates a server time when
a commit arrives and not when it becomes visible, so a later reader may see an earlier time for the first time; the
adapter makes up for that, and can only do so for a field that is known to hold the commit's time.
"""
