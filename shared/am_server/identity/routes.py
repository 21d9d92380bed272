"""Signing up, keys and use: `/v1/keys` and `/v1/usage`."""

from __future__ import annotations

from typing import Any

from am_server.edge.exchange import Exchange
from am_server.edge.http import Response, json_response
from am_server.edge.routes import Route
from am_server.errors import Forbidden, Invalid, Unauthorized
from am_server.identity.accounts import KeyInfo, NewKey
from am_server.identity.caller import Caller, Tier
from am_server.identity.keys import same_secret
from am_server.identity.throttle import check_sign_up
from am_server.times import SECOND, show

MAX_AGENT_ID_CHARS = 256

DEFAULT_TIER = "explorer"

WARNING = "Store this key securely: it is shown only once and cannot be recovered. Revoke it with DELETE /v1/keys/{key_id}."


def open_key(exchange: Exchange) -> Response:
    """POST /v1/keys: a new account, or with a key of the account a further agent or key. 201 and the key.

    A credential that is no good is refused and never opens an account.
    """
    services, shown = exchange.services, exchange.credentials
    by_admin = shown.bearer is not None and same_secret(shown.bearer, services.settings.admin_token)
    caller = None if shown.absent or (by_admin and shown.api_key is None) else key_holder(exchange)
    body = exchange.request.json_object()
    agent_id = _agent_id(body)
    if caller is not None:
        _check_same_tier(body, caller.tier)
        return _made(services.accounts.add_key(caller, agent_id))
    tier = _tier(exchange, body, by_admin)
    if not by_admin:
        check_sign_up(services.store, services.settings, exchange.request.client_address, services.clock.now())
    return _made(services.accounts.sign_up(agent_id, tier))


def list_keys(exchange: Exchange) -> Response:
    """GET /v1/keys: every key of the account, without the keys themselves."""
    caller = key_holder(exchange)
    found = [_shown(key) for key in exchange.services.accounts.keys(caller)]
    return json_response(200, {"keys": found, "count": len(found)})


def revoke_key(exchange: Exchange) -> Response:
    """DELETE /v1/keys/{key_id}: revoke one of the account's keys, the one that asks included."""
    caller = key_holder(exchange)
    key = exchange.services.accounts.revoke(caller, exchange.params["key_id"])
    return json_response(200, {**_shown(key), "revoked": True})


def usage(exchange: Exchange) -> Response:
    """GET /v1/usage: what the account has used this month, all instances included, and what it may use."""
    caller = key_holder(exchange)
    services = exchange.services
    used = services.quota.used(caller)
    rate = exchange.rate = services.quota.peek(caller)
    counts, tier = services.accounts.counts(caller), caller.tier
    limits = {"monthly_op_limit": tier.monthly_ops, "agent_limit": tier.agents, "space_limit": tier.spaces}
    body: dict[str, Any] = {
        "agent_id": caller.agent_id,
        "tier": tier.name,
        "monthly_ops_used": used,
        **({} if rate.remaining is None else {"monthly_ops_remaining": rate.remaining}),
        "overage_ops": 0 if tier.monthly_ops is None or tier.hard_limit else max(0, used - tier.monthly_ops),
        "resets_at": show(rate.reset * SECOND),
        "agents": counts.agents,
        "owned_spaces": counts.spaces,
        **{name: limit for name, limit in limits.items() if limit is not None},
    }
    return json_response(200, body)


ROUTES = (
    Route("POST", "/v1/keys", open_key),
    Route("GET", "/v1/keys", list_keys),
    Route("DELETE", "/v1/keys/{key_id}", revoke_key),
    Route("GET", "/v1/usage", usage),
)


def key_holder(exchange: Exchange) -> Caller:
    """Who calls with a key; a space token opens shared-space tools and nothing else. Raises Unauthorized."""
    caller = exchange.authenticate()
    if caller.key_id is None:
        raise Unauthorized("a space token does not open this route; send the agent's key as 'X-API-Key: am_...'")
    return caller


def _agent_id(body: dict[str, Any]) -> str:
    agent_id = body.get("agent_id")
    if not isinstance(agent_id, str) or not agent_id.strip():
        raise Invalid("agent_id", "required: the name of the agent, a text such as 'my-agent'")
    if len(agent_id) > MAX_AGENT_ID_CHARS or not agent_id.isprintable():
        raise Invalid("agent_id", f"at most {MAX_AGENT_ID_CHARS} printable characters")
    return agent_id


def _tier(exchange: Exchange, body: dict[str, Any], by_admin: bool) -> Tier:
    tiers, settings = exchange.services.tiers, exchange.services.settings
    name = body.get("tier", DEFAULT_TIER)
    if not isinstance(name, str) or name not in tiers:
        raise Invalid("tier", f"must be one of {', '.join(tiers)}")
    if not by_admin and name not in settings.signup_tiers:
        open_tiers = ", ".join(tier for tier in tiers if tier in settings.signup_tiers) or "none"
        raise Forbidden(f"tier '{name}' is not open to sign-up here (open: {open_tiers}); ask the operator for an account")
    return tiers[name]


def _check_same_tier(body: dict[str, Any], tier: Tier) -> None:
    """An agent has its account's tier; saying another one is a mistake that must not pass for an upgrade."""
    asked = body.get("tier", tier.name)
    if not isinstance(asked, str):
        raise Invalid("tier", f"must be '{tier.name}', the account's tier, or left out")
    if asked != tier.name:
        raise Forbidden(f"this account's tier is '{tier.name}' and its agents share it; leave 'tier' out")


def _made(new: NewKey) -> Response:
    limit = new.tier.monthly_ops
    body = {
        "agent_id": new.agent_id,
        "key": new.key,
        "key_id": new.key_id,
        **({} if limit is None else {"monthly_op_limit": limit}),
        "tier": new.tier.name,
        "warning": WARNING,
    }
    return json_response(201, body)


def _shown(key: KeyInfo) -> dict[str, Any]:
    return {
        "key_id": key.key_id,
        "agent_id": key.agent_id,
        "last_four": key.last_four,
        "created_at": show(key.created_at),
        **({} if key.revoked_at is None else {"revoked_at": show(key.revoked_at)}),
    }
