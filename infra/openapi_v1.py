"""The `/v1` routes and `/health` for the OpenAPI document. They read and write plain objects, so their shapes stand here."""

from __future__ import annotations

from typing import Any

TEXT: dict[str, Any] = {"type": "string"}
WHOLE: dict[str, Any] = {"type": "integer"}
TIME: dict[str, Any] = {"type": "string", "format": "date-time"}


def shape(required: dict[str, Any], optional: dict[str, Any] | None = None) -> dict[str, Any]:
    """An object's schema."""
    return {"type": "object", "properties": {**required, **(optional or {})}, "required": sorted(required)}


_AGENT_ID = {"type": "string", "minLength": 1, "maxLength": 256, "description": "Name of the agent within its account."}
_TIER = {"type": "string", "default": "explorer", "description": "Tier of a new account; one that is open to sign-up."}
_KEY = {"key_id": TEXT, "agent_id": TEXT, "last_four": TEXT, "created_at": TIME}
_USED = {"monthly_ops_used": WHOLE, "overage_ops": WHOLE, "resets_at": TIME, "agents": WHOLE, "owned_spaces": WHOLE}
_LIMITS = {"monthly_ops_remaining": WHOLE, "monthly_op_limit": WHOLE, "agent_limit": WHOLE, "space_limit": WHOLE}
_TTL = {"type": "integer", "minimum": 60, "maximum": 86_400, "description": "Seconds that the token lasts; also `ttl_seconds`."}
_ROLE = {"enum": ["owner", "writer", "reader"]}
_TOKEN = {"token": TEXT, "token_type": {"const": "Bearer"}, "expires_at": TIME, "expires_in": WHOLE}
_INVITATION = {"invitation": TEXT, "space_id": TEXT, "role": _ROLE, "expires_at": TIME, "usage": TEXT}

SCHEMAS: dict[str, Any] = {
    "OpenKey": shape({"agent_id": _AGENT_ID}, {"tier": _TIER}),
    "NewKey": shape({"agent_id": TEXT, "key": TEXT, "key_id": TEXT, "tier": TEXT, "warning": TEXT}, {"monthly_op_limit": WHOLE}),
    "Key": shape(_KEY, {"revoked_at": TIME}),
    "Keys": shape({"keys": {"type": "array", "items": {"$ref": "#/components/schemas/Key"}}, "count": WHOLE}),
    "RevokedKey": shape({**_KEY, "revoked_at": TIME, "revoked": {"const": True}}),
    "Usage": shape({"agent_id": TEXT, "tier": TEXT, **_USED}, _LIMITS),
    "AskSpaceToken": shape(
        {},
        {
            "expires_in": _TTL,
            "redeem": {"type": "string", "description": "An invitation; the token then lists its space."},
            "invite": shape({"space_id": TEXT}, {"role": _ROLE, "agent_id": TEXT}),
            "remove": shape({"space_id": TEXT, "agent_id": TEXT}),
        },
    ),
    "SpaceToken": shape({**_TOKEN, "tier": TEXT, "agent_id": TEXT, "spaces": {"type": "array", "items": TEXT}, "usage": TEXT}),
    "Invitation": shape(_INVITATION, {"agent_id": TEXT}),
    "Removal": shape({"removed": {"const": True}, "space_id": TEXT, "agent_did": TEXT, "members": WHOLE}),
    "ServiceHealth": shape(
        {"service": TEXT, "status": {"enum": ["ok", "degraded"]}, "version": TEXT}, {"store": TEXT, "objects": TEXT}
    ),
    "Error": shape({"error": shape({"code": WHOLE, "type": TEXT, "message": TEXT})}),
}

FAILURES = {
    401: "No key, or one that is unknown or revoked.",
    403: "The tier does not allow it.",
    404: "There is no such thing in this account.",
    409: "It contradicts what is stored.",
    422: "The body cannot be used; the message names the field.",
    429: "The quota is used up, or too many sign-ups from this address; Retry-After says when to ask again.",
    503: "A secret is not configured, or the store is out of reach.",
}


def _answers(*names: str) -> dict[str, Any]:
    refs = [{"$ref": f"#/components/schemas/{name}"} for name in names]
    return {"application/json": {"schema": refs[0] if len(refs) == 1 else {"oneOf": refs}}}


def _operation(
    id: str, summary: str, status: int, answers: tuple[str, ...], failures: tuple[int, ...], **more: Any
) -> dict[str, Any]:
    responses: dict[str, Any] = {str(status): {"description": summary, "content": _answers(*answers)}}
    responses |= {str(code): {"description": FAILURES[code], "content": _answers("Error")} for code in failures}
    return {"operationId": id, "summary": summary, "tags": ["keys"], "responses": responses, **more}


def _body(name: str, required: bool = True) -> dict[str, Any]:
    return {"required": required, "content": _answers(name)}


_NO_KEY_NEEDED: dict[str, Any] = {"security": [{}, {"key": []}, {"bearer": []}]}
_DEEP = {"name": "deep", "in": "query", "schema": {"enum": ["0", "1"]}, "description": "1 asks the store and the bucket, too."}

PATHS: dict[str, Any] = {
    "/v1/keys": {
        "post": _operation(
            "openKey",
            "Open an account, or with a key add an agent or a key to the account",
            201,
            ("NewKey",),
            (401, 403, 422, 429, 503),
            requestBody=_body("OpenKey"),
            **_NO_KEY_NEEDED,
        ),
        "get": _operation("listKeys", "List the account's keys", 200, ("Keys",), (401, 503)),
    },
    "/v1/keys/{key_id}": {
        "delete": _operation(
            "revokeKey",
            "Revoke a key",
            200,
            ("RevokedKey",),
            (401, 404, 503),
            parameters=[{"name": "key_id", "in": "path", "required": True, "schema": TEXT}],
        )
    },
    "/v1/usage": {"get": _operation("getUsage", "What the account has used this month", 200, ("Usage",), (401, 503))},
    "/v1/space-token": {
        "post": _operation(
            "makeSpaceToken",
            "Make a token for shared spaces, an invitation, or remove a member",
            200,
            ("SpaceToken", "Invitation", "Removal"),
            (401, 403, 404, 409, 422, 503),
            requestBody=_body("AskSpaceToken", required=False),
        )
    },
    "/health": {
        "get": {
            "operationId": "getHealth",
            "summary": "Whether the service answers",
            "tags": ["health"],
            "security": [{}],
            "parameters": [_DEEP],
            "responses": {
                "200": {"description": "It answers.", "content": _answers("ServiceHealth")},
                "503": {"description": "Store or bucket are out of reach.", "content": _answers("ServiceHealth")},
            },
        }
    },
}
