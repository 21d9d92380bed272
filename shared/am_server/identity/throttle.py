"""Sign-ups per client address, counted in the store so that the limit holds over all instances."""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
from typing import TYPE_CHECKING

from am_server.errors import RateLimited
from am_server.store.port import DocumentStore, Field, Increment, merge
from am_server.times import SECOND, to_datetime

if TYPE_CHECKING:
    from am_server.wiring import Settings

HOUR = 3_600 * SECOND


def check_sign_up(store: DocumentStore, settings: Settings, address: str, now: int) -> None:
    """Count a sign-up from a client address within the clock hour. Raises RateLimited beyond AM_SIGNUP_PER_HOUR.

    The store keeps a keyed hash of the address and the hour, never the address itself.
    """
    if not settings.signup_per_hour:
        return
    hour = now // HOUR
    name = hmac.new(settings.key_pepper.encode(), f"{_network(address)} {hour}".encode(), hashlib.sha256).hexdigest()
    seen: dict[str, Field] = {"sign_ups": Increment(1), "expires_at": to_datetime((hour + 2) * HOUR)}
    [count] = store.commit([merge(f"signups/{name}", seen)]).increments
    if (count or 0) > settings.signup_per_hour:
        wait = ((hour + 1) * HOUR - now) // SECOND + 1
        raise RateLimited(
            f"at most {settings.signup_per_hour} sign-ups an hour from one address; try again in {wait} s. "
            "To add agents to an account you have, send one of its keys along",
            retry_after=wait,
        )


def _network(address: str) -> str:
    """The address, or for IPv6 its /64, which one customer has as a whole; what is no address counts as one client."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return "unknown"
    if isinstance(parsed, ipaddress.IPv6Address):
        if parsed.ipv4_mapped is not None:
            return str(parsed.ipv4_mapped)
        return str(ipaddress.ip_network((parsed, 64), strict=False))
    return str(parsed)
