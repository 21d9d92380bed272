"""The configurations in the documentation: each names a server that the official SDK can use as it is named."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.installed import environment, python_sdk
from tests.e2e.page_session import PRINTED_ADDRESS, PRINTED_KEY
from tests.e2e.pages import Block, blocks

SCRIPT = Path(__file__).parent / "clients" / "configured.py"

VARIABLE = {
    ".mcp.json": "${AM_API_KEY}",
    ".cursor/mcp.json": "${env:AM_API_KEY}",
    ".gemini/settings.json": "$AM_API_KEY",
    ".vscode/mcp.json": "${input:am_api_key}",
}
"""How each client writes the variable that holds the key."""

Server = dict[str, Any]


def configurations() -> list[Block]:
    return [block for page in ("README.md", "docs/clients.md") for block in blocks(page) if block.mark == "file"]


def server_of(block: Block, base_url: str, key: str) -> Server:
    """The server that a configuration names, with the address and the key that its reader has."""
    text = PRINTED_KEY.sub(key, block.text.replace(PRINTED_ADDRESS, base_url))
    if block.language == "toml":
        entry = tomllib.loads(text)["mcp_servers"]["memory"]
        assert set(entry) == {"url", "env_http_headers"}
        assert entry["env_http_headers"] == {"X-API-Key": "AM_API_KEY"}
        return {"url": entry["url"], "headers": {"X-API-Key": key}}
    whole = json.loads(text)
    entry = whole.get("mcpServers", whole.get("servers"))["memory"]
    if "command" in entry:
        return entry if entry["command"] != "npx" else through_mcp_remote(entry["args"], base_url)
    variable = VARIABLE[block.reason]
    assert entry["headers"] == {"X-API-Key": variable}
    if "input:" in variable:
        assert [asked["id"] for asked in whole["inputs"] if asked["password"]] == [
            variable.removeprefix("${input:").removesuffix("}")
        ]
    return {"url": entry.get("url") or entry["httpUrl"], "headers": {"X-API-Key": key}}


def through_mcp_remote(args: list[str], base_url: str) -> Server:
    """What mcp-remote asks for with these arguments; it is not installed here."""
    yes, package, url, flag, header = args
    assert (yes, package, flag) == ("-y", "mcp-remote", "--header")
    name, _, value = header.partition(":")
    return {"url": url.replace("https://am.example.com", base_url), "headers": {name: value}}


def started(server: Server, name: str, home: Path, data_dir: Path) -> Server:
    """A server that is started as a program, with the paths of this machine."""
    if "command" in server:
        assert server["command"] == "/path/to/am-server/.venv/bin/am-server"
        given = {key: value.replace("/path/to/am-server/.data", str(data_dir)) for key, value in server.get("env", {}).items()}
        server = {**server, "command": str(Path(sys.prefix) / "bin" / "am-server"), "env": {"HOME": str(home), **given}}
    return {**server, "name": name}


@pytest.fixture(scope="module")
def used(base_url, data_dir, new_key, tmp_path_factory):
    """Every server, used at once: how many tools each showed, what the service then held, what the program alone held."""
    home, key = tmp_path_factory.mktemp("home"), new_key()
    servers = [started(server_of(block, base_url, key), block.place, home, data_dir) for block in configurations()]
    done = subprocess.run(
        [python_sdk("2.3.0"), SCRIPT],
        input=json.dumps(servers),
        capture_output=True,
        text=True,
        timeout=60,
        env=environment(),
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2_000:]
    here = {"HOME": str(home)}
    held = [listed({**here, "AM_DATA_DIR": str(data_dir), "AM_API_KEY": key}), listed(here)]
    return json.loads(done.stdout), *held


def listed(variables: dict[str, str]) -> set[str]:
    """The keys of the working memory that `am-server export` writes with these variables."""
    command = [str(Path(sys.prefix) / "bin" / "am-server"), "export"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=variables, check=True)
    entries = [json.loads(line) for line in done.stdout.splitlines()]
    return {entry["fields"]["key"] for entry in entries if entry.get("collection") == "working"}


def test_every_client_has_a_configuration():
    assert {block.reason for block in configurations()} == {
        *VARIABLE,
        ".codex/config.toml",
        "claude_desktop_config.json",
        "claude_desktop_config.json, through mcp-remote",
    }


def test_each_server_shows_all_tools(used):
    shown, _, _ = used
    assert shown == {block.place: 35 for block in configurations()}


def test_the_one_without_folder_and_key_has_a_memory_of_its_own(used):
    shown, of_the_service, of_the_program = used
    assert len(of_the_program) == 1
    assert of_the_service == set(shown) - of_the_program
