"""Accounts, their agents and their keys, and who it is that presents a credential."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from uuid import uuid4

from am_server.errors import Forbidden, NotFound, Unauthorized
from am_server.identity.attempts import attempts
from am_server.identity.caller import Caller, SpaceGrant, Tier
from am_server.identity.keys import PREFIX, has_key_form, is_key_id, key_hash, new_key, new_key_id
from am_server.identity.recent import Recent
from am_server.identity.tokens import Claims, SpaceTokens, TokenRefused
from am_server.store.port import AlreadyExists, Changed, Document, DocumentStore, Increment, Query, Where, Write, create, update
from am_server.times import SECOND, Clock

CACHE_SECONDS = 60
"""How long an instance goes on trusting what it read about a key or an agent; so long may a revoked key live elsewhere."""

UNKNOWN_SECONDS = 10
"""How long an instance remembers that a key is unknown, so that guessing does not become reading."""

_NO_CREDENTIAL = (
    "no API key; send one as 'X-API-Key: am_...' or 'Authorization: Bearer am_...'; POST /v1/keys with an agent_id returns one"
)
_BAD_KEY = "the API key is unknown or revoked; check AM_API_KEY, or get a key from POST /v1/keys"


@dataclass(frozen=True, slots=True)
class NewKey:
    """A key just made: the only moment at which it can be read."""

    key: str
    key_id: str
    agent_id: str
    tier: Tier


@dataclass(frozen=True, slots=True)
class KeyInfo:
    """A key as its owner sees it later. Times are microseconds since 1970."""

    key_id: str
    agent_id: str
    last_four: str
    created_at: int
    revoked_at: int | None


@dataclass(frozen=True, slots=True)
class Counts:
    """How many agents an account has, and how many shared spaces it owns."""

    agents: int
    spaces: int


@dataclass(frozen=True, slots=True)
class _Nobody:
    """An unknown or revoked key."""


class Accounts:
    """Who may call. The store is asked for only once a credential has the form of one."""

    def __init__(
        self,
        store: Callable[[], DocumentStore],
        pepper: str,
        tiers: Mapping[str, Tier],
        clock: Clock,
        tokens: SpaceTokens,
    ) -> None:
        self._open_store = store
        self._pepper = pepper
        self._tiers = tiers
        self._clock = clock
        self._tokens = tokens
        self._recent: Recent[Caller | _Nobody] = Recent(20_000)

    @property
    def _store(self) -> DocumentStore:
        return self._open_store()

    # --- who calls

    def authenticate(self, api_key: str | None, bearer: str | None) -> Caller:
        """The agent behind an API key, a space token, or both.

        A bearer credential that begins like a key is taken for one. Beside a good key a bad token does not hurt: the
        caller carries its fault, which the shared-space tools report. Raises Unauthorized.
        """
        if bearer and bearer.startswith(PREFIX):
            api_key, bearer = api_key or bearer, None
        if not api_key:
            if not bearer:
                raise Unauthorized(_NO_CREDENTIAL)
            claims = self._tokens.verify(bearer)
            return replace(self._agent(claims.agent_uid), grant=SpaceGrant(claims.spaces))
        caller = self._key_owner(api_key)
        if not bearer:
            return caller
        try:
            return replace(caller, grant=SpaceGrant(self._own(bearer, caller).spaces))
        except TokenRefused as refusal:
            return replace(caller, token_fault=refusal.fault)

    def _own(self, bearer: str, caller: Caller) -> Claims:
        claims = self._tokens.verify(bearer)
        if claims.agent_uid != caller.agent_uid:
            raise TokenRefused("jwt_invalid_subject", "the token is another agent's; use it without this key")
        return claims

    def _key_owner(self, api_key: str) -> Caller:
        if not has_key_form(api_key):
            raise Unauthorized(_BAD_KEY)
        hashed = key_hash(api_key, self._pepper)
        found = self._remembered(hashed, lambda: self._read_key(hashed))
        if isinstance(found, _Nobody):
            raise Unauthorized(_BAD_KEY)
        return found

    def _agent(self, agent_uid: str) -> Caller:
        found = self._remembered(agent_uid, lambda: self._read_agent(agent_uid))
        if isinstance(found, _Nobody):
            raise TokenRefused("jwt_invalid_subject", "no agent has this DID; get a token from POST /v1/space-token")
        return found

    def _remembered(self, name: str, read: Callable[[], Caller | _Nobody]) -> Caller | _Nobody:
        now, mark = self._clock.now(), self._recent.mark()
        found = self._recent.get(name, now)
        if found is None:
            found = read()
            seconds = UNKNOWN_SECONDS if isinstance(found, _Nobody) else CACHE_SECONDS
            self._recent.keep(name, found, now + seconds * SECOND, mark)
        return found

    def _read_key(self, hashed: str) -> Caller | _Nobody:
        key = self._store.get(f"keys/{hashed}")
        if key is None or "revoked_at" in key.data:
            return _Nobody()
        data = key.data
        tier = self._tier_of(str(data["account"]))
        return Caller(str(data["account"]), str(data["agent_uid"]), str(data["agent_id"]), tier, str(data["key_id"]))

    def _read_agent(self, agent_uid: str) -> Caller | _Nobody:
        agent = self._store.get(f"agents/{agent_uid}")
        if agent is None or "account" not in agent.data:
            return _Nobody()
        account = str(agent.data["account"])
        return Caller(account, agent_uid, str(agent.data["agent_id"]), self._tier_of(account), None)

    def _tier_of(self, account: str) -> Tier:
        return self._tier(self._account(account))

    def _account(self, account: str) -> Document:
        found = self._store.get(f"accounts/{account}")
        if found is None:
            raise Unauthorized(_BAD_KEY)
        return found

    def _tier(self, account: Document) -> Tier:
        name = str(account.data["tier"])
        if name not in self._tiers:
            raise Forbidden(f"the tier '{name}' of this account is no longer offered; ask the operator to restore it in AM_TIERS")
        return self._tiers[name]

    # --- accounts, agents and keys

    def sign_up(self, agent_id: str, tier: Tier) -> NewKey:
        """A new account with one agent, and that agent's first key."""
        account, now = uuid4().hex, self._clock.now()
        new, key = self._new_key(account, agent_id, tier, now)
        self._store.commit([
            create(f"accounts/{account}", {"tier": tier.name, "created_at": now, "agent_count": 1}),
            _agent_document(account, agent_id, now),
            key,
        ])  # fmt: skip
        return new

    def add_key(self, caller: Caller, agent_id: str) -> NewKey:
        """A key for one of the account's agents, which is made when the account has none of that name.

        Raises Forbidden when the tier allows no further agent. Two calls at once never make an agent twice, nor one
        too many: the account's counter changes only from the value that was compared with the limit.
        """
        agent = f"agents/{agent_uid(caller.account, agent_id)}"
        for _ in attempts("many agents are being added to this account at the same time; try again"):
            account, known = self._store.get_many([f"accounts/{caller.account}", agent])
            if account is None:
                raise Unauthorized(_BAD_KEY)
            tier, now = self._tier(account), self._clock.now()
            new, key = self._new_key(caller.account, agent_id, tier, now)
            if known is not None:
                self._store.commit([key])
                return new
            if tier.agents is not None and int(account.data["agent_count"]) >= tier.agents:  # type: ignore[arg-type]
                raise Forbidden(
                    f"tier '{tier.name}' allows {tier.agents} agents and the account has them all; "
                    "use one of them, or move the account to a higher tier"
                )
            counted = update(account.path, {"agent_count": Increment(1)}, unchanged_since=account.updated_at)
            try:
                self._store.commit([counted, _agent_document(caller.account, agent_id, now), key])
                return new
            except (Changed, AlreadyExists):
                continue
        raise AssertionError("attempts() ends by raising")

    def keys(self, caller: Caller) -> list[KeyInfo]:
        """All keys of the account, the oldest first; revoked ones too."""
        found = self._store.query(Query("keys", [Where("account", "==", caller.account)]))
        keys = [_key_info(document) for document in found]
        return sorted(keys, key=lambda key: (key.created_at, key.key_id))

    def revoke(self, caller: Caller, key_id: str) -> KeyInfo:
        """Revoke one of the account's keys: at once on this instance, within CACHE_SECONDS on every other.

        Revoking again changes nothing. Raises NotFound for a key that is not the account's, known or not.
        """
        found = self._store.query(Query("keys", [Where("key_id", "==", key_id)], limit=1)) if is_key_id(key_id) else []
        for document in found:
            if document.data["account"] == caller.account:
                now = self._clock.now()
                if "revoked_at" not in document.data:
                    self._store.commit([update(document.path, {"revoked_at": now})])
                self._recent.forget(document.id)
                return _key_info(document, revoked_at=now)
        raise NotFound("this account has no key with that id; GET /v1/keys lists them")

    def counts(self, caller: Caller) -> Counts:
        """How much of its limits the account has used."""
        data = self._account(caller.account).data
        return Counts(int(data["agent_count"]), int(data.get("space_count", 0)))  # type: ignore[arg-type]

    def _new_key(self, account: str, agent_id: str, tier: Tier, now: int) -> tuple[NewKey, Write]:
        key, key_id = new_key(), new_key_id()
        write = create(
            f"keys/{key_hash(key, self._pepper)}",
            {
                "account": account,
                "agent_uid": agent_uid(account, agent_id),
                "agent_id": agent_id,
                "key_id": key_id,
                "last_four": key[-4:],
                "created_at": now,
            },
        )
        return NewKey(key, key_id, agent_id, tier), write


def agent_uid(account: str, agent_id: str) -> str:
    """The agent's place in the store: the same for the same name in the same account, whatever characters it holds."""
    return hashlib.sha256(f"{account}/{agent_id}".encode()).hexdigest()[:32]


def _agent_document(account: str, agent_id: str, now: int) -> Write:
    return create(f"agents/{agent_uid(account, agent_id)}", {"account": account, "agent_id": agent_id, "created_at": now})


def _key_info(document: Document, revoked_at: int | None = None) -> KeyInfo:
    data = document.data
    when = data.get("revoked_at", revoked_at)
    return KeyInfo(
        str(data["key_id"]),
        str(data["agent_id"]),
        str(data["last_four"]),
        int(data["created_at"]),  # type: ignore[arg-type]
        None if when is None else int(when),  # type: ignore[arg-type]
    )
