"""What the figures should be, and whether they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Results = Mapping[str, Any]
"""By part, what it measured."""


@dataclass(frozen=True, slots=True)
class Target:
    """A figure, by its place in the results, and its limit."""

    what: str
    place: Sequence[str]
    at_most: float | None = None
    at_least: float | None = None
    unit: str = "ms"
    note: str = ""
    """What there is to say when it is missed."""

    def measured(self, results: Results) -> float | None:
        """The figure; None when its part did not run or failed."""
        found: Any = results
        for name in self.place:
            if not isinstance(found, Mapping) or name not in found:
                return None
            found = found[name]
        return float(found)

    def gap(self, value: float) -> float:
        """By how much the limit is missed; 0 when it is met."""
        if self.at_most is not None:
            return max(0.0, value - self.at_most)
        return max(0.0, (self.at_least or 0.0) - value)

    @property
    def limit(self) -> str:
        return f"≤ {self.at_most:g} {self.unit}" if self.at_most is not None else f"≥ {self.at_least:g} {self.unit}"


def _episodes(size: int, *place: str) -> Sequence[str]:
    return ("episodes", str(size), *place)


TARGETS: Sequence[Target] = (
    Target("set_working over HTTP, p50", ("working", "latency", "set_working", "http_ms", "p50"), 3),
    Target("get_working over HTTP, p50", ("working", "latency", "get_working", "http_ms", "p50"), 3),
    Target("set_working inside the handler, p50", ("working", "latency", "set_working", "handler_ms", "p50"), 1),
    Target("get_working inside the handler, p50", ("working", "latency", "get_working", "handler_ms", "p50"), 1),
    Target("store over HTTP at 10,000 episodes, p50", _episodes(10_000, "warm", "store", "http_ms", "p50"), 3),
    Target("store over HTTP at 10,000 episodes, p99", _episodes(10_000, "warm", "store", "http_ms", "p99"), 15),
    Target("search over HTTP at 10,000 episodes, p50", _episodes(10_000, "warm", "search_hybrid", "http_ms", "p50"), 10),
    Target("search over HTTP at 100,000 episodes, p50", _episodes(100_000, "warm", "search_hybrid", "http_ms", "p50"), 30),
    Target("search in the handler at 1,000 episodes, p50", _episodes(1_000, "warm", "search_hybrid", "handler_ms", "p50"), 5),
    Target("search in the handler at 10,000 episodes, p50", _episodes(10_000, "warm", "search_hybrid", "handler_ms", "p50"), 8),
    Target(
        "search in the handler at 100,000 episodes, p50", _episodes(100_000, "warm", "search_hybrid", "handler_ms", "p50"), 25
    ),
    Target("first search of a fresh process at 10,000 episodes", _episodes(10_000, "cold", "search_ms"), 1_500),
    Target(
        "memory of the view at 100,000 episodes", _episodes(100_000, "memory", "view_bytes_per_episode"), 450, unit="bytes each"
    ),
    Target("A* at 50,000 edges, warm, p50", ("graph", "10000 nodes, 50000 edges", "warm", "a_star_pheromone", "p50"), 20),
    Target(
        "A* at 50,000 edges, times faster than networkx",
        ("graph", "10000 nodes, 50000 edges", "a_star_times_faster_than_networkx"),
        at_least=3,
        unit="times",
    ),
    *(
        Target(f"LoCoMo hybrid {measure}", ("recall-http", "LoCoMo, over HTTP", "hybrid", measure), at_least=least, unit="%")
        for measure, least in (("R@5", 71), ("R@10", 80), ("R@12", 81), ("R@20", 85), ("nDCG@10", 64))
    ),
    Target("LoCoMo lexical R@10", ("recall-http", "LoCoMo, over HTTP", "lexical", "R@10"), at_least=78, unit="%"),
    Target("LoCoMo text only R@10", ("recall-http", "LoCoMo, over HTTP", "hybrid, bare lines", "R@10"), at_least=67, unit="%"),
)


def ahead_of_peers(results: Results) -> list[tuple[str, str, str, bool]]:
    """For each peer measured: what is compared, ours and theirs, and whether ours is ahead."""
    peers = results.get("peers", {})
    ours = peers.get("am-server", {})
    rows = []
    for name, found in peers.items():
        if name.startswith("am-server") or "error" in found:
            continue
        for what, better in (("write_ms", min), ("search_ms", min)):
            if {"speed"} <= ours.keys() & found.keys() and what in ours["speed"] and what in found["speed"]:
                mine, theirs = ours["speed"][what]["p50"], found["speed"][what]["p50"]
                size = found["speed"]["size"]
                rows.append(
                    (
                        f"{what.partition('_')[0]} p50 beside {name} at {size:,}",
                        f"{mine} ms",
                        f"{theirs} ms",
                        better(mine, theirs) == mine,
                    )
                )
        if ours.get("recall@12") and isinstance(found.get("recall@12"), Mapping) and "percent" in found["recall@12"]:
            mine, theirs = ours["recall@12"]["percent"], found["recall@12"]["percent"]
            rows.append((f"LoCoMo R@12 beside {name}", f"{mine} %", f"{theirs} %", mine > theirs))
    return rows
