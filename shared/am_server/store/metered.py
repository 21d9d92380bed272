"""Counting what a request costs: round trips, documents read, written and deleted, as Firestore would bill them.

A meter counts the calls made in its context, and costs nothing where none is active.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

from am_server.store.port import Changes, CommitResult, Document, DocumentStore, Query, Write

T = TypeVar("T")

_DELETE_PAGE = 500
_COUNTED_PER_READ = 1000


@dataclass(slots=True)
class Meter:
    """What was used so far."""

    rpcs: int = 0
    """Round trips one after another: those made side by side by `concurrently` count as the longest branch."""
    rpcs_total: int = 0
    reads: int = 0
    writes: int = 0
    deletes: int = 0
    store_seconds: float = 0.0
    """Time spent waiting for stores; side by side, the longest branch."""

    def add(self, since: float, rpcs: int = 1, reads: int = 0, writes: int = 0, deletes: int = 0) -> None:
        """Count a call that began at `since`, a reading of time.perf_counter()."""
        self.rpcs += rpcs
        self.rpcs_total += rpcs
        self.reads += reads
        self.writes += writes
        self.deletes += deletes
        self.store_seconds += time.perf_counter() - since

    def add_branches(self, branches: Sequence[Meter]) -> None:
        """Count what was done side by side, each branch on a meter of its own."""
        self.rpcs += max(branch.rpcs for branch in branches)
        self.store_seconds += max(branch.store_seconds for branch in branches)
        for branch in branches:
            self.rpcs_total += branch.rpcs_total
            self.reads += branch.reads
            self.writes += branch.writes
            self.deletes += branch.deletes


_active: ContextVar[Meter | None] = ContextVar("meter", default=None)


@contextmanager
def metering() -> Iterator[Meter]:
    """Count the calls of this block, as in `with metering() as meter:`. An outer meter does not see them."""
    meter = Meter()
    token = _active.set(meter)
    try:
        yield meter
    finally:
        _active.reset(token)


def active_meter() -> Meter | None:
    """The meter of this context."""
    return _active.get()


class MeteredStore:
    """A document store that counts, wrapped around one that does the work."""

    def __init__(self, inner: DocumentStore) -> None:
        self._inner = inner

    def get(self, path: str) -> Document | None:
        return self.get_many([path])[0]

    def get_many(self, paths: Sequence[str]) -> list[Document | None]:
        with counted() as cost:
            cost.reads = len(paths)
            return self._inner.get_many(paths)

    def query(self, query: Query) -> list[Document]:
        with counted() as cost:
            found = self._inner.query(query)
            cost.reads = max(1, len(found))
            return found

    def changes(self, collection: str, since: datetime | None, select: Sequence[str] | None = None) -> Changes:
        with counted() as cost:
            found = self._inner.changes(collection, since, select)
            cost.reads = max(1, len(found.documents))
            return found

    def count(self, query: Query) -> int:
        with counted() as cost:
            total = self._inner.count(query)
            cost.reads = max(1, -(-total // _COUNTED_PER_READ))
            return total

    def commit(self, writes: Sequence[Write]) -> CommitResult:
        with counted() as cost:
            result = self._inner.commit(writes)
            cost.deletes = sum(write.op == "delete" for write in writes)
            cost.writes = len(writes) - cost.deletes
            return result

    def delete_tree(self, path: str) -> int:
        """Counted as Firestore does it: pages of keys, each read and then deleted, and one empty page."""
        with counted() as cost:
            cost.deletes = cost.reads = self._inner.delete_tree(path)
            cost.rpcs = 1 + 2 * -(-cost.deletes // _DELETE_PAGE)
            return cost.deletes

    def close(self) -> None:
        self._inner.close()


class counted:
    """Count one call of a store, one round trip unless the block says otherwise, on the active meter if there is one."""

    __slots__ = ("_meter", "_since", "deletes", "reads", "rpcs", "writes")

    def __enter__(self) -> counted:
        self._meter = _active.get()
        self.rpcs, self.reads, self.writes, self.deletes = 1, 0, 0, 0
        self._since = time.perf_counter()
        return self

    def __exit__(self, *_error: object) -> None:
        if self._meter is not None:
            self._meter.add(self._since, self.rpcs, self.reads, self.writes, self.deletes)


_THREADS = 16
_pool: ThreadPoolExecutor | None = None
_in_branch: ContextVar[bool] = ContextVar("in_branch", default=False)


def _forget_pool() -> None:
    global _pool
    _pool = None


os.register_at_fork(after_in_child=_forget_pool)


def concurrently(*functions: Callable[[], T]) -> list[T]:
    """Call the functions side by side, each in a copy of this context, and return their results in order.

    All of them finish before the first error, in order, is raised. Within a branch, functions run one after another:
    a branch that waited for the pool it runs in could wait for ever.
    """
    global _pool
    if len(functions) < 2 or _in_branch.get():
        return [function() for function in functions]
    pool = _pool = _pool or ThreadPoolExecutor(_THREADS, thread_name_prefix="branch")
    branches = [Meter() for _ in functions]
    futures: list[Future[T]] = [
        pool.submit(copy_context().run, _branch, function, meter) for function, meter in zip(functions, branches, strict=True)
    ]
    wait(futures)
    meter = _active.get()
    if meter is not None:
        meter.add_branches(branches)
    return [future.result() for future in futures]


def _branch(function: Callable[[], T], meter: Meter) -> T:
    _in_branch.set(True)
    if _active.get() is not None:
        _active.set(meter)
    return function()
