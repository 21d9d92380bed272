"""`make cost`: what calls cost at list prices, and what is left of the price they are sold at.

Everything here is arithmetic over two files: `prices.json` (list prices, with their date) and `operations.json` (what
each tool reads and writes, measured by `infra/operations.py`). `python -m infra.cost --write` renews docs/cost.md.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "cost.md"
BEGIN, END = "<!-- made by `make cost` -->", "<!-- end of what `make cost` made -->"

MILLION = 1_000_000
GIB = 1 << 30


@dataclass(frozen=True)
class Traffic:
    """What the service is asked, and how long it takes."""

    calls_per_second: float = 50.0
    """In the hours in which there is traffic; what is idle costs nothing."""
    cpu: float = 1.0
    memory_gib: float = 0.5
    cpu_seconds: float = 0.007
    """Processor time of a call, measured with functions-framework and a Firestore read on one core."""
    trip_seconds: float = 0.015
    """A round trip to a store in the same region; commits take 10 to 30 ms, reads 5 to 25."""
    utilisation: float = 0.6
    """Of the processor, at which the platform starts another instance."""
    answer_bytes: int = 4096
    log_bytes: int = 500
    memory_bytes: int = 2048
    """Stored for a memory, indexes included."""


DEFAULT = Traffic()
MIX: Mapping[str, float] = {
    "memory_store_episode": 0.35,
    "memory_search_episodes": 0.35,
    "memory_set_working": 0.05,
    "memory_get_working": 0.05,
    "memory_store_entity": 0.05,
    "memory_graph_add_triple": 0.05,
    "memory_traverse_graph": 0.05,
    "memory_get_entity": 0.05,
}
"""Tool → its share of the calls of an agent that stores about as often as it recalls."""


@dataclass(frozen=True)
class Operations:
    """What one call of a tool does to the store, on average."""

    reads: float
    writes: float
    deletes: float
    rpcs: float
    """Round trips one after another."""


class Prices:
    """List prices by name."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self.as_of: str = document["as_of"]
        self.region: str = document["region"]
        self.sold: Mapping[str, Mapping[str, float]] = document["sold"]
        self._prices = document["prices"]

    def of(self, name: str, amount: float) -> float:
        """What an amount costs, without regard to the free quota."""
        entry = self._prices[name]
        return float(entry["price"] / entry["per"] * amount)

    def monthly(self, name: str, amount: float) -> float:
        """What an amount used in a month costs beyond the free quota."""
        return self.of(name, max(0.0, amount - self._prices[name]["free"]))


def load_prices() -> Prices:
    """The prices of prices.json."""
    return Prices(json.loads((ROOT / "infra" / "prices.json").read_text()))


def load_operations() -> dict[str, Operations]:
    """The measurements of operations.json, by tool."""
    return {name: Operations(**row) for name, row in json.loads((ROOT / "infra" / "operations.json").read_text()).items()}


def billed_seconds(calls_per_second: float, seconds: float) -> float:
    """Instance time that a call of this length is billed for, on average, when calls overlap.

    An instance is billed from the first request until none is left, rounded up to 100 ms. With arrivals at random at
    rate r and calls of length s, such a busy period serves exp(rs) calls and lasts (exp(rs) - 1) / r on average: the
    busy period of the M/G/∞ queue (Takács, Introduction to the Theory of Queues, 1962). Rounding adds half a step.
    """
    load = calls_per_second * seconds
    period = math.expm1(load) / calls_per_second
    billed = max(0.1, period + 0.05)
    return billed / math.exp(load)


def call_seconds(traffic: Traffic, rpcs: float) -> float:
    """How long a call takes that makes so many round trips one after another."""
    return traffic.cpu_seconds + traffic.trip_seconds * rpcs


def mean_seconds(traffic: Traffic, measured: Mapping[str, Operations]) -> float:
    """How long a call of the mix takes."""
    return sum(share * call_seconds(traffic, measured[name].rpcs) for name, share in MIX.items())


def compute_cost(prices: Prices, traffic: Traffic, seconds: float, mean: float) -> float:
    """Of one call of `seconds` among calls of `mean` seconds: its share of what instances are billed, and the request.

    Calls that overlap share the bill in proportion to their length.
    """
    per_instance = min(traffic.calls_per_second, traffic.utilisation * traffic.cpu / traffic.cpu_seconds)
    billed = billed_seconds(per_instance, mean) * seconds / mean
    return prices.of("cpu", billed * traffic.cpu) + prices.of("memory", billed * traffic.memory_gib) + prices.of("requests", 1)


def store_cost(prices: Prices, operations: Operations) -> float:
    """Of one call: documents read, written and deleted."""
    amounts = {"reads": operations.reads, "writes": operations.writes, "deletes": operations.deletes}
    return sum(prices.of(name, amount) for name, amount in amounts.items())


def call_cost(prices: Prices, traffic: Traffic, measured: Mapping[str, Operations], tool: str) -> float:
    """Of one call of a tool, in one region, before egress, logs and the edge."""
    seconds = call_seconds(traffic, measured[tool].rpcs)
    return compute_cost(prices, traffic, seconds, mean_seconds(traffic, measured)) + store_cost(prices, measured[tool])


def blended(prices: Prices, traffic: Traffic, measured: Mapping[str, Operations]) -> float:
    """Of one call of the mix."""
    return sum(share * call_cost(prices, traffic, measured, name) for name, share in MIX.items())


def transfer_cost(prices: Prices, traffic: Traffic) -> float:
    """Of one call: the answer's way to the caller, and the line in the log, both beyond the free quota."""
    return prices.of("egress", traffic.answer_bytes / GIB) + prices.of("logs", traffic.log_bytes / GIB)


def gateway_month(prices: Prices, calls: float) -> float:
    """API Gateway for a month."""
    return prices.monthly("gateway", calls)


def balancer_month(prices: Prices, calls: float, traffic: Traffic = DEFAULT) -> float:
    """A load balancer for a month."""
    return prices.of("balancer", 1) + prices.of("balancer_traffic", calls * (traffic.answer_bytes + 1024) / GIB)


def break_even(prices: Prices) -> float:
    """Calls a month from which the load balancer is the cheaper edge, by bisection."""
    low, high = 0.0, 100.0 * MILLION
    while high - low > 1:
        middle = (low + high) / 2
        cheaper = balancer_month(prices, middle) < gateway_month(prices, middle)
        low, high = (low, middle) if cheaper else (middle, high)
    return high


def margin(prices: Prices, cost_per_call: float, plan: str) -> float:
    """What is left of the price of a plan whose every operation is used, as a fraction of the price."""
    sold = prices.sold[plan]
    return 1 - cost_per_call * sold["operations"] / sold["price"]


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table with numbers to the right."""
    rule = ["---", *["---:"] * (len(head) - 1)]
    return "\n".join("| " + " | ".join(row) + " |" for row in [head, rule, *rows])


def report() -> str:
    """The generated part of docs/cost.md."""
    prices, measured = load_prices(), load_operations()
    return "\n\n".join(
        (
            f"List prices of {prices.as_of}, {prices.region}, US dollars. Beyond the free quotas.",
            _per_tool(prices, measured),
            _by_traffic(prices, measured),
            _by_plan(prices, measured),
            f"The load balancer is the cheaper edge from {break_even(prices) / MILLION:.1f} million calls a month.",
        )
    )


def _dollars(per_call: float) -> str:
    return f"{per_call * MILLION:.2f}"


def _per_tool(prices: Prices, measured: Mapping[str, Operations]) -> str:
    rows = []
    for name, operations in sorted(measured.items()):
        together, store = call_cost(prices, DEFAULT, measured, name), store_cost(prices, operations)
        counts = [f"{count:.2f}" for count in (operations.reads, operations.writes, operations.deletes, operations.rpcs)]
        rows.append([f"`{name}`", *counts, _dollars(together - store), _dollars(store), _dollars(together)])
    head = ["tool", "reads", "writes", "deletes", "round trips", "compute, $ per million", "store", "together"]
    return f"### Each tool, at {DEFAULT.calls_per_second:.0f} calls a second\n\n" + table(head, rows)


def _by_traffic(prices: Prices, measured: Mapping[str, Operations]) -> str:
    rows = []
    for rate in (1, 10, 25, 50, 200):
        traffic = Traffic(calls_per_second=rate)
        costs = [call_cost(prices, traffic, measured, name) for name in ("memory_store_episode", "memory_search_episodes")]
        rows.append([str(rate), *map(_dollars, costs), _dollars(blended(prices, traffic, measured))])
    head = ["calls a second", "store an episode, $ per million", "search episodes", "mix"]
    return "### The same by traffic\n\n" + table(head, rows)


def _by_plan(prices: Prices, measured: Mapping[str, Operations]) -> str:
    bare = blended(prices, DEFAULT, measured)
    balanced = bare + transfer_cost(prices, DEFAULT) + prices.of("balancer_traffic", (DEFAULT.answer_bytes + 1024) / GIB)
    gated = bare + transfer_cost(prices, DEFAULT) + prices.of("gateway", 1)
    rows = []
    for plan, sold in prices.sold.items():
        per_million = sold["price"] / sold["operations"] * MILLION
        costs = [f"{margin(prices, cost, plan):.0%}" for cost in (bare, balanced, gated)]
        rows.append([plan, f"{sold['price']:,} for {sold['operations']:,}", f"{per_million:.2f}", *costs])
    head = ["plan", "price, $ for operations", "$ per million", "margin before egress and edge"]
    head += ["all in, load balancer", "all in, gateway beyond its free calls"]
    return "### Each plan, used up, with the mix\n\n" + table(head, rows)


def main() -> None:
    """Print the tables, or write them into docs/cost.md with `--write`."""
    made = report()
    if "--write" not in sys.argv:
        print(made)
        return
    before, _, rest = PAGE.read_text().partition(BEGIN)
    PAGE.write_text(f"{before}{BEGIN}\n\n{made}\n\n{END}{rest.partition(END)[2]}")


if __name__ == "__main__":
    main()
