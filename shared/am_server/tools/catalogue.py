"""All tools, in the order in which tools/list gives them."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from functools import cache

from am_server.tools.registry import TOOLS, Tool

MODULES = (
    "episodic",
    "consolidation",
    "entities",
    "graph",
    "graph_direct",
    "procedures",
    "working",
    "trails",
    "shared_spaces",
    "utility",
)


@cache
def load() -> Mapping[str, Tool]:
    """Name to tool. Imports no numpy and no cloud client: handlers load those when they run."""
    for module in MODULES:
        importlib.import_module(f"am_server.tools.{module}")
    return dict(TOOLS)
