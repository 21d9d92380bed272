"""One really started service for every test of this folder."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Callable, Iterator

import pytest

from infra.serving import served


@pytest.fixture(scope="session")
def base_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where it listens."""
    with served(tmp_path_factory.mktemp("served")) as url:
        yield url


@pytest.fixture(scope="session")
def new_key(base_url: str) -> Callable[[], str]:
    """new_key() opens an account and returns its key."""

    def sign_up() -> str:
        request = urllib.request.Request(f"{base_url}/v1/keys", json.dumps({"agent_id": "sdk", "tier": "builder"}).encode())
        request.add_header("Content-Type", "application/json")
        with urllib.request.urlopen(request) as answer:
            key: str = json.load(answer)["key"]
            return key

    return sign_up
