"""The official SDKs and the conformance suite, installed once into `.cache/`.

The Python SDK's two generations exclude each other, so each has an environment of its own.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from infra.gateway import ROOT

CACHE = ROOT / ".cache"

NODE_PACKAGES = {
    "@modelcontextprotocol/conformance": "0.2.0-alpha.12",
    "@modelcontextprotocol/sdk": "1.32.2",
    "@modelcontextprotocol/client": "2.4.0",
    "node": "22.23.3",  # the suite needs Node 22 or later
}


def python_sdk(version: str) -> Path:
    """The interpreter of an environment that holds this version of the Python SDK."""

    def install(folder: Path) -> None:
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        subprocess.run(
            [folder / "bin/python", "-m", "pip", "install", "-q", "--disable-pip-version-check", f"mcp=={version}"], check=True
        )

    return _once(CACHE / f"mcp-{version}", install) / "bin/python"


def node_modules() -> Path:
    """A folder with NODE_PACKAGES. Skips the test where npm is missing."""
    if not shutil.which("npm"):
        pytest.skip("npm is missing, so neither the conformance suite nor the TypeScript SDKs can run")

    def install(folder: Path) -> None:
        folder.mkdir(parents=True)
        (folder / "package.json").write_text(json.dumps({"private": True, "dependencies": NODE_PACKAGES}))
        subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--loglevel=error"], cwd=folder, check=True)

    return _once(CACHE / "mcp-node", install, json.dumps(NODE_PACKAGES)) / "node_modules"


def node(modules: Path) -> Path:
    """The Node that was installed with the packages."""
    return modules / ".bin/node"


def _once(folder: Path, install: Callable[[Path], None], wanted: str = "") -> Path:
    """The folder, installed completely; a stamp tells an interrupted or outdated installation from a whole one."""
    stamp = folder / ".installed"
    if not stamp.exists() or stamp.read_text() != wanted:
        shutil.rmtree(folder, ignore_errors=True)
        CACHE.mkdir(exist_ok=True)
        install(folder)
        stamp.write_text(wanted)
    return folder


def environment(**variables: str) -> dict[str, str]:
    """The variables of this process and a few more; without a proxy, which must not come between test and server."""
    kept = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    return {**kept, **variables}
