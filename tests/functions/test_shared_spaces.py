"""The shared-space tools: founding, joining, storing and asking, and what becomes of a space whose owner is erased."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from am_server.identity.memberships import erase_memberships, memberships
from am_server.store.port import Query

from tests.functions.spaces import Member
from tests.functions.test_space_tokens import sister_of


@pytest.fixture
def member(agent):
    return lambda tier="builder": Member(agent(tier))


@pytest.fixture
def owner(member):
    return member("enterprise")


@pytest.fixture
def space(owner):
    return owner.create()


def uid(member):
    return member.did.rpartition(":")[2]


def at_once(*jobs):
    with ThreadPoolExecutor(len(jobs)) as pool:
        return [future.result() for future in [pool.submit(job) for job in jobs]]


def members_in(services, space):
    return services.store.query(Query(f"spaces/{space}/members"))


# --- founding


def test_a_tier_limits_the_spaces_that_its_account_owns(member):
    first = member()
    second = sister_of(first)
    for founder, name in ((first, "a"), (second, "b"), (first, "c")):
        founder.create(name)
    for founder in (first, second):
        code, message = founder.refused("memory_create_shared_space", name="d")
        assert (code, "3 owned spaces" in message) == (-32002, True)


def test_spaces_founded_at_once_stay_within_the_limit(member):
    founder = member()
    founder.ask()
    answers = at_once(*[lambda n=n: founder.say("memory_create_shared_space", name=f"space {n}") for n in range(6)])
    assert sum(not answer["isError"] for answer in answers) == 3
    assert founder.ok("memory_list_shared_spaces")["count"] == 3


def test_a_retried_founding_is_one_space_even_at_the_limit(member):
    founder = member()
    made = [founder.ok("memory_create_shared_space", name=name, idempotency_key=name) for name in ("a", "b", "c", "a")]
    assert made[3] == made[0]
    code, _ = founder.refused("memory_create_shared_space", name="other", idempotency_key="a")
    assert code == -32006
    assert founder.ok("memory_list_shared_spaces")["count"] == 3


def test_a_retry_that_overtakes_its_first_attempt_is_one_space(member):
    founder = member()
    founder.ask()
    once = {"name": "a", "idempotency_key": "once"}
    answers = at_once(*[lambda: founder.say("memory_create_shared_space", **once)["structuredContent"] for _ in range(4)])
    assert all(answer["space_id"] == answers[0]["space_id"] for answer in answers)
    assert founder.ok("memory_list_shared_spaces")["count"] == 1


@pytest.mark.parametrize("name", ["", "   ", "x" * 129, None, 5])
def test_a_space_has_a_name(member, name):
    assert member().refused("memory_create_shared_space", name=name)[0] == -32004


# --- joining


def test_joining_at_once_loses_nobody(services, owner, member, space):
    guests = [member() for _ in range(6)]
    for guest in guests:
        guest.ask(redeem=owner.invite(space))
    jobs = [lambda g=guest: g.say("memory_join_shared_space", space_id=space)["structuredContent"] for guest in guests]
    joined = at_once(*jobs)
    assert sorted(answer["members"] for answer in joined) == [2, 3, 4, 5, 6, 7]
    assert owner.ok("memory_list_shared_spaces")["spaces"][0]["member_count"] == 7 == len(members_in(services, space))


def test_one_agent_joining_at_once_is_one_member(services, owner, member, space):
    guest = member()
    guest.ask(redeem=owner.invite(space))
    joined = at_once(*[lambda: guest.say("memory_join_shared_space", space_id=space)["structuredContent"] for _ in range(5)])
    assert [answer["role"] for answer in joined] == ["writer"] * 5
    assert owner.ok("memory_list_shared_spaces")["spaces"][0]["member_count"] == 2 == len(members_in(services, space))


def test_the_owner_keeps_its_role_when_it_joins(owner, space):
    assert owner.ok("memory_join_shared_space", space_id=space)["role"] == "owner"
    assert owner.ok("memory_join_shared_space", space_id=space, role="reader")["role"] == "owner"


def test_without_a_role_one_joins_as_invited(owner, member, space):
    assert member().enter(owner.invite(space, "reader"), space)["role"] == "reader"
    assert member().enter(owner.invite(space, "owner"), space)["role"] == "writer"


def test_an_invited_agent_reads_nothing_before_it_joins(owner, member, space):
    guest = member()
    guest.ask(redeem=owner.invite(space, "owner"))
    for tool, arguments in (("memory_shared_query", {}), ("memory_shared_store_entity", {"name": "x"})):
        code, message = guest.refused(tool, space_id=space, **arguments)
        assert (code, "memory_join_shared_space" in message) == (-32002, True)


def test_membership_is_asked_of_the_store_and_not_of_the_token(services, owner, member, space):
    stranger = member()
    stranger.token = services.tokens.mint(stranger.did, "enterprise", [space]).token
    for tool, arguments in (("memory_join_shared_space", {"role": "owner"}), ("memory_shared_query", {}),
                            ("memory_shared_store_entity", {"name": "x"})):  # fmt: skip
        assert stranger.say(tool, space_id=space, **arguments)["structuredContent"]["error"]["code"] == -32002
    assert stranger.say("memory_list_shared_spaces")["structuredContent"]["spaces"] == []


@pytest.mark.parametrize("space_id", ["..", "a/b", "a/../b", "%2e%2e", "\u0000", "x" * 64, "spaces/x"])
def test_an_id_that_a_token_made_elsewhere_names_stays_out_of_paths(services, member, space_id):
    forger = member()
    forger.token = services.tokens.mint(forger.did, "builder", [space_id]).token
    for tool in ("memory_join_shared_space", "memory_shared_query"):
        assert forger.say(tool, space_id=space_id)["structuredContent"]["error"]["code"] in (-32002, -32004)


# --- storing and asking


def test_storing_again_replaces(owner, member, space):
    guest = member()
    guest.enter(owner.invite(space), space)
    first = owner.ok("memory_shared_store_entity", space_id=space, name="Helios", description="old")
    second = guest.ok("memory_shared_store_entity", space_id=space, name="Helios", entity_type="vendor", description="new")
    assert first["entity_id"] == second["entity_id"]
    [found] = owner.ok("memory_shared_query", space_id=space)["results"]
    assert found == {"id": first["entity_id"], "name": "Helios", "entity_type": "vendor", "description": "new"}


def test_what_is_stored_elsewhere_is_found_at_once(owner, member, space):
    guest = member()
    guest.enter(owner.invite(space), space)
    for number in range(5):
        owner.ok("memory_shared_store_entity", space_id=space, name=f"note {number}", description="about turbines")
        assert guest.ok("memory_shared_query", space_id=space, query="turbine")["count"] == number + 1


def test_a_query_without_words_lists_by_name(owner, space):
    for name in ("b", "A", "c"):
        owner.ok("memory_shared_store_entity", space_id=space, name=name)
    for query in ({}, {"query": ""}, {"query": "  "}):
        names = [found["name"] for found in owner.ok("memory_shared_query", space_id=space, **query)["results"]]
        assert names == ["A", "b", "c"]
    assert owner.ok("memory_shared_query", space_id=space, query="nothing of that")["results"] == []


@pytest.mark.parametrize(("field", "size"), [("name", 1_025), ("entity_type", 1_025), ("description", 65_537)])
def test_sizes(owner, space, field, size):
    code, message = owner.refused("memory_shared_store_entity", **{"space_id": space, "name": "n", field: "x" * size})
    assert (code, field in message) == (-32004, True)
    owner.ok("memory_shared_store_entity", **{"space_id": space, "name": "n", field: "x" * (size - 1)})


def test_an_old_token_opens_only_the_spaces_it_names(owner):
    owner.ask()
    old, space = owner.token, owner.say("memory_create_shared_space", name="new")["structuredContent"]["space_id"]
    owner.token = old
    assert "POST /v1/space-token" in owner.say("memory_shared_query", space_id=space)["content"][0]["text"]
    assert owner.ok("memory_shared_query", space_id=space)["results"] == []


# --- erasure


def test_an_erased_owner_leaves_its_space_to_the_first_writer(services, owner, member, space):
    reader, early, late = member(), member(), member()
    reader.enter(owner.invite(space, "reader"), space)
    early.enter(owner.invite(space), space)
    late.enter(owner.invite(space), space)
    owner.ok("memory_shared_store_entity", space_id=space, name="kept")

    assert erase_memberships(services.store, uid(owner)) == 1
    assert owner.ok("memory_list_shared_spaces")["spaces"] == []
    [mine] = early.ok("memory_list_shared_spaces")["spaces"]
    assert (mine["my_role"], mine["owner_did"], mine["member_count"]) == ("owner", early.did, 3)
    assert [found["name"] for found in early.ok("memory_shared_query", space_id=space)["results"]] == ["kept"]
    assert early.mcp.send("GET", "/v1/usage").json["owned_spaces"] == 1
    assert owner.mcp.send("GET", "/v1/usage").json["owned_spaces"] == 0
    early.invite(space)
    assert late.refused("memory_shared_query", space_id="0" * 32)[0] == -32002


def test_a_reader_inherits_when_there_is_no_writer(services, owner, member, space):
    reader = member()
    reader.enter(owner.invite(space, "reader"), space)
    erase_memberships(services.store, uid(owner))
    assert reader.ok("memory_list_shared_spaces")["spaces"][0]["my_role"] == "owner"


def test_a_space_without_heirs_is_deleted(services, owner, space):
    owner.ok("memory_shared_store_entity", space_id=space, name="gone")
    assert owner.mcp.send("GET", "/v1/usage").json["owned_spaces"] == 1
    assert erase_memberships(services.store, uid(owner)) == 1
    for path in (f"spaces/{space}/members", f"spaces/{space}/graph", f"spaces/{space}/invitations"):
        assert services.store.query(Query(path)) == []
    assert services.store.get(f"spaces/{space}") is None
    assert owner.mcp.send("GET", "/v1/usage").json["owned_spaces"] == 0
    assert erase_memberships(services.store, uid(owner)) == 0, "a second erasure is harmless"


def test_a_space_made_again_under_its_key_is_empty(services, owner):
    for _ in range(2):
        space = owner.ok("memory_create_shared_space", name="again", idempotency_key="once")["space_id"]
        assert owner.ok("memory_shared_query", space_id=space)["results"] == []
        owner.ok("memory_shared_store_entity", space_id=space, name="first life")
        assert owner.ok("memory_shared_query", space_id=space)["count"] == 1
        erase_memberships(services.store, uid(owner))


def test_the_erasing_tool_takes_the_agent_out_of_its_spaces(owner, member, space):
    guest = member()
    guest.enter(owner.invite(space), space)
    for _ in range(2):  # a second erasure is harmless
        result = owner.mcp.call("memory_delete_agent", confirm=True)
        assert result["isError"] is False
    assert owner.ok("memory_list_shared_spaces")["spaces"] == []
    assert guest.ok("memory_list_shared_spaces")["spaces"][0]["my_role"] == "owner"


def test_an_erased_guest_only_leaves(services, owner, member, space):
    guest = member()
    guest.enter(owner.invite(space), space)
    erase_memberships(services.store, uid(guest))
    assert owner.ok("memory_list_shared_spaces")["spaces"][0]["member_count"] == 1
    assert guest.ask().json["spaces"] == []


def test_members_that_leave_at_once_are_all_counted(services, owner, member, space):
    guests = [member() for _ in range(5)]
    for guest in guests:
        guest.enter(owner.invite(space), space)
    everybody = [*guests, owner]
    uids = [uid(one) for one in everybody]
    at_once(*[lambda u=u: erase_memberships(services.store, u) for u in uids])
    assert services.store.get(f"spaces/{space}") is None
    assert all(memberships(services.store, u) == [] for u in uids)
