"""The arithmetic of costs, and what the design promises about them."""

from __future__ import annotations

import math

import pytest

from infra import cost
from infra.cost import (
    BEGIN,
    DEFAULT,
    MILLION,
    MIX,
    PAGE,
    Operations,
    Traffic,
    balancer_month,
    billed_seconds,
    blended,
    break_even,
    call_cost,
    compute_cost,
    gateway_month,
    load_operations,
    load_prices,
    margin,
    store_cost,
    transfer_cost,
)

PRICES = load_prices()
MEASURED = load_operations()


def test_a_lonely_request_is_billed_100_ms():
    assert billed_seconds(0.001, 0.03) == pytest.approx(0.1, rel=1e-3)
    # one vCPU and half a GiB for 100 ms, and the request: $2.925 a million
    assert compute_cost(PRICES, Traffic(calls_per_second=0.001), 0.03, 0.03) * MILLION == pytest.approx(2.925, rel=1e-3)


def test_overlapping_requests_share_an_instance():
    # 20 calls a second of 100 ms: two in flight; a busy period serves e² calls in (e² - 1) / 20 seconds
    assert billed_seconds(20, 0.1) == pytest.approx(((math.exp(2) - 1) / 20 + 0.05) / math.exp(2))
    costs = [compute_cost(PRICES, Traffic(calls_per_second=rate), 0.03, 0.03) for rate in (1, 10, 25, 50)]
    assert costs == sorted(costs, reverse=True)


def test_more_traffic_than_an_instance_takes_starts_another():
    few, many = (compute_cost(PRICES, Traffic(calls_per_second=rate), 0.03, 0.03) for rate in (1_000, 100_000))
    assert few == many


def test_a_longer_call_bears_more_of_a_shared_bill():
    short, long = (compute_cost(PRICES, DEFAULT, seconds, 0.03) - PRICES.of("requests", 1) for seconds in (0.02, 0.04))
    assert long == pytest.approx(2 * short)


def test_documents_have_their_list_prices():
    assert store_cost(PRICES, Operations(reads=1, writes=0, deletes=0, rpcs=1)) * MILLION == pytest.approx(0.30)
    assert store_cost(PRICES, Operations(reads=0, writes=2, deletes=1, rpcs=1)) * MILLION == pytest.approx(1.90)


def test_free_quotas_come_off_a_month():
    assert gateway_month(PRICES, 2 * MILLION) == 0
    assert gateway_month(PRICES, 3 * MILLION) == pytest.approx(3.00)
    assert balancer_month(PRICES, 0) == pytest.approx(18.25)


def test_where_the_load_balancer_becomes_cheaper_than_the_gateway():
    calls = break_even(PRICES)
    assert 8.0 < calls / MILLION < 8.4
    assert gateway_month(PRICES, calls) == pytest.approx(balancer_month(PRICES, calls), rel=1e-5)


@pytest.mark.parametrize("tool", ["memory_store_episode", "memory_search_episodes"])
def test_a_store_and_a_search_cost_at_most_260_cents_a_million(tool):
    assert call_cost(PRICES, DEFAULT, MEASURED, tool) * MILLION <= 2.6


def test_every_tool_was_measured_and_the_mix_is_whole():
    from am_server.tools.catalogue import load

    assert set(MEASURED) == set(load())
    assert sum(MIX.values()) == pytest.approx(1)


def test_the_prices_leave_a_margin():
    bare = blended(PRICES, DEFAULT, MEASURED)
    assert PRICES.sold["builder"] == {"price": 19, "operations": 500_000}
    assert margin(PRICES, 19 / 500_000, "builder") == pytest.approx(0)
    assert margin(PRICES, bare, "builder") > 0.9
    assert margin(PRICES, bare, "pro") > 0.8
    assert margin(PRICES, bare + transfer_cost(PRICES, DEFAULT), "overage") > 0.3
    # the gateway's own price eats the margin of overage: beyond its free calls, use the load balancer
    assert margin(PRICES, bare + PRICES.of("gateway", 1), "overage") < 0.1


def test_the_page_shows_what_the_model_says():
    assert f"{BEGIN}\n\n{cost.report()}\n\n" in PAGE.read_text(), "docs/cost.md is out of date: run python -m infra.cost --write"
