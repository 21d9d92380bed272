"""The two stores that crash tests run on, and how long they run.

`make test` runs them for seconds; `make crash` sets CRASH_KILLS and CRASH_SECONDS to run them for long.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.crash.service import Service

KILLS = int(os.environ.get("CRASH_KILLS", "0"))
SECONDS = float(os.environ.get("CRASH_SECONDS", "3"))


@pytest.fixture(params=["sqlite", "firestore"])
def store(request: pytest.FixtureRequest) -> dict[str, str]:
    """Settings that lead to an empty store."""
    if request.param == "sqlite":
        return {}
    environment = request.getfixturevalue("firestore_environment")
    return {"AM_STORE": "firestore", **environment, "GOOGLE_CLOUD_PROJECT": f"demo-{uuid.uuid4()}"}


@pytest.fixture
def service(tmp_path: Path, store: dict[str, str]) -> Iterator[Callable[[], Service]]:
    """service() is one more, not yet started, over the same store and folder."""
    made: list[Service] = []

    def make() -> Service:
        made.append(Service(tmp_path / "data", store))
        return made[-1]

    yield make
    for each in made:
        each.kill()
