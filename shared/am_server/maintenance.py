"""Upkeep that nobody waits for: folds long tails, and deletes derived data that nothing refers to.

It may run twice, at once, or never: readers fold for themselves, leftovers only cost their storage, and documents past
their retention are deleted by the store itself (its time-to-live fields). What it saves is the first search after many
writes. It starts at a random agent, so that runs which do not get through reach everybody in time.
"""

from __future__ import annotations

import secrets
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from am_server.errors import AmError
from am_server.store.port import DocumentStore, Query, Where, delete
from am_server.views.log import FOLD_ROWS_COLD
from am_server.views.unreferenced import FIELDS, dead_blocks, live_objects

if TYPE_CHECKING:
    from am_server.wiring import Services

MINUTES = 25
"""How long a run may take; the platform ends it after 30."""

GRACE_SECONDS = 60.0
"""An object is stored before the list that names it. Within this time after an object was seen, the list is written."""

BLOCK_AGE = timedelta(hours=1)
"""Blocks are committed before the head that names them, by an instance that no request outlives for so long."""

_PAGE = 300
_DELETES = 400


@dataclass
class Run:
    """One run: what it may use, and what it did."""

    services: Services
    done: Counter[str] = field(default_factory=Counter)
    clock: Callable[[], float] = time.monotonic
    pause: Callable[[float], None] = time.sleep

    def __post_init__(self) -> None:
        self.started = self.clock()

    @property
    def out_of_time(self) -> bool:
        return self.clock() - self.started > MINUTES * 60


def maintain(run: Run) -> dict[str, int | bool]:
    """Do what there is to do, as far as time allows. Returns how much of each was done, and whether that was all.

    What fails for one agent is counted and left to the next run. Raises AmError when not even the agents can be listed.
    """
    objects = run.services.objects.list("agents/")
    for root in _roots(run.services.store):
        if run.out_of_time:
            break
        try:
            _fold(run, root)
            _delete_blocks(run, root)
            run.done["visited"] += 1
        except AmError:
            run.done["failed"] += 1
    if objects:
        _delete_objects(run, objects)
    return {**run.done, "finished": not run.out_of_time}


def _roots(store: DocumentStore) -> Iterator[str]:
    """The paths of all agents, projects and spaces, each with its memory below it; agents from a random one on."""
    start = secrets.token_hex(16)
    yield from (f"agents/{id}" for id in _ids(store, "agents", start))
    yield from (f"agents/{id}" for id in _ids(store, "agents", until=start))
    for account in _ids(store, "accounts"):
        for project in store.query(Query(f"accounts/{account}/projects", select=("agent_uid",))):
            yield f"agents/{project.data['agent_uid']!s}"
    yield from (f"spaces/{id}" for id in _ids(store, "spaces"))


def _ids(store: DocumentStore, collection: str, after: str = "", until: str | None = None) -> Iterator[str]:
    """Document ids after `after` and up to `until`, in order, without the documents."""
    last = after
    while True:
        position = (None, last) if last else None
        page = store.query(Query(collection, limit=_PAGE, after=position, select=()))
        for document in page:
            if until is not None and document.id > until:
                return
            yield document.id
        if len(page) < _PAGE:
            return
        last = page[-1].id


def _fold(run: Run, root: str) -> None:
    """Load the views whose tail is long; whoever loads one folds it."""
    store, views = run.services.store, run.services.views
    kind, _, uid = root.partition("/")
    loads: dict[str, Callable[[str], object]] = {"graph": views.space}
    if kind == "agents":
        loads = {"episodes": views.episodes, "graph": views.graph, "procedures": views.procedures}
    for collection, load in loads.items():
        head = store.get(f"{root}/snapshots/{collection}")
        covered = head.data.get("covered") if head else None
        since = covered if isinstance(covered, datetime) else datetime.fromtimestamp(0, UTC)
        tail = store.count(Query(f"{root}/{collection}", [Where("changed_at", ">", since)]))
        if tail >= FOLD_ROWS_COLD:
            load(uid)
            run.done["folded"] += 1


def _delete_blocks(run: Run, root: str) -> None:
    store = run.services.store
    dead = dead_blocks(store.query(Query(f"{root}/snapshots", select=FIELDS)), datetime.now(UTC) - BLOCK_AGE)
    for start in range(0, len(dead), _DELETES):
        store.commit([delete(document.path) for document in dead[start : start + _DELETES]])
    run.done["blocks"] += len(dead)


def _delete_objects(run: Run, names: Sequence[str]) -> None:
    """Delete those of the objects, listed when the run began, that no list names now."""
    run.pause(max(0.0, GRACE_SECONDS - (run.clock() - run.started)))
    by_root: dict[str, list[str]] = {}
    for name in names:
        by_root.setdefault("/".join(name.split("/")[:2]), []).append(name)
    for root, mine in by_root.items():
        if run.out_of_time:
            return
        try:
            live = live_objects(run.services.store.query(Query(f"{root}/snapshots", select=FIELDS)), root)
            for name in mine:
                if live is not None and name not in live:
                    run.services.objects.delete(name)
                    run.done["objects"] += 1
        except AmError:
            run.done["failed"] += 1
