"""kill -9 in a mixed load: every acknowledged write is there afterwards, and no retry was counted twice."""

from __future__ import annotations

import random
import sqlite3
import threading
import time
from collections.abc import Callable
from pathlib import Path

from tests.crash.conftest import KILLS
from tests.crash.load import WRITERS, Ledger, Writer, verify
from tests.crash.service import Agent, Service

QUICK_KILLS = {"sqlite": 4, "firestore": 2}


def test_kills_in_a_mixed_load_lose_and_double_nothing(
    service: Callable[[], Service], store: dict[str, str], tmp_path: Path
) -> None:
    kills = KILLS or QUICK_KILLS[store.get("AM_STORE", "sqlite")]
    served = service().start().wait()
    agent, ledger, done = Agent([served.port]).sign_up(), Ledger(), threading.Event()
    writers = [Writer(number, agent.again(), ledger, done) for number in range(WRITERS)]
    for writer in writers:
        writer.start()
    for kill in range(kills):
        before, soon = ledger.calls, time.monotonic() + 20
        while ledger.calls < before + 20 and time.monotonic() < soon:
            time.sleep(0.02)
        time.sleep(random.uniform(0, 0.3))
        if kill % 2:
            served.kill_worker()
        else:
            served.kill()
            served.start()
    served.wait()
    done.set()
    for writer in writers:
        writer.join(90)
        assert writer.problem is None, writer.problem
    assert sum(writer.agent.retries for writer in writers) >= kills
    print(f"{kills} kills, {ledger.calls} acknowledged calls, {sum(w.agent.retries for w in writers)} repetitions")
    served.kill()
    served.start().wait()
    verify(agent.again(), ledger)
    if not store:
        file = tmp_path / "data" / "am-server.sqlite"
        assert sqlite3.connect(file).execute("PRAGMA integrity_check").fetchone() == ("ok",)
