"""Counting operations: exact to one, never beyond a hard limit, whoever counts and whenever."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from am_server.errors import RateLimited
from am_server.identity.quota import Quota, block_size, month_of
from am_server.store.port import StoreUnavailable
from am_server.times import SECOND, parse

from tests.unit.identity_tools import StoppedClock, caller_of, hard_tier, open_store, soft_tier

MARCH = "usage/account/months/2026-03"


@pytest.fixture
def clock():
    return StoppedClock()


@pytest.fixture
def store(tmp_path):
    return open_store(tmp_path)


def counted(store, path=MARCH):
    document = store.get(path)
    return document.data["operations"] if document else 0


def spend_all(quota, caller, most=10_000):
    """How many operations are granted before the first refusal."""
    for number in range(most):
        try:
            quota.spend(caller)
        except RateLimited:
            return number
    return most


@pytest.mark.parametrize(("remaining", "block"), [(-5, 1), (0, 1), (49, 1), (100, 2), (5_000, 100), (25_000, 500), (10**9, 500)])
def test_blocks_shrink_towards_the_limit(remaining, block):
    assert block_size(remaining) == block


@pytest.mark.parametrize(("at", "month", "reset"), [
    ("2026-03-15T12:00:00Z", "2026-03", "2026-04-01"),
    ("2026-12-31T23:59:59.999999Z", "2026-12", "2027-01-01"),
    ("2028-02-29T00:00:00Z", "2028-02", "2028-03-01"),
])  # fmt: skip
def test_months_are_utc_months(at, month, reset):
    assert month_of(parse(at)) == (month, parse(reset) // SECOND)


def test_remaining_falls_by_one_with_every_call(store, clock):
    quota, caller = Quota(store, clock), caller_of(hard_tier(50_000))
    assert quota.peek(caller).remaining == 50_000
    rates = [quota.spend(caller) for _ in range(1_200)]
    assert [rate.remaining for rate in rates] == list(range(49_999, 48_799, -1))
    assert (rates[0].limit, rates[0].reset) == (50_000, parse("2026-04-01") // SECOND)
    assert quota.used(caller) == 1_200


def test_counting_costs_one_write_for_hundreds_of_operations(store, clock):
    quota, caller, commits = Quota(store, clock), caller_of(hard_tier(50_000)), []
    commit = store.commit
    store.commit = lambda writes: (commits.append(writes), commit(writes))[1]
    for _ in range(1_000):
        quota.spend(caller)
    assert len(commits) <= 3


@pytest.mark.parametrize("limit", [0, 1, 7, 49, 100, 333])
def test_a_hard_limit_is_exact(store, clock, limit):
    quota, caller = Quota(store, clock), caller_of(hard_tier(limit))
    assert spend_all(quota, caller) == limit
    assert quota.peek(caller).remaining == 0
    assert counted(store) == limit
    with pytest.raises(RateLimited, match="2026-04-01") as refused:
        quota.spend(caller)
    assert refused.value.retry_after == (parse("2026-04-01") - clock.now()) // SECOND


def test_refusals_cost_nothing(store, clock):
    quota, caller = Quota(store, clock), caller_of(hard_tier(3))
    spend_all(quota, caller)
    store.get = store.commit = lambda *_: pytest.fail("a refusal asked the store")
    assert spend_all(quota, caller) == 0


def test_a_fresh_instance_near_the_limit_keeps_only_a_small_block(store, clock):
    caller = caller_of(hard_tier(25_000))
    assert spend_all(Quota(store, clock), caller, most=24_990) == 24_990
    before = counted(store)
    late = Quota(store, clock)
    late.spend(caller)
    assert counted(store) == before + 1, "a whole block beyond the limit was taken and not given back"


@pytest.mark.parametrize(("limit", "instances"), [(100, 2), (1_000, 4), (37, 8)])
def test_instances_together_never_exceed_the_limit(store, clock, limit, instances):
    caller = caller_of(hard_tier(limit))
    quotas = [Quota(store, clock) for _ in range(instances)]
    with ThreadPoolExecutor(instances * 2) as pool:
        granted = sum(pool.map(lambda quota: spend_all(quota, caller), quotas * 2))
    assert granted <= limit
    for quota in quotas:
        quota.give_back()
    assert counted(store) == granted
    clock.advance(11)  # a refusal is remembered for ten seconds
    assert granted + spend_all(quotas[0], caller) == limit, "what was given back can be used"


def test_threads_of_one_instance_share_a_lease(store, clock):
    quota, caller = Quota(store, clock), caller_of(hard_tier(500))
    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(lambda _: spend_all(quota, caller), range(8))) == 500


def test_accounts_do_not_share(store, clock):
    quota, tier = Quota(store, clock), hard_tier(2)
    assert spend_all(quota, caller_of(tier, "one")) == 2
    assert spend_all(quota, caller_of(tier, "two")) == 2


def test_overage_is_counted_and_not_refused(store, clock):
    quota, caller = Quota(store, clock), caller_of(soft_tier(100))
    rates = [quota.spend(caller) for _ in range(150)]
    assert (rates[98].remaining, rates[99].remaining, rates[149].remaining) == (1, 0, 0)
    assert quota.used(caller) == 150


def test_no_limit_at_all(store, clock):
    quota, caller = Quota(store, clock), caller_of(soft_tier(None))
    rate = quota.spend(caller)
    assert (rate.limit, rate.remaining) == (None, None)
    assert quota.used(caller) == 1


def test_unused_leases_are_given_back(store, clock):
    quota, caller = Quota(store, clock), caller_of(hard_tier(50_000))
    quota.spend(caller)
    assert counted(store) == 500
    quota.give_back()
    assert counted(store) == 1
    quota.give_back()
    assert counted(store) == 1
    assert quota.spend(caller).remaining == 49_998


def test_giving_back_to_a_store_out_of_reach_is_quiet(store, clock):
    quota = Quota(store, clock)
    quota.spend(caller_of(hard_tier(50_000)))

    def unreachable(writes):
        raise StoreUnavailable("out of reach")

    store.commit = unreachable
    quota.give_back()


def test_a_new_month_begins_at_nought(store, clock):
    quota, caller = Quota(store, clock), caller_of(hard_tier(100))
    assert spend_all(quota, caller) == 100
    clock.go_to("2026-04-01T00:00:00Z")
    rate = quota.spend(caller)
    assert (rate.remaining, rate.reset) == (99, parse("2026-05-01") // SECOND)
    assert counted(store, "usage/account/months/2026-04") == 2, "the lease of a fiftieth"


def test_what_is_left_of_a_lease_goes_back_to_its_month(store, clock):
    quota, caller = Quota(store, clock), caller_of(soft_tier(50_000))
    quota.spend(caller)
    clock.go_to("2026-04-01T00:00:00Z")
    quota.spend(caller)
    assert counted(store) == 1


def test_looking_costs_one_read_at_most(store, clock):
    quota, caller, reads = Quota(store, clock), caller_of(hard_tier(100)), []
    get = store.get
    store.get = lambda path: (reads.append(path), get(path))[1]
    for _ in range(5):
        quota.peek(caller)
    assert reads == [MARCH]


def test_use_counts_all_instances(store, clock):
    caller = caller_of(hard_tier(10))
    here, there = Quota(store, clock), Quota(store, clock)
    for quota in (here, there, there):
        quota.spend(caller)
    assert here.used(caller) == there.used(caller) == 3


def test_many_accounts_do_not_fill_the_memory(store, clock, monkeypatch):
    monkeypatch.setattr("am_server.identity.quota._ACCOUNTS", 3)
    quota, tier = Quota(store, clock), hard_tier(50_000)
    for number in range(10):
        quota.spend(caller_of(tier, f"account{number}"))
    assert counted(store, "usage/account0/months/2026-03") == 1, "the lease of an account that left was not given back"
    assert quota.spend(caller_of(tier, "account0")).remaining == 49_998
