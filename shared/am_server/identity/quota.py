"""How much of its month an account has used, counted without a round trip in the common case.

An instance *leases* a block of operations with one increment of the account's counter and spends it in memory. The
counter's new value, which the commit returns, says how much of the block was within the quota:

    granted = the part of (total - block, total] that lies at or below the limit

The counter is never below what all instances together were granted, so those intervals never overlap and nobody ever
exceeds a hard quota, whatever the block sizes. Blocks shrink towards the limit, down to one, so that little is out on
lease when it matters; unused leases are given back when an instance ends. What a killed instance held is lost to the
month: at most one block.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from threading import Lock

from am_server.errors import AmError, RateLimited
from am_server.identity.caller import Caller, Tier
from am_server.store.port import MAX_COMMIT_WRITES, DocumentStore, Increment, Write, merge
from am_server.times import SECOND, Clock, from_datetime, show, to_datetime

MAX_BLOCK = 500

_LOOK_AGAIN = 10 * SECOND

_ACCOUNTS = 10_000
"""Accounts whose leases an instance keeps at once; the longest unused one is given back for a newcomer."""


@dataclass(frozen=True, slots=True)
class RateLimit:
    """Where an account stands. `limit` and `remaining` are None for a tier without limit."""

    limit: int | None
    remaining: int | None
    reset: int
    """When the next month begins, in seconds since 1970."""


@dataclass(slots=True)
class _Lease:
    """One account's lease on this instance; used under its lock."""

    lock: Lock = field(default_factory=Lock)
    month: str = ""
    reset: int = 0
    total: int | None = None
    """The counter as last seen, in which `held` is included; None before the first look."""
    held: int = 0
    refuse_until: int = 0
    """Until this moment (microseconds) a used-up quota is not looked at again: refusals cost nothing."""
    dropped: bool = False
    """Given back to make room; whoever still has it in hand looks again."""


class Quota:
    """The operation counters of all accounts that this instance serves. Safe under threads."""

    def __init__(self, store: DocumentStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._leases: OrderedDict[str, _Lease] = OrderedDict()
        self._lock = Lock()

    def spend(self, caller: Caller) -> RateLimit:
        """Count one operation. Raises RateLimited when the account's hard quota is used up."""
        with self._leased(caller.account) as lease:
            if not lease.held:
                self._refill(lease, caller)
            if not lease.held:
                raise _refusal(caller.tier, lease, self._clock.now())
            lease.held -= 1
            return _standing(lease, caller.tier)

    def peek(self, caller: Caller) -> RateLimit:
        """Where the account stands as far as this instance knows; reads the counter only when it knows nothing yet."""
        with self._leased(caller.account) as lease:
            if lease.total is None:
                lease.total = self._read(caller.account, lease)
            return _standing(lease, caller.tier)

    def used(self, caller: Caller) -> int:
        """Operations this month, looked up afresh; what other instances hold on lease counts, what this one holds does not."""
        with self._leased(caller.account) as lease:
            lease.total = self._read(caller.account, lease)
            return lease.total - lease.held

    def give_back(self) -> None:
        """Return every unused lease, as when the instance is about to end. A store out of reach is no error then."""
        with self._lock:
            leases = list(self._leases.items())
        returns: list[Write] = []
        for account, lease in leases:
            with lease.lock:
                returns.extend(_returned(account, lease))
        for start in range(0, len(returns), MAX_COMMIT_WRITES):
            self._commit_or_lose(returns[start : start + MAX_COMMIT_WRITES])

    @contextmanager
    def _leased(self, account: str) -> Iterator[_Lease]:
        """The account's lease for the month that it is now, locked."""
        while True:
            with self._lock:
                lease = self._leases.setdefault(account, _Lease())
                self._leases.move_to_end(account)
                surplus = self._leases.popitem(last=False) if len(self._leases) > _ACCOUNTS else None
            if surplus:
                self._drop(*surplus)
            with lease.lock:
                if lease.dropped:
                    continue
                now = self._clock.now()
                if now >= lease.reset * SECOND:
                    self._commit_or_lose(_returned(account, lease))
                    lease.total = None
                    lease.month, lease.reset = month_of(now)
                yield lease
                return

    def _drop(self, account: str, lease: _Lease) -> None:
        with lease.lock:
            lease.dropped = True
            self._commit_or_lose(_returned(account, lease))

    def _commit_or_lose(self, returns: Sequence[Write]) -> None:
        if returns:
            try:
                self._store.commit(returns)
            except AmError:
                # an increment must not be repeated: it may have been applied; at most a block is lost to the month
                return

    def _refill(self, lease: _Lease, caller: Caller) -> None:
        """Lease a block; `held` stays 0 when the hard quota is used up."""
        limit = caller.tier.monthly_ops
        path = _path(caller.account, lease.month)
        if limit is None or not caller.tier.hard_limit:
            block = MAX_BLOCK if limit is None else block_size(limit)
            lease.total = self._add(path, block)
            lease.held = block
            return
        if lease.total is not None and lease.total >= limit:
            if self._clock.now() < lease.refuse_until:
                return
            lease.total = self._read(caller.account, lease)  # somebody may have given back
        # a second try, because a block that another instance is about to return may have hidden the last operations
        for block in (block_size(limit - (lease.total or 0)), 1):
            if lease.total is not None and lease.total >= limit:
                break
            lease.total = self._add(path, block)
            left = limit - (lease.total - block)
            lease.held = min(block, block_size(left)) if left > 0 else 0
            if lease.held < block:
                lease.total = self._add(path, lease.held - block)
            if lease.held:
                return
        lease.refuse_until = self._clock.now() + _LOOK_AGAIN

    def _add(self, path: str, operations: int) -> int:
        [total] = self._store.commit([merge(path, {"operations": Increment(operations)})]).increments
        return int(total or 0)

    def _read(self, account: str, lease: _Lease) -> int:
        document = self._store.get(_path(account, lease.month))
        return int(document.data["operations"]) if document else 0  # type: ignore[arg-type]


def block_size(remaining: int) -> int:
    """Operations to lease when this many are left: a fiftieth, at least 1 and at most 500."""
    return max(1, min(remaining // 50, MAX_BLOCK))


def month_of(micros: int) -> tuple[str, int]:
    """The month `YYYY-MM` in UTC that a moment falls into, and when the next one begins in seconds since 1970."""
    moment = to_datetime(micros)
    later = datetime(moment.year + moment.month // 12, moment.month % 12 + 1, 1, tzinfo=UTC)
    return f"{moment:%Y-%m}", from_datetime(later) // SECOND


def _path(account: str, month: str) -> str:
    return f"usage/{account}/months/{month}"


def _returned(account: str, lease: _Lease) -> list[Write]:
    """The write that gives a lease back; the lease is empty afterwards."""
    held, lease.held = lease.held, 0
    if not held:
        return []
    lease.total = (lease.total or 0) - held
    return [merge(_path(account, lease.month), {"operations": Increment(-held)})]


def _standing(lease: _Lease, tier: Tier) -> RateLimit:
    used = (lease.total or 0) - lease.held
    limit = tier.monthly_ops
    return RateLimit(limit, None if limit is None else max(0, limit - used), lease.reset)


def _refusal(tier: Tier, lease: _Lease, now: int) -> RateLimited:
    again = show(lease.reset * SECOND)
    return RateLimited(
        f"the {tier.monthly_ops} operations a month of tier '{tier.name}' are used up; retry after {again}, "
        "or move the account to a higher tier",
        retry_after=max(1, lease.reset - now // SECOND),
    )
