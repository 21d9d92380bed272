"""Counters of this instance in Prometheus's text format, for each account its own."""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from threading import Lock

_ACCOUNTS = 1_000
"""Accounts that are counted at once; the longest idle one makes room."""


class Metrics:
    """What the accounts asked of the /api/v2 routes since this instance started. Safe under threads."""

    def __init__(self) -> None:
        self._accounts: OrderedDict[str, defaultdict[tuple[str, str, str], float]] = OrderedDict()
        self._lock = Lock()

    def count(self, account: str, path: str, status: int, seconds: float) -> None:
        """One answered request to the route declared as `path`."""
        with self._lock:
            counters = self._accounts.setdefault(account, defaultdict(float))
            self._accounts.move_to_end(account)
            counters["am_requests_total", path, str(status)] += 1
            counters["am_request_seconds_total", path, ""] += seconds
            if len(self._accounts) > _ACCOUNTS:
                self._accounts.popitem(last=False)

    def text(self, account: str) -> str:
        """The account's counters as Prometheus reads them."""
        with self._lock:
            counters = sorted(self._accounts.get(account, {}).items())
        lines = []
        for metric, explained in _METRICS:
            lines += [f"# HELP {metric} {explained}", f"# TYPE {metric} counter"]
            own = [(path, status, value) for (name, path, status), value in counters if name == metric]
            lines += [f"{metric}{{{_labels(path, status)}}} {round(value, 6):.12g}" for path, status, value in own]
        return "\n".join(lines) + "\n"


_METRICS = (
    ("am_requests_total", "Requests of this account that this instance answered."),
    ("am_request_seconds_total", "Seconds this instance spent on them."),
)


def _labels(path: str, status: str) -> str:
    return f'path="{path}"' + (f',status="{status}"' if status else "")
