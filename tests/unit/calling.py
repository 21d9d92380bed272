"""Calls of tools over an embedded store, as the MCP layer makes them: arguments parsed, costs counted."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from am_server.errors import AmError
from am_server.identity.caller import Caller, Tier
from am_server.store.metered import Meter, metering
from am_server.tools import arguments, catalogue
from am_server.tools.call import Call
from am_server.wiring import Services, Settings

TIER = Tier("pro", None, None, None, a_star=True, hard_limit=False)


@dataclass(frozen=True, slots=True)
class Agent:
    """An agent of an instance."""

    services: Services
    uid: str = "a"

    def call(self, tool: str, /, **given: Any) -> dict[str, Any]:
        """The tool's success payload; raises what the handler raises."""
        declared = catalogue.load()[tool]
        call = Call(Caller("account", self.uid, self.uid, TIER, "key"), self.services, self.services.clock.now())
        return dict(declared.handler(call, arguments.parse(declared, given)))

    def error(self, tool: str, /, **given: Any) -> AmError:
        """The error that a call ends in."""
        try:
            answer = self.call(tool, **given)
        except AmError as error:
            return error
        raise AssertionError(f"expected an error, got {answer}")

    def cost(self, tool: str, /, **given: Any) -> Meter:
        """What a call costs."""
        with metering() as meter:
            self.call(tool, **given)
        return meter


@contextmanager
def instance(folder: Path, **settings: str) -> Iterator[Services]:
    """An instance of the service, over a SQLite file in the folder unless the settings say otherwise."""
    services = Services(Settings.read({"AM_DATA_DIR": str(folder), "AM_EMBEDDER": "none", "AM_KEY_PEPPER": "pepper", **settings}))
    try:
        yield services
    finally:
        services.store.close()
