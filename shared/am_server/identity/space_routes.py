"""Tokens for shared spaces, and who may enter one: `/v1/space-token`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from am_server.edge.exchange import Exchange
from am_server.edge.http import Response, json_response
from am_server.edge.routes import Route
from am_server.errors import Forbidden, Invalid
from am_server.identity.caller import Caller
from am_server.identity.memberships import RANK, Role, redeem, remove, require_role, spaces_of_token
from am_server.identity.routes import MAX_AGENT_ID_CHARS, key_holder
from am_server.identity.tokens import DEFAULT_TTL, MAX_TTL, MIN_TTL, TokenRefused
from am_server.times import SECOND, show

USAGE = "Use as Authorization: Bearer <token> with shared-space MCP tools"
INVITATION_USAGE = 'The invited agent posts {"redeem": "<invitation>"} to /v1/space-token with its own key, then joins the space'

ACTIONS = ("invite", "redeem", "remove")


def space_token(exchange: Exchange) -> Response:
    """POST /v1/space-token: a token for the caller's spaces.

    The body, which may be empty, holds `expires_in` (or `ttl_seconds`), and at most one of `redeem` (an invitation, before
    the token is made), `invite` ({space_id, role, agent_id?}: an invitation instead of a token; owners only) and `remove`
    ({space_id, agent_id}: takes a member out; owners only).
    """
    caller, services = key_holder(exchange), exchange.services
    if caller.tier.spaces == 0:
        needed = next((tier.name for tier in services.tiers.values() if tier.spaces != 0), "a higher")
        raise Forbidden(f"forbidden: tier '{caller.tier.name}' cannot access '{needed}' feature shared spaces; upgrade the tier")
    services.tokens.require_secret()
    body = exchange.request.json_object()
    asked = [action for action in ACTIONS if body.get(action) is not None]
    if len(asked) > 1:
        raise Invalid(asked[1], f"cannot be combined with '{asked[0]}'; send two requests")
    if asked == ["invite"]:
        return _invite(exchange, caller, _object(body, "invite"))
    if asked == ["remove"]:
        return _remove(exchange, caller, _object(body, "remove"))
    ttl = _ttl(body)
    if asked:
        _redeem(exchange, caller, body["redeem"])
    return _token(exchange, caller, ttl)


ROUTES = (Route("POST", "/v1/space-token", space_token),)


def _token(exchange: Exchange, caller: Caller, ttl: int) -> Response:
    spaces = spaces_of_token(exchange.services.store, caller)
    minted = exchange.services.tokens.mint(caller.did, caller.tier.name, spaces, ttl)
    body = {
        "token": minted.token,
        "token_type": "Bearer",
        "expires_at": show(minted.expires_at * SECOND),
        "expires_in": ttl,
        "tier": caller.tier.name,
        "agent_id": caller.agent_id,
        "spaces": spaces,
        "usage": USAGE,
    }
    return json_response(200, body)


def _redeem(exchange: Exchange, caller: Caller, text: Any) -> None:
    if not isinstance(text, str):
        raise Invalid("redeem", "must be the text of an invitation")
    try:
        invitation = exchange.services.tokens.read_invitation(text)
    except TokenRefused as refusal:
        # the key is good, so this must not look like an authentication failure
        raise Invalid("redeem", f"not a good invitation ({refusal.fault}); ask the space's owner for a new one") from None
    redeem(exchange.services.store, caller, invitation, exchange.services.clock.now())


def _invite(exchange: Exchange, caller: Caller, asked: Mapping[str, Any]) -> Response:
    space_id, role, agent = _text(asked, "invite", "space_id"), asked.get("role", "writer"), None
    if not isinstance(role, str) or role not in RANK:
        raise Invalid("invite.role", "must be owner, writer or reader")
    if asked.get("agent_id") is not None:
        agent = _text(asked, "invite", "agent_id")
    require_role(exchange.services.store, caller.agent_uid, space_id, "owner")
    invitation, expires_at = exchange.services.tokens.invite(caller.agent_uid, space_id, cast(Role, role), agent)
    body = {
        "invitation": invitation,
        "space_id": space_id,
        "role": role,
        **({} if agent is None else {"agent_id": agent}),
        "expires_at": show(expires_at * SECOND),
        "usage": INVITATION_USAGE,
    }
    return json_response(200, body)


def _remove(exchange: Exchange, caller: Caller, asked: Mapping[str, Any]) -> Response:
    space_id, agent = _text(asked, "remove", "space_id"), _text(asked, "remove", "agent_id")
    did, members = remove(exchange.services.store, caller, space_id, agent)
    return json_response(200, {"removed": True, "space_id": space_id, "agent_did": did, "members": members})


def _object(body: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = body[name]
    if not isinstance(value, dict):
        raise Invalid(name, "must be an object")
    return value


def _text(asked: Mapping[str, Any], action: str, name: str) -> str:
    value = asked.get(name)
    if not isinstance(value, str) or not 1 <= len(value) <= MAX_AGENT_ID_CHARS or not value.isprintable():
        raise Invalid(f"{action}.{name}", f"required: a text of at most {MAX_AGENT_ID_CHARS} printable characters")
    return value


def _ttl(body: Mapping[str, Any]) -> int:
    for name in ("expires_in", "ttl_seconds"):
        value = body.get(name)
        if value is None:
            continue
        if type(value) is not int or not MIN_TTL <= value <= MAX_TTL:
            raise Invalid(name, f"must be a whole number of seconds from {MIN_TTL} to {MAX_TTL}")
        return value
    return DEFAULT_TTL
