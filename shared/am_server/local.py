"""Running on one's own machine: open sign-up, and secrets that are made once and kept in the data folder."""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from am_server.wiring import Services

AGENT_ID = "local"
TIER = "pro"
"""Of the one local agent; with a tier table of one's own that has none of this name, the last one of it."""


def local_defaults(environment: Mapping[str, str]) -> dict[str, str]:
    """Values for the settings that a laptop needs and the environment does not give."""
    defaults = {
        "AM_SIGNUP_TIERS": "explorer,builder,pro",
        "AM_SIGNUP_PER_HOUR": "0",
        "AM_ANONYMOUS_REST": "1",
        **_kept(Path(environment.get("AM_DATA_DIR") or ".data") / "secrets.json", _new_secrets()),
    }
    return {name: value for name, value in defaults.items() if name not in environment}


def local_key(services: Services) -> str:
    """The key of the one agent that works without the network, made at first use and kept in the data folder."""
    file = services.settings.data_dir / "local-agent.json"
    if not file.exists():
        tiers = services.tiers
        new = services.accounts.sign_up(AGENT_ID, tiers[TIER if TIER in tiers else list(tiers)[-1]])
        return _kept(file, {"key": new.key})["key"]
    return _kept(file, {})["key"]


def _new_secrets() -> dict[str, str]:
    return {"JWT_SECRET": secrets.token_urlsafe(48), "AM_KEY_PEPPER": secrets.token_urlsafe(48)}


def _kept(file: Path, made: Mapping[str, str]) -> dict[str, str]:
    """What the file holds; `made` when it is new. Of several starters one wins, and nobody reads half a file."""
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        draft = file.with_suffix(f".{os.getpid()}")
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as out:
            json.dump(made, out)
        with suppress(FileExistsError):
            os.link(draft, file)
        draft.unlink()
    kept: dict[str, str] = json.loads(file.read_text())
    return kept
