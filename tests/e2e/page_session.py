"""A reader who follows a page: types its commands into one shell, and its Python into one interpreter.

What a reader would do by hand is done here: the address of the service and a key take the place of the ones printed.
The reader's home and checkout are temporary.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from infra.gateway import ROOT
from tests.e2e.pages import Block

PRINTED_ADDRESS = "http://127.0.0.1:8080"
PRINTED_KEY = re.compile(r"am_(?:\.\.\.|…)")
KEY = re.compile(r"am_[A-Za-z0-9_-]{43}")


def linked_checkout(folder: Path, data_dir: Path) -> Path:
    """A folder that looks like this checkout, with a service's data in it; what is written there stays there."""
    checkout = folder / "am-server"
    checkout.mkdir()
    for entry in ROOT.iterdir():
        if entry.name not in (".git", ".data", ".venv", ".cache", ".env"):
            (checkout / entry.name).symlink_to(entry)
    (checkout / ".venv").symlink_to(sys.prefix)
    (checkout / ".data").symlink_to(data_dir)
    return checkout


def cloned_checkout(folder: Path) -> Path:
    """What a clone of this checkout would hold, uncommitted files included; with this checkout's environment installed."""
    checkout = folder / "am-server"
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_file():
            (checkout / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, checkout / name)
    installed = checkout / ".venv"
    installed.mkdir()
    for entry in Path(sys.prefix).iterdir():
        if entry.name != ".installed":
            (installed / entry.name).symlink_to(entry)
    (installed / ".installed").touch()  # newer than pyproject.toml, so that make installs nothing
    return checkout


class Reader:
    """Somebody at a terminal in a checkout, with the project's environment active."""

    def __init__(self, folder: Path, checkout: Path, base_url: str, key: str, **variables: str) -> None:
        """`folder` is empty, for the reader's own files; `key` replaces a printed one until a command prints another."""
        self.base_url, self.key, self.checkout = base_url, key, checkout
        self._functions, self._variables = folder / "functions", folder / "variables"
        (folder / "home").mkdir()
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith("AM_") and not name.lower().endswith("_proxy")
        }
        self.environment = {
            **kept,
            "HOME": str(folder / "home"),
            "PATH": f"{Path(sys.prefix) / 'bin'}:{os.environ['PATH']}",
            "AM_BASE_URL": base_url,
            "PIP_DRY_RUN": "1",  # the environment is this checkout's own, and nothing on a page may change it
            **variables,
        }
        self.names: dict[str, Any] = {"__name__": "__main__"}
        self.printed = ""

    def typed(self, text: str) -> str:
        """What a page prints, with the reader's own address and key."""
        return PRINTED_KEY.sub(self.key, text.replace(PRINTED_ADDRESS, self.base_url))

    def follow(self, block: Block) -> None:
        """Do what a block says. Raises AssertionError when it does not do what the page says it does."""
        if block.language == "python":
            self._python(block)
        elif block.language == "bash":
            self._shell(block)
        elif block.mark == "the answer":
            expected, found = json.loads(block.text), last_value(self.printed)
            assert agrees(found, expected), f"{block.place} says {expected}, and the answer was {found}"

    def _shell(self, block: Block) -> None:
        functions, variables = shlex.quote(str(self._functions)), shlex.quote(str(self._variables))
        # keeps functions and exported variables, as a terminal would; the block itself stops at its first failing line
        before, after = (
            f"set -euo pipefail\n[ ! -e {functions} ] || . {functions}",
            f"declare -f > {functions}\nenv -0 > {variables}",
        )
        done = subprocess.run(
            ["bash", "-c", f"{before}\n{self.typed(block.text)}\n{after}\n"],
            cwd=self.checkout,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        self.printed = done.stdout
        said = done.stdout + done.stderr
        if block.mark == "fails":
            assert done.returncode != 0, f"{block.place} was to fail"
            assert block.reason in said, f"{block.place} failed in another way: {said[-2_000:]}"
            return
        assert done.returncode == 0, f"{block.place}: {said[-2_000:]}"
        kept = self._variables.read_text().split("\0")
        self.environment = dict(variable.split("=", 1) for variable in kept if variable)
        keys = KEY.findall(said) or KEY.findall(self.environment.get("AM_API_KEY", ""))
        self.key = keys[-1] if keys else self.key

    def _python(self, block: Block) -> None:
        out = io.StringIO()
        code = compile("\n" * block.line + self.typed(block.text), block.page, "exec")
        with _environment(self.environment), contextlib.chdir(self.checkout), contextlib.redirect_stdout(out):
            exec(code, self.names)
        self.printed = out.getvalue()


@contextlib.contextmanager
def _environment(variables: Mapping[str, str]) -> Iterator[None]:
    before = dict(os.environ)
    os.environ.clear()
    os.environ.update(variables)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def last_value(printed: str) -> Any:
    """The last of the JSON values that commands have printed one after another. Raises ValueError when there is none."""
    decoder, rest, value = json.JSONDecoder(), printed.strip(), None
    if not rest:
        raise ValueError("nothing was printed")
    while rest:
        value, end = decoder.raw_decode(rest)
        rest = rest[end:].lstrip()
    return value


def agrees(found: Any, expected: Any) -> bool:
    """Whether an answer is as a page prints it: all printed keys and items, with "..." for any text within a text."""
    if isinstance(expected, dict):
        return isinstance(found, dict) and all(name in found and agrees(found[name], value) for name, value in expected.items())
    if isinstance(expected, list):
        return isinstance(found, list) and len(found) == len(expected) and all(map(agrees, found, expected))
    if isinstance(expected, str):
        pattern = ".*".join(re.escape(part) for part in expected.split("..."))
        return isinstance(found, str) and re.fullmatch(pattern, found, re.DOTALL) is not None
    if isinstance(expected, float):
        return isinstance(found, int | float)
    return bool(found == expected)
