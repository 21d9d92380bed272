"""The embedded store's disk is full or read-only: every tool says so, loses nothing, and goes on when it is mended."""

from __future__ import annotations

import os
import resource
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from am_server.tools.catalogue import load

from tests.faults.conftest import Service
from tests.faults.test_store import EVERY, outcome
from tests.faults.world import state

Start = Callable[..., Service]


@contextmanager
def full_disk(folder: Path) -> Iterator[None]:
    """No file of the store can grow."""
    largest = max(file.stat().st_size for file in folder.glob("am-server.sqlite*"))
    _, hard = before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (largest, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """Nothing in the folder can be written, whoever asks: root may write anything, so for a while be nobody."""
    places = [folder, *folder.rglob("*")]
    modes = {place: stat.S_IMODE(place.stat().st_mode) for place in places}
    for place in places:
        place.chmod(0o555 if place.is_dir() else 0o444)
    root = os.geteuid() == 0
    if root:
        os.seteuid(65_534)
    try:
        yield
    finally:
        if root:
            os.seteuid(0)
        for place, mode in modes.items():
            place.chmod(mode)


def grown(service: Service) -> None:
    """Fill the write-ahead log to the point where the next commit needs more room."""
    wal = service.folder / "am-server.sqlite-wal"
    largest = service.folder / "am-server.sqlite"
    while wal.stat().st_size < largest.stat().st_size:
        service.ok("memory_set_working", key="filler", content="x" * 60_000)


def test_a_full_disk_stops_writes_and_not_reads(start: Start) -> None:
    service = start().warm()
    grown(service)
    before = state(service.folder)
    with full_disk(service.folder):
        for tool, arguments in EVERY:
            result = service.call(tool, **arguments)
            if not outcome(result):
                assert "free disk space" in result["structuredContent"]["error"]["message"], tool
            elif not load()[tool].hints.read_only:
                assert tool in HARMLESS, tool
    assert state(service.folder) == before
    for tool, arguments in EVERY:
        service.ok(tool, **arguments)


HARMLESS = {"memory_search_episodes", "memory_join_shared_space", "memory_consolidate_episodes"}
"""Nothing needs to be written for these calls to be answered."""


def test_a_read_only_folder_stops_writes(start: Start) -> None:
    # pytest's own folders are closed to others, so the files lie elsewhere
    with tempfile.TemporaryDirectory() as place:
        Path(place).chmod(0o755)
        service = start()
        folder = Path(place) / "data"
        shutil.copytree(service.folder, folder)
        service = start(folder).warm()
        before = state(folder)
        service.store.close()
        with read_only(folder):
            for tool, arguments in EVERY:
                result = service.call(tool, **arguments)
                if not outcome(result):
                    assert "permissions" in result["structuredContent"]["error"]["message"], tool
        assert state(folder) == before
        for tool, arguments in EVERY:
            service.ok(tool, **arguments)
