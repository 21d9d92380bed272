"""What the tests of accounts, quota and tokens share: a clock that stands still, a store in a file, callers."""

from __future__ import annotations

from pathlib import Path

from am_server.identity.accounts import Accounts
from am_server.identity.caller import Caller, Tier
from am_server.identity.tiers import BUILT_IN
from am_server.identity.tokens import SpaceTokens
from am_server.store.sqlite import SqliteStore
from am_server.times import SECOND, Clock, parse

PEPPER = "pepper for tests"
SECRET = "a secret for tests that is long enough"


class StoppedClock(Clock):
    """A clock that moves only when told to."""

    def __init__(self, at: str = "2026-03-15T12:00:00Z") -> None:
        super().__init__()
        self.time = parse(at)

    def now(self) -> int:
        return self.time

    def advance(self, seconds: float) -> None:
        self.time += int(seconds * SECOND)

    def go_to(self, at: str) -> None:
        self.time = parse(at)


def open_store(folder: Path) -> SqliteStore:
    return SqliteStore(folder / "store.sqlite")


def accounts_on(store: SqliteStore, clock: Clock) -> Accounts:
    """An instance's accounts; several on one store are several instances."""
    return Accounts(lambda: store, PEPPER, BUILT_IN, clock, SpaceTokens([SECRET], clock))


def hard_tier(monthly_ops: int) -> Tier:
    return Tier("small", monthly_ops, agents=3, spaces=0, a_star=False, hard_limit=True)


def soft_tier(monthly_ops: int | None) -> Tier:
    return Tier("open", monthly_ops, agents=None, spaces=None, a_star=True, hard_limit=False)


def caller_of(tier: Tier, account: str = "account") -> Caller:
    return Caller(account, "0" * 32, "agent", tier, "key")
