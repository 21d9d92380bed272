"""Who belongs to which shared space, and in which role. The store decides; a token only says where one may knock.

    spaces/{s}                        name, owner_uid, owner_did, owner_account, created_at, member_count
    spaces/{s}/members/{agent_uid}    agent_id, account, role, joined_at: the truth about a member
    spaces/{s}/invitations/{id}       which agent redeemed an invitation
    agents/{a}/memberships/{s}        the same seen from the agent: what it was granted, and its role once it has joined

The two sides change in one commit. `member_count` is incremented in the commit that creates a member, so that any
number may join at once. Agents of the account that owns a space need no grant.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, cast

from am_server.errors import Conflict, Forbidden, NotFound
from am_server.identity.attempts import attempts
from am_server.identity.caller import Caller
from am_server.identity.tokens import Invitation
from am_server.store.metered import concurrently
from am_server.store.port import (
    Document,
    DocumentStore,
    Field,
    Increment,
    PreconditionFailed,
    Query,
    Where,
    Write,
    create,
    delete,
    merge,
    put,
    update,
)
from am_server.times import SECOND, to_datetime

Role = Literal["owner", "writer", "reader"]

RANK: Mapping[str, int] = {"reader": 1, "writer": 2, "owner": 3}

MAX_TOKEN_SPACES = 128
"""The most spaces that one token names, so that it fits into a header; the ones entered last win."""

NOT_OPEN = (
    "this token does not open that space; POST /v1/space-token gives one that names all your spaces, "
    "and a space of another account needs an invitation from its owner"
)
_NO_MEMBER = "you are no member of that space; join it with memory_join_shared_space first"
_BUSY = "the members of this space are changing at the same time; try again"
_SPACE_ID = re.compile(r"[0-9a-f]{32}", re.ASCII)
_DID = re.compile(r"did:fetch:([0-9a-f]{32})", re.ASCII)


@dataclass(frozen=True, slots=True)
class Membership:
    """A space as one of its members sees it. `created_at` in microseconds since 1970."""

    space_id: str
    name: str
    owner_did: str
    role: Role
    member_count: int
    created_at: int


def spaces_of_token(store: DocumentStore, caller: Caller) -> list[str]:
    """The spaces that a token of this agent names: those it is in, was invited to, or its account owns; newest first."""
    entered, owned = concurrently(
        lambda: store.query(Query(f"agents/{caller.agent_uid}/memberships", select=("granted_at",))),
        lambda: store.query(Query("spaces", [Where("owner_account", "==", caller.account)], select=("created_at",))),
    )
    since: dict[str, int] = {}
    for document, moment in [*((d, "created_at") for d in owned), *((d, "granted_at") for d in entered)]:
        since[document.id] = int(cast(int, document.data[moment]))
    return sorted(since, key=lambda space: (-since[space], space))[:MAX_TOKEN_SPACES]


def memberships(store: DocumentStore, agent_uid: str) -> list[Membership]:
    """The spaces that an agent has joined, in the order of joining."""
    joined = [d for d in store.query(Query(f"agents/{agent_uid}/memberships")) if "joined_at" in d.data]
    joined.sort(key=lambda d: (cast(int, d.data["joined_at"]), d.id))
    spaces = store.get_many([f"spaces/{d.id}" for d in joined]) if joined else []
    return [_seen(space, cast(Role, d.data["role"])) for d, space in zip(joined, spaces, strict=True) if space is not None]


def require_role(store: DocumentStore, agent_uid: str, space_id: str, least: Role) -> Document:
    """The member document of an agent that has at least this role. Raises Forbidden, alike for a space that is not there."""
    member = store.get(f"{_space(space_id)}/members/{agent_uid}")
    if member is None:
        raise Forbidden(_NO_MEMBER)
    role = str(member.data["role"])
    if RANK[role] < RANK[least]:
        raise Forbidden(f"your role in this space is '{role}' and this takes '{least}'; ask the space's owner for it")
    return member


# --- founding, inviting, joining


def founding(caller: Caller, account: Document, space_id: str, name: str, now: int) -> list[Write]:
    """The writes that found a space, good only while the account is as it was read. Raises Forbidden at the tier's limit."""
    owned, limit = int(cast(int, account.data.get("space_count", 0))), caller.tier.spaces
    if limit is not None and owned >= limit:
        raise Forbidden(
            f"tier '{caller.tier.name}' allows {limit} owned spaces and the account has them all; "
            "use one of them (memory_list_shared_spaces), or move the account to a higher tier"
        )
    space: dict[str, Field] = {
        "name": name,
        "owner_uid": caller.agent_uid,
        "owner_did": caller.did,
        "owner_account": caller.account,
        "created_at": now,
        "member_count": 1,
    }
    seen: dict[str, Field] = {"granted": "owner", "granted_at": now, "role": "owner", "joined_at": now}
    return [
        update(account.path, {"space_count": Increment(1)}, unchanged_since=account.updated_at),
        create(f"spaces/{space_id}", space),
        create(f"spaces/{space_id}/members/{caller.agent_uid}", _member(caller, "owner", now)),
        put(f"agents/{caller.agent_uid}/memberships/{space_id}", seen),
    ]


def redeem(store: DocumentStore, caller: Caller, invitation: Invitation, now: int) -> None:
    """Grant what an invitation promises. It is good for one agent, and while whoever wrote it owns the space.

    Redeeming again changes nothing. Raises Forbidden.
    """
    if invitation.agent is not None and invitation.agent not in (caller.agent_id, caller.did):
        raise Forbidden("this invitation is for another agent; ask the space's owner for one of your own")
    space, grant = _space(invitation.space_id), f"agents/{caller.agent_uid}/memberships/{invitation.space_id}"
    used = f"{space}/invitations/{invitation.id}"
    for _ in attempts(_BUSY):
        author, earlier, granted = store.get_many([f"{space}/members/{invitation.author}", used, grant])
        if author is None or author.data["role"] != "owner":
            raise Forbidden("this invitation is no longer good: who wrote it does not own the space any more; ask for a new one")
        if earlier is not None:
            if earlier.data["agent_uid"] == caller.agent_uid and granted is not None:
                return
            raise Forbidden("this invitation was redeemed before; ask the space's owner for a new one")
        note = create(used, {"agent_uid": caller.agent_uid, "expires_at": to_datetime(invitation.expires_at * SECOND)})
        try:
            store.commit([note, *_granting(grant, granted, invitation.role, now)])
            return
        except PreconditionFailed:
            continue


def _granting(path: str, granted: Document | None, role: str, now: int) -> list[Write]:
    if granted is None:
        return [create(path, {"granted": role, "granted_at": now})]
    if RANK[role] <= RANK[str(granted.data["granted"])]:
        return []
    return [update(path, {"granted": role}, unchanged_since=granted.updated_at)]


def join(store: DocumentStore, caller: Caller, space_id: str, wanted: Role | None, now: int) -> tuple[Role, int]:
    """Enter a space, or rise in it, up to the granted role. Returns the role and the number of members.

    Without a wanted role it is writer, or reader for whoever was invited as one. A member never loses rank by joining
    again. Raises Forbidden beyond the grant.
    """
    path, mine = _space(space_id), f"agents/{caller.agent_uid}/memberships/{space_id}"
    for _ in attempts(_BUSY):
        space, member, grant = store.get_many([path, f"{path}/members/{caller.agent_uid}", mine])
        if space is None:
            raise NotFound("that space no longer exists; memory_list_shared_spaces lists yours")
        granted = "owner" if space.data["owner_account"] == caller.account else str(grant.data["granted"]) if grant else ""
        if not granted:
            raise Forbidden(NOT_OPEN)
        role: Role = wanted or ("reader" if granted == "reader" else "writer")
        if RANK[role] > RANK[granted]:
            raise Forbidden(f"you are invited to this space as '{granted}'; join with that role, or ask its owner for '{role}'")
        if member is not None and RANK[str(member.data["role"])] >= RANK[role]:
            return cast(Role, member.data["role"]), int(cast(int, space.data["member_count"]))
        try:
            if member is not None:
                risen = [update(member.path, {"role": role}, unchanged_since=member.updated_at), update(mine, {"role": role})]
                store.commit(risen)
                return role, int(cast(int, space.data["member_count"]))
            entered: dict[str, Field] = {"granted": granted, "role": role, "joined_at": now}
            seen = update(mine, entered, grant.updated_at) if grant else create(mine, {**entered, "granted_at": now})
            count = update(path, {"member_count": Increment(1)})
            result = store.commit([create(f"{path}/members/{caller.agent_uid}", _member(caller, role, now)), seen, count])
            return role, int(result.increments[2] or 0)
        except PreconditionFailed:
            continue
    raise AssertionError("attempts() ends by raising")


# --- leaving


def remove(store: DocumentStore, owner: Caller, space_id: str, agent: str) -> tuple[str, int]:
    """Take a member, named by agent id or DID, and its grant away; returns its DID and how many members are left.

    Raises Forbidden for who is no owner, NotFound, and Conflict when the name fits several members or the founder.
    """
    require_role(store, owner.agent_uid, space_id, "owner")
    space = _space(space_id)
    agent_uid = _uid_of(store, space, agent)
    for _ in attempts(_BUSY):
        about, member, grant = store.get_many(
            [space, f"{space}/members/{agent_uid}", f"agents/{agent_uid}/memberships/{space_id}"]
        )
        if about is None or (member is None and grant is None):
            raise NotFound("no member of this space has that agent_id; 'stored_by' of an entity tells its writer's DID")
        if about.data["owner_uid"] == agent_uid:
            raise Conflict("the owner of a space cannot be removed from it")
        gone = [delete(document.path, document.updated_at) for document in (member, grant) if document is not None]
        try:
            if member is None:
                store.commit(gone)
                return f"did:fetch:{agent_uid}", int(cast(int, about.data["member_count"]))
            left = store.commit([*gone, update(space, {"member_count": Increment(-1)})]).increments[-1]
            return f"did:fetch:{agent_uid}", int(left or 0)
        except PreconditionFailed:
            continue
    raise AssertionError("attempts() ends by raising")


def _uid_of(store: DocumentStore, space: str, agent: str) -> str:
    did = _DID.fullmatch(agent)
    if did:
        return did[1]
    found = store.query(Query(f"{space}/members", [Where("agent_id", "==", agent)], limit=2))
    if not found:
        raise NotFound("no member of this space has that agent_id; name it by its DID if it was invited and has not joined")
    if len(found) > 1:
        raise Conflict("several members have that agent_id; name the one you mean by its DID, 'did:fetch:...'")
    return found[0].id


def erase_memberships(store: DocumentStore, agent_uid: str) -> int:
    """Take an agent out of every space; returns how many it was in or invited to.

    A space that it owned goes to the member of the highest role, the one who joined first among equals; when nobody is
    left, the space is deleted with all it holds.
    """
    mine = store.query(Query(f"agents/{agent_uid}/memberships"))
    for membership in mine:
        _leave(store, agent_uid, membership)
    return len(mine)


def _leave(store: DocumentStore, agent_uid: str, membership: Document) -> None:
    path = f"spaces/{membership.id}"
    for _ in attempts(_BUSY):
        space, member = store.get_many([path, f"{path}/members/{agent_uid}"])
        writes, ends = _leaving(store, agent_uid, space, member)
        try:
            if not ends:
                store.commit([*writes, delete(membership.path)])
                return
            if writes:
                store.commit(writes)
        except PreconditionFailed:
            continue
        if store.get(path) is None:
            store.delete_tree(path)
        # last, so that who is cut off before this finds what is left of the space when trying again
        store.commit([delete(membership.path)])
        return


def _leaving(store: DocumentStore, agent_uid: str, space: Document | None, member: Document | None) -> tuple[list[Write], bool]:
    """The writes that take a member out of a space, and whether the space is gone, or ends with them."""
    if space is None or member is None:
        return [], space is None
    gone = delete(member.path, member.updated_at)
    if space.data["owner_uid"] != agent_uid:
        return [gone, update(space.path, {"member_count": Increment(-1)})], False
    heirs = [m for m in store.query(Query(f"{space.path}/members")) if m.id != agent_uid]
    return [gone, *_bequeathed(space, heirs)], not heirs


def _bequeathed(space: Document, heirs: Sequence[Document]) -> list[Write]:
    """The writes that give a space to the first of its heirs, or delete it without one."""
    old = merge(f"accounts/{space.data['owner_account']!s}", {"space_count": Increment(-1)})
    if not heirs:
        return [delete(space.path, space.updated_at), old]
    heir = min(heirs, key=lambda m: (-RANK[str(m.data["role"])], cast(int, m.data["joined_at"]), m.id))
    owner = {"owner_uid": heir.id, "owner_did": f"did:fetch:{heir.id}", "owner_account": heir.data["account"]}
    writes = [
        update(space.path, {**owner, "member_count": Increment(-1)}, space.updated_at),
        update(heir.path, {"role": "owner"}, heir.updated_at),
        merge(f"agents/{heir.id}/memberships/{space.id}", {"granted": "owner", "role": "owner"}),
    ]
    if heir.data["account"] != space.data["owner_account"]:
        writes += [old, merge(f"accounts/{heir.data['account']!s}", {"space_count": Increment(1)})]
    return writes


def _member(caller: Caller, role: str, now: int) -> dict[str, Field]:
    return {"agent_id": caller.agent_id, "account": caller.account, "role": role, "joined_at": now}


def _seen(space: Document, role: Role) -> Membership:
    data = space.data
    return Membership(
        space.id,
        str(data["name"]),
        str(data["owner_did"]),
        role,
        int(cast(int, data["member_count"])),
        int(cast(int, data["created_at"])),
    )


def _space(space_id: str) -> str:
    """The path of a space. An id that cannot be one never becomes part of a path."""
    if not _SPACE_ID.fullmatch(space_id):
        raise Forbidden(_NO_MEMBER)
    return f"spaces/{space_id}"
