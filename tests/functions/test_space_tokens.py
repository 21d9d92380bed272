"""Tokens for shared spaces, invitations and their redemption, and the removal of members, over HTTP."""

import os
from unittest.mock import patch

import jwt
import pytest
from am_server import wiring

from tests.functions.caller import Caller
from tests.functions.spaces import Member


@pytest.fixture
def member(agent):
    return lambda tier="builder": Member(agent(tier))


@pytest.fixture
def owner(member):
    return member("enterprise")


@pytest.fixture
def space(owner):
    return owner.create()


def sister_of(member, agent_id="sister"):
    key = member.mcp.send("POST", "/v1/keys", json={"agent_id": agent_id}).json["key"]
    return Member(Caller(member.mcp.app, key))


def claims(token):
    return jwt.decode(token, options={"verify_signature": False})


def error(answer, status):
    assert answer.status_code == status, answer.text
    assert "token" not in answer.json
    return answer.json["error"]


# --- the token


def test_what_a_token_comes_with(member):
    answer = member().ask()
    assert set(answer.json) == {"token", "token_type", "expires_at", "expires_in", "tier", "agent_id", "spaces", "usage"}
    assert (answer.json["token_type"], answer.json["expires_in"], answer.json["tier"]) == ("Bearer", 3600, "builder")
    assert (answer.json["agent_id"], answer.json["spaces"]) == ("agent", [])


@pytest.mark.parametrize(("body", "seconds"), [
    ({"expires_in": 60}, 60), ({"ttl_seconds": 86_400}, 86_400), ({"expires_in": None}, 3600),
])  # fmt: skip
def test_how_long_a_token_lives(member, body, seconds):
    answer = member().ask(**body)
    assert answer.json["expires_in"] == seconds
    read = claims(answer.json["token"])
    assert read["exp"] - read["iat"] == seconds


@pytest.mark.parametrize("value", [59, 86_401, 0, -1, "3600", 3600.0, True, [], 10**30])
@pytest.mark.parametrize("name", ["expires_in", "ttl_seconds"])
def test_how_long_a_token_may_not_live(member, name, value):
    assert name in error(member().ask(**{name: value}), 422)["message"]


def test_nobody_chooses_the_spaces_of_a_token(member, space):
    answer = member().ask(spaces=[space], space_ids=[space], sub="did:fetch:" + "0" * 32, tier="enterprise")
    assert answer.json["spaces"] == []
    assert claims(answer.json["token"])["tier"] == "builder"


def test_an_explorer_gets_none(member):
    refused = error(member("explorer").ask(), 403)
    assert refused["code"] == -32002
    assert "explorer" in refused["message"]


def test_without_a_secret_there_are_none(member, agent):
    asking = member()
    with patch.dict(os.environ, {"JWT_SECRET": ""}):
        wiring.services.cache_clear()
        refused = error(Member(asking.mcp).ask(), 503)
        assert (refused["code"], "JWT_SECRET is unset" in refused["message"]) == (-32007, True)
        assert error(Member(Caller(asking.mcp.app, "am_" + "x" * 43)).ask(), 401)
    wiring.services.cache_clear()


def test_a_token_begets_no_token(member):
    mine = member()
    mine.ask()
    by_token = Caller(mine.mcp.app).send("POST", "/v1/space-token", {"Authorization": f"Bearer {mine.token}"}, json={})
    error(by_token, 401)
    for method, path in (("GET", "/v1/keys"), ("POST", "/v1/keys"), ("GET", "/v1/usage"), ("DELETE", "/v1/keys/" + "0" * 24)):
        answer = Caller(mine.mcp.app).send(method, path, {"Authorization": f"Bearer {mine.token}"}, json={"agent_id": "a"})
        error(answer, 401)


@pytest.mark.parametrize("tool", ["memory_get_stats", "memory_list_working", "memory_delete_agent"])
def test_a_token_alone_opens_no_other_tool(member, tool):
    mine = member()
    mine.ask()
    assert mine.say(tool, confirm=True)["structuredContent"]["error"]["code"] == -32001


@pytest.mark.parametrize("body", [{"invite": 5}, {"invite": []}, {"invite": {}}, {"invite": {"space_id": 7}}, {"redeem": 5},
                                  {"redeem": ""}, {"redeem": "a.b.c"}, {"redeem": {}}, {"remove": {}}, {"remove": "x"},
                                  {"remove": {"space_id": "x"}}, {"redeem": "x", "invite": {}}], ids=str)  # fmt: skip
def test_a_body_that_makes_no_sense(member, body):
    assert error(member().ask(**body), 422)["code"] == -32004


# --- invitations


def test_an_invitation_tells_what_it_is_for(owner, space):
    answer = owner.ask(invite={"space_id": space, "role": "reader", "agent_id": "somebody"})
    assert set(answer.json) == {"invitation", "space_id", "role", "agent_id", "expires_at", "usage"}
    assert (answer.json["space_id"], answer.json["role"], answer.json["agent_id"]) == (space, "reader", "somebody")


@pytest.mark.parametrize("role", ["admin", "", 5, [], "OWNER"])
def test_an_invitation_is_for_one_of_three_roles(owner, space, role):
    assert "role" in error(owner.ask(invite={"space_id": space, "role": role}), 422)["message"]


@pytest.mark.parametrize("space_id", ["nope", "../accounts", "0" * 32, "a/b/c/d", "\x00", "x" * 300])
def test_nobody_invites_to_what_is_not_theirs(owner, space, space_id):
    assert owner.ask(invite={"space_id": space_id, "role": "reader"}).status_code in (403, 422)


def test_a_stranger_learns_nothing_from_inviting(member, space):
    stranger = member()
    real, made_up = (error(stranger.ask(invite={"space_id": s, "role": "reader"}), 403) for s in (space, "0" * 32))
    assert real == made_up


def test_an_invitation_admits_one_agent(owner, member, space):
    first, second = member(), member()
    invitation = owner.invite(space, "reader")
    assert first.ask(redeem=invitation).json["spaces"] == [space]
    assert first.ask(redeem=invitation).status_code == 200, "a retry changes nothing"
    assert "redeemed before" in error(second.ask(redeem=invitation), 403)["message"]
    assert second.ask().json["spaces"] == []


@pytest.mark.parametrize("named_by", ["agent_id", "did"])
def test_an_invitation_may_name_who_it_is_for(owner, member, space, named_by):
    invited, other = member(), Member(member().mcp)
    name = invited.did if named_by == "did" else "somebody else"
    invitation = owner.invite(space, "reader", agent_id=name)
    error(other.ask(redeem=invitation), 403)
    assert (invited.ask(redeem=invitation).status_code == 200) is (named_by == "did")


def test_a_later_invitation_may_raise_and_never_lowers(owner, member, space):
    guest = member()
    guest.enter(owner.invite(space, "reader"), space)
    assert guest.refused("memory_shared_store_entity", space_id=space, name="x")[0] == -32002
    guest.enter(owner.invite(space, "writer"), space, role="writer")
    guest.ok("memory_shared_store_entity", space_id=space, name="x")
    assert guest.enter(owner.invite(space, "reader"), space)["role"] == "writer"


def test_an_invitation_dies_with_the_ownership_of_its_author(owner, member, space):
    second = member()
    second.enter(owner.invite(space, "owner"), space, role="owner")
    invitation = second.invite(space, "writer")
    assert owner.ask(remove={"space_id": space, "agent_id": second.did}).status_code == 200
    assert "no longer" in error(member().ask(redeem=invitation), 403)["message"]


def test_what_is_no_invitation(owner, member, space):
    guest, invitation = member(), owner.invite(space)
    guest.ask()
    for text in (guest.token, owner.token, invitation[:-3] + "xyz", "x" + invitation, invitation + "x" * 20_000, "\ud800"):
        error(guest.ask(redeem=text), 422)
    assert guest.say("memory_list_shared_spaces")["structuredContent"]["spaces"] == []


# --- removal


def test_a_removed_member_is_out_at_once_and_its_next_token_says_so(owner, member, space):
    guest = member()
    guest.enter(owner.invite(space), space)
    guest.ask()
    answer = owner.ask(remove={"space_id": space, "agent_id": "agent"})
    assert answer.status_code == 409, "the owner's own agent has that name too"
    answer = owner.ask(remove={"space_id": space, "agent_id": guest.did})
    assert answer.json == {"removed": True, "space_id": space, "agent_did": guest.did, "members": 1}
    for tool, arguments in (("memory_shared_query", {}), ("memory_shared_store_entity", {"name": "x"}),
                            ("memory_join_shared_space", {})):  # fmt: skip
        result = guest.say(tool, space_id=space, **arguments)  # under the token from before
        assert result["structuredContent"]["error"]["code"] == -32002
    assert guest.ask().json["spaces"] == []
    assert guest.ok("memory_list_shared_spaces")["spaces"] == []


def test_an_old_invitation_does_not_bring_a_removed_member_back(owner, member, space):
    guest, invitation = member(), owner.invite(space)
    guest.enter(invitation, space)
    owner.ask(remove={"space_id": space, "agent_id": guest.did})
    error(guest.ask(redeem=invitation), 403)
    guest.enter(owner.invite(space), space)


def test_an_invited_agent_that_has_not_joined_can_be_removed(owner, member, space):
    guest = member()
    guest.ask(redeem=owner.invite(space))
    assert owner.ask(remove={"space_id": space, "agent_id": guest.did}).json["members"] == 1
    assert guest.ask().json["spaces"] == []


def test_a_member_is_removed_by_its_name(owner, member, space):
    guest = sister_of(member(), "guest")
    guest.enter(owner.invite(space), space)
    assert owner.ask(remove={"space_id": space, "agent_id": "guest"}).json["members"] == 1


def test_only_owners_remove_and_never_the_founder(owner, member, space):
    writer, second = member(), member()
    writer.enter(owner.invite(space), space)
    second.enter(owner.invite(space, "owner"), space, role="owner")
    for outsider in (writer, member()):
        error(outsider.ask(remove={"space_id": space, "agent_id": second.did}), 403)
    error(second.ask(remove={"space_id": space, "agent_id": owner.did}), 409)
    assert second.ask(remove={"space_id": space, "agent_id": writer.did}).json["members"] == 2


@pytest.mark.parametrize("name", ["nobody", "did:fetch:" + "0" * 32, "did:fetch:../../x", "../members"])
def test_removing_nobody(owner, space, name):
    error(owner.ask(remove={"space_id": space, "agent_id": name}), 404)
