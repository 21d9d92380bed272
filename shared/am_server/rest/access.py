"""Who may use the /api/v2 routes."""

from __future__ import annotations

from am_server.edge.exchange import Exchange
from am_server.errors import Unauthorized
from am_server.identity.caller import Caller, Tier

ANONYMOUS = Caller(
    account="anonymous",
    agent_uid="anonymous",
    agent_id="anonymous",
    tier=Tier("anonymous", monthly_ops=None, agents=None, spaces=0, a_star=False, hard_limit=False),
    key_id=None,
)
"""Everybody without a key, where AM_ANONYMOUS_REST allows it: one account that all of them share."""


def authenticate(exchange: Exchange) -> Caller:
    """The caller behind an API key, or the anonymous one if there is no credential at all and that is allowed.

    Raises Unauthorized; also for a bad key where no key would do, and for a space token, which opens other doors.
    """
    if exchange.services.settings.anonymous_rest and exchange.credentials.absent:
        exchange.caller = ANONYMOUS
        return ANONYMOUS
    caller = exchange.authenticate()
    if caller.key_id is None:
        exchange.caller = None
        raise Unauthorized("a space token opens shared-space tools only; send an API key as X-API-Key or as bearer token")
    return caller
