"""Accounts, agents, keys, and who it is that presents a credential."""

import json
from concurrent.futures import ThreadPoolExecutor

import pytest
from am_server.errors import Forbidden, NotConfigured, NotFound, Unauthorized
from am_server.identity.accounts import agent_uid
from am_server.identity.keys import has_key_form, key_hash, new_key, same_secret
from am_server.identity.tiers import BUILT_IN, read_tiers
from am_server.identity.tokens import SpaceTokens, TokenRefused
from am_server.store.port import Query

from tests.unit.identity_tools import PEPPER, SECRET, StoppedClock, accounts_on, open_store

EXPLORER, BUILDER = BUILT_IN["explorer"], BUILT_IN["builder"]


@pytest.fixture
def clock():
    return StoppedClock()


@pytest.fixture
def store(tmp_path):
    return open_store(tmp_path)


@pytest.fixture
def accounts(store, clock):
    return accounts_on(store, clock)


def mint(caller, clock, secret=SECRET, spaces=()):
    return SpaceTokens([secret], clock).mint(caller.did, caller.tier.name, spaces).token


# --- keys


def test_a_key_has_256_random_bits():
    keys = {new_key() for _ in range(100)}
    assert len(keys) == 100
    assert all(has_key_form(key) and len(key) == 46 for key in keys)


@pytest.mark.parametrize("text", [
    "", "am_", "am_short", "am_" + "x" * 42, "am_" + "x" * 44, "am_" + "x" * 42 + "\n", "am_" + "é" * 43,
    "AM_" + "x" * 43, "Bearer am_" + "x" * 43,
])  # fmt: skip
def test_what_cannot_be_a_key(text):
    assert not has_key_form(text)


def test_the_hash_depends_on_the_pepper():
    key = new_key()
    assert key_hash(key, "one") != key_hash(key, "other")
    assert len(key_hash(key, "one")) == 64


def test_an_unset_secret_is_known_to_nobody():
    assert not same_secret("", "")
    assert not same_secret("x", "")
    assert not same_secret("x", "y")
    assert not same_secret("é", "e")
    assert same_secret("secret", "secret")


def test_the_store_never_sees_a_key(store, accounts):
    key = accounts.sign_up("agent", EXPLORER).key
    stored = repr([store.query(Query(collection)) for collection in ("accounts", "keys", "agents")])
    assert key not in stored
    assert key[3:] not in stored
    assert key[-5:] not in stored
    assert PEPPER not in stored


# --- who calls


def test_sign_up_and_come_back(accounts):
    new = accounts.sign_up("my agent", EXPLORER)
    caller = accounts.authenticate(new.key, None)
    assert (caller.agent_id, caller.tier, caller.key_id, caller.grant) == ("my agent", EXPLORER, new.key_id, None)
    assert caller.agent_uid == agent_uid(caller.account, "my agent")
    assert accounts.authenticate(None, new.key) == caller, "a key may come as a bearer credential"


@pytest.mark.parametrize(("api_key", "bearer"), [
    (None, None), ("", None), ("nonsense", None), ("am_" + "x" * 43, None), (None, "am_" + "x" * 43), (None, "a.b.c"),
    ("am_\ud800", None), ("am_" + "x" * 100_000, None),
])  # fmt: skip
def test_who_is_refused(accounts, api_key, bearer):
    with pytest.raises(Unauthorized) as refused:
        accounts.authenticate(api_key, bearer)
    for shown in (api_key, bearer):
        assert not shown or shown not in refused.value.message, "an error repeats the credential"


def test_a_bad_key_is_refused_beside_a_good_token(accounts, clock):
    caller = accounts.authenticate(accounts.sign_up("agent", BUILDER).key, None)
    with pytest.raises(Unauthorized, match="API key"):
        accounts.authenticate("am_" + "x" * 43, mint(caller, clock))


def test_a_malformed_credential_never_opens_the_store(clock):
    def no_store():
        pytest.fail("the store was opened")

    accounts = accounts_on(None, clock)
    accounts._open_store = no_store
    for api_key, bearer in ((None, None), ("nonsense", None), (None, "am_short"), (None, "a.b.c")):
        with pytest.raises(Unauthorized):
            accounts.authenticate(api_key, bearer)


def test_guessing_does_not_become_reading(store, accounts, clock):
    reads = []
    get = store.get
    store.get = lambda path: (reads.append(path), get(path))[1]
    for _ in range(20):
        with pytest.raises(Unauthorized):
            accounts.authenticate("am_" + "x" * 43, None)
    assert len(reads) == 1
    clock.advance(10)
    with pytest.raises(Unauthorized):
        accounts.authenticate("am_" + "x" * 43, None)
    assert len(reads) == 2


def test_a_known_key_costs_nothing_for_a_minute(store, accounts, clock):
    key = accounts.sign_up("agent", EXPLORER).key
    caller = accounts.authenticate(key, None)
    get, store.get = store.get, lambda path: pytest.fail("a known key was read again")
    clock.advance(59)
    assert accounts.authenticate(key, None) == caller
    reads = []
    store.get = lambda path: (reads.append(path), get(path))[1]
    clock.advance(1)
    assert accounts.authenticate(key, None) == caller
    assert reads


# --- tokens


def test_a_token_alone_is_its_agent(accounts, clock):
    key = accounts.sign_up("agent", BUILDER).key
    caller = accounts.authenticate(key, None)
    by_token = accounts.authenticate(None, mint(caller, clock, spaces=["s1"]))
    assert (by_token.account, by_token.agent_uid, by_token.agent_id, by_token.tier) == (
        caller.account, caller.agent_uid, "agent", BUILDER)  # fmt: skip
    assert (by_token.key_id, by_token.grant.spaces) == (None, ("s1",))
    assert by_token.did == caller.did


def test_the_tier_is_the_accounts_and_not_the_tokens(accounts, clock):
    caller = accounts.authenticate(accounts.sign_up("agent", EXPLORER).key, None)
    token = SpaceTokens([SECRET], clock).mint(caller.did, "enterprise", []).token
    assert accounts.authenticate(None, token).tier == EXPLORER


def test_key_and_token(accounts, clock):
    key = accounts.sign_up("agent", BUILDER).key
    caller = accounts.authenticate(key, None)
    both = accounts.authenticate(key, mint(caller, clock, spaces=["s1"]))
    assert (both.key_id, both.grant.spaces, both.token_fault) == (caller.key_id, ("s1",), None)


def test_a_bad_token_beside_a_good_key_is_reported_and_grants_nothing(accounts, clock):
    key = accounts.sign_up("agent", BUILDER).key
    caller = accounts.authenticate(key, None)
    forged = accounts.authenticate(key, mint(caller, clock, secret="another secret of sufficient length"))
    assert (forged.token_fault, forged.grant) == ("jwt_invalid_signature", None)
    other = accounts.authenticate(accounts.sign_up("agent", BUILDER).key, None)
    mixed = accounts.authenticate(key, mint(other, clock, spaces=["s1"]))
    assert (mixed.token_fault, mixed.grant, mixed.agent_uid) == ("jwt_invalid_subject", None, caller.agent_uid)


def test_a_token_for_nobody(accounts, clock):
    token = SpaceTokens([SECRET], clock).mint("did:fetch:" + "f" * 32, "pro", []).token
    with pytest.raises(TokenRefused, match="jwt_invalid_subject"):
        accounts.authenticate(None, token)


# --- agents of an account


def test_a_further_agent_and_a_further_key(accounts):
    first = accounts.authenticate(accounts.sign_up("one", EXPLORER).key, None)
    second = accounts.authenticate(accounts.add_key(first, "two").key, None)
    again = accounts.authenticate(accounts.add_key(first, "one").key, None)
    assert second.account == first.account
    assert second.agent_uid != first.agent_uid
    assert again.agent_uid == first.agent_uid
    assert again.key_id != first.key_id
    assert accounts.counts(first).agents == 2


def test_the_agents_of_two_accounts_never_meet(accounts):
    uids = {accounts.authenticate(accounts.sign_up("same", EXPLORER).key, None).agent_uid for _ in range(5)}
    assert len(uids) == 5


def test_the_tier_limits_agents_and_not_keys(accounts):
    caller = accounts.authenticate(accounts.sign_up("one", EXPLORER).key, None)
    for name in ("two", "three", "one", "two"):
        accounts.add_key(caller, name)
    with pytest.raises(Forbidden, match="3 agents"):
        accounts.add_key(caller, "four")
    accounts.add_key(caller, "three")
    assert len(accounts.keys(caller)) == 6


def test_agents_added_at_once_stay_within_the_limit(store, clock):
    instances = [accounts_on(store, clock) for _ in range(4)]
    caller = instances[0].authenticate(instances[0].sign_up("one", EXPLORER).key, None)

    def add(number):
        try:
            instances[number % 4].add_key(caller, f"agent {number}")
            return True
        except Forbidden:
            return False

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(add, range(8))) == 2
    assert instances[0].counts(caller).agents == 3
    assert len(store.query(Query("agents"))) == 3


def test_the_same_agent_added_at_once_is_one(store, clock):
    instances = [accounts_on(store, clock) for _ in range(4)]
    caller = instances[0].authenticate(instances[0].sign_up("one", EXPLORER).key, None)
    with ThreadPoolExecutor(4) as pool:
        keys = list(pool.map(lambda instance: instance.add_key(caller, "two").key, instances))
    assert len({instances[0].authenticate(key, None).agent_uid for key in keys}) == 1
    assert instances[0].counts(caller).agents == 2


# --- listing and revoking


def test_keys_are_listed_without_the_secret(accounts, clock):
    new = accounts.sign_up("one", EXPLORER)
    caller = accounts.authenticate(new.key, None)
    clock.advance(1)
    second = accounts.add_key(caller, "two")
    accounts.sign_up("stranger", EXPLORER)
    listed = accounts.keys(caller)
    assert [(key.key_id, key.agent_id, key.last_four) for key in listed] == [
        (new.key_id, "one", new.key[-4:]), (second.key_id, "two", second.key[-4:])]  # fmt: skip
    assert new.key[3:] not in repr(listed)


def test_a_revoked_key_dies_at_once_here_and_within_a_minute_elsewhere(store, clock):
    here, there = accounts_on(store, clock), accounts_on(store, clock)
    new = here.sign_up("agent", EXPLORER)
    caller = here.authenticate(new.key, None)
    there.authenticate(new.key, None)
    assert here.revoke(caller, new.key_id).revoked_at == clock.now()
    with pytest.raises(Unauthorized):
        here.authenticate(new.key, None)
    clock.advance(60)
    with pytest.raises(Unauthorized):
        there.authenticate(new.key, None)


def test_a_key_that_is_read_while_it_is_revoked_is_not_remembered(store, accounts):
    new = accounts.sign_up("agent", EXPLORER)
    caller = accounts_on(store, StoppedClock()).authenticate(new.key, None)
    get = store.get

    def revoked_meanwhile(path):
        found = get(path)
        if path.startswith("keys/"):
            accounts.revoke(caller, new.key_id)
        return found

    store.get = revoked_meanwhile
    accounts.authenticate(new.key, None)  # it was read before the revocation
    store.get = get
    with pytest.raises(Unauthorized):
        accounts.authenticate(new.key, None)


def test_revoking_twice_changes_nothing(accounts, clock):
    keep = accounts.authenticate(accounts.sign_up("agent", EXPLORER).key, None)
    clock.advance(1)
    lost = accounts.add_key(keep, "agent")
    first = accounts.revoke(keep, lost.key_id).revoked_at
    clock.advance(5)
    assert accounts.revoke(keep, lost.key_id).revoked_at == first
    assert [key.revoked_at for key in accounts.keys(keep)] == [None, first]


@pytest.mark.parametrize("key_id", ["nope", "", "../keys", "a/b", "%2e%2e", "\x00", "x" * 5_000])
def test_what_cannot_be_revoked(accounts, key_id):
    caller = accounts.authenticate(accounts.sign_up("agent", EXPLORER).key, None)
    with pytest.raises(NotFound):
        accounts.revoke(caller, key_id)


def test_another_accounts_key_is_not_found(accounts):
    mine = accounts.sign_up("agent", EXPLORER)
    stranger = accounts.authenticate(accounts.sign_up("agent", EXPLORER).key, None)
    with pytest.raises(NotFound) as theirs:
        accounts.revoke(stranger, mine.key_id)
    with pytest.raises(NotFound) as nobodys:
        accounts.revoke(stranger, "0" * 24)
    assert theirs.value.message == nobodys.value.message, "the answer tells that the key exists"
    accounts.authenticate(mine.key, None)


# --- tiers


def test_the_built_in_table():
    assert read_tiers("") is BUILT_IN
    limits = {name: (tier.monthly_ops, tier.agents, tier.spaces, tier.a_star, tier.hard_limit) for name, tier in BUILT_IN.items()}
    assert limits == {
        "explorer": (50_000, 3, 0, False, True),
        "builder": (500_000, 25, 3, True, False),
        "pro": (5_000_000, None, None, True, False),
        "enterprise": (None, None, None, True, False),
    }


TEAM = {"monthly_ops": 10, "agents": None, "spaces": 1, "a_star": True, "hard_limit": True}


def test_a_table_of_ones_own():
    [(name, tier)] = read_tiers(json.dumps({"team": TEAM})).items()
    assert (name, tier.name, tier.monthly_ops, tier.agents, tier.spaces, tier.hard_limit) == ("team", "team", 10, None, 1, True)


@pytest.mark.parametrize(("table", "says"), [
    ("{", "not JSON"), ("[" * 100_000, "not JSON"), ("[]", "map"), ("{}", "map"), ('{"team": 5}', "'team'"),
    (json.dumps({"team": {**TEAM, "ops": 5}}), "exactly the fields"),
    (json.dumps({"team": {"monthly_ops": 5}}), "exactly the fields"),
    (json.dumps({"team": {**TEAM, "monthly_ops": -1}}), "'monthly_ops' of tier 'team'"),
    (json.dumps({"team": {**TEAM, "agents": "3"}}), "'agents'"),
    (json.dumps({"team": {**TEAM, "spaces": True}}), "'spaces'"),
    (json.dumps({"team": {**TEAM, "a_star": 1}}), "'a_star'"),
])  # fmt: skip
def test_a_table_that_cannot_be_used_is_explained(table, says):
    with pytest.raises(NotConfigured, match=says):
        read_tiers(table)
