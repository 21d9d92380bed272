"""One really started service for every test of this folder."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from infra.serving import served


@pytest.fixture(scope="session")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where it keeps everything."""
    return tmp_path_factory.mktemp("served")


@pytest.fixture(scope="session")
def base_url(data_dir: Path) -> Iterator[str]:
    """Where it listens."""
    with served(data_dir) as url:
        yield url


@pytest.fixture(scope="session")
def new_key(base_url: str) -> Callable[..., str]:
    """new_key(tier) opens an account and returns its key."""

    def sign_up(tier: str = "builder") -> str:
        request = urllib.request.Request(f"{base_url}/v1/keys", json.dumps({"agent_id": "sdk", "tier": tier}).encode())
        request.add_header("Content-Type", "application/json")
        with urllib.request.urlopen(request) as answer:
            key: str = json.load(answer)["key"]
            return key

    return sign_up
