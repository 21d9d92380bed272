"""The functions in this process, over SQLite in a temporary folder."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from unittest.mock import patch

import pytest
from am_server import wiring
from am_server.mcp import tools_list

from infra.gateway import WsgiApp, gateway
from tests.functions.caller import Caller
from tests.functions.sample_tools import sample_tools

TIERS = {
    "explorer": {"monthly_ops": 50_000, "agents": 3, "spaces": 0, "a_star": False, "hard_limit": True},
    "tiny": {"monthly_ops": 3, "agents": 1, "spaces": 0, "a_star": False, "hard_limit": True},
    "builder": {"monthly_ops": 500_000, "agents": 25, "spaces": 3, "a_star": True, "hard_limit": False},
    "enterprise": {"monthly_ops": None, "agents": None, "spaces": None, "a_star": True, "hard_limit": False},
}


@pytest.fixture(scope="session")
def app() -> WsgiApp:
    """All functions behind one base URL."""
    return gateway()


@pytest.fixture(scope="module")
def services(tmp_path_factory: pytest.TempPathFactory) -> Iterator[wiring.Services]:
    """What the functions work with, on an empty store of this module's own."""
    settings = {
        "AM_DATA_DIR": str(tmp_path_factory.mktemp("data")),
        "AM_KEY_PEPPER": "pepper for tests",
        "JWT_SECRET": "a secret for tests that is long enough",
        "AM_ADMIN_TOKEN": "admin token for tests",
        "AM_SIGNUP_TIERS": ",".join(TIERS),
        "AM_SIGNUP_PER_HOUR": "0",
        "AM_TIERS": json.dumps(TIERS),
    }
    with patch.dict(os.environ, settings):
        wiring.services.cache_clear()
        yield wiring.services()
        wiring.services.cache_clear()


@pytest.fixture(scope="module")
def agent(app: WsgiApp, services: wiring.Services) -> Callable[..., Caller]:
    """agent(tier) opens an account with one agent and returns a caller with its key."""

    def make(tier: str = "explorer") -> Caller:
        return Caller(app, services.accounts.sign_up("agent", services.tiers[tier]).key)

    return make


@pytest.fixture(scope="module")
def nobody(app: WsgiApp, services: wiring.Services) -> Caller:
    """A caller without a key."""
    return Caller(app)


@pytest.fixture
def sample_catalogue(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The tools of `sample_tools` instead of the service's own."""
    tools = sample_tools()
    monkeypatch.setattr("am_server.tools.catalogue.load", lambda: tools)
    tools_list.published.cache_clear()
    yield
    tools_list.published.cache_clear()


@pytest.fixture
def setting(services: wiring.Services, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str, str], None]]:
    """setting(name, value) restarts the functions with another setting until the test ends."""

    def change(name: str, value: str) -> None:
        monkeypatch.setenv(name, value)
        wiring.services.cache_clear()

    yield change
    wiring.services.cache_clear()
