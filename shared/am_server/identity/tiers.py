"""What an account of each tier may do."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from am_server.errors import NotConfigured
from am_server.identity.caller import Tier

BUILT_IN: Mapping[str, Tier] = {
    tier.name: tier
    for tier in (
        Tier("explorer", monthly_ops=50_000, agents=3, spaces=0, a_star=False, hard_limit=True),
        Tier("builder", monthly_ops=500_000, agents=25, spaces=3, a_star=True, hard_limit=False),
        Tier("pro", monthly_ops=5_000_000, agents=None, spaces=None, a_star=True, hard_limit=False),
        Tier("enterprise", monthly_ops=None, agents=None, spaces=None, a_star=True, hard_limit=False),
    )
}

_NUMBERS = ("monthly_ops", "agents", "spaces")
_SWITCHES = ("a_star", "hard_limit")


def read_tiers(text: str) -> Mapping[str, Tier]:
    """The tier table of the setting AM_TIERS; the built-in one when the text is empty.

    The JSON maps each tier's name to `{monthly_ops, agents, spaces, a_star, hard_limit}`; null in one of the first
    three means without limit. Raises NotConfigured naming what cannot be used.
    """
    if not text.strip():
        return BUILT_IN
    try:
        table = json.loads(text)
    except (ValueError, RecursionError):
        raise NotConfigured("AM_TIERS is not JSON; expected a map of tier names to their limits") from None
    if not isinstance(table, dict) or not table:
        raise NotConfigured("AM_TIERS must be a map of at least one tier name to its limits")
    return {name: _tier(name, limits) for name, limits in table.items()}


def _tier(name: str, limits: Any) -> Tier:
    known = _NUMBERS + _SWITCHES
    if not isinstance(limits, dict) or set(limits) != set(known):
        raise NotConfigured(f"AM_TIERS: tier '{name}' must have exactly the fields {', '.join(known)}")
    for field in _NUMBERS:
        value = limits[field]
        if value is not None and (type(value) is not int or value < 0):
            raise NotConfigured(f"AM_TIERS: '{field}' of tier '{name}' must be a whole number from 0, or null for no limit")
    for field in _SWITCHES:
        if type(limits[field]) is not bool:
            raise NotConfigured(f"AM_TIERS: '{field}' of tier '{name}' must be true or false")
    return Tier(name, **limits)
