"""The `am-server` command: the service without the network, and memory in and out of files.

    am-server stdio                      MCP over standard input and output
    am-server export > memory.jsonl      everything the agent remembers, as JSON lines
    am-server import memory.jsonl        the same into this agent
    am-server import-reference FILE      the file of the MCP reference memory server

The agent is the one of AM_API_KEY, else the local one. The data is in AM_DATA_DIR (~/.am-server by default), or wherever
AM_STORE says.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

from am_server.errors import AmError, Unauthorized
from am_server.identity.caller import Caller
from am_server.local import local_defaults, local_key
from am_server.wiring import Services, services


def parser() -> argparse.ArgumentParser:
    """The command line."""
    top = argparse.ArgumentParser(prog="am-server", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    commands.add_parser("stdio", help="MCP over standard input and output")
    commands.add_parser("export", help="write the memory as JSON lines to standard output")
    for name, help in (("import", "read an export"), ("import-reference", "read a file of the MCP reference memory server")):
        commands.add_parser(name, help=help).add_argument("file", type=Path)
    return top


def main() -> None:
    """Do what the command line asks; an error is one line on standard error and exit status 1."""
    given = parser().parse_args()
    os.environ.setdefault("AM_DATA_DIR", str(Path.home() / ".am-server"))
    os.environ.update(local_defaults(os.environ))
    try:
        run(given, services())
    except (AmError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        raise SystemExit(1) from None


def run(given: argparse.Namespace, instance: Services) -> None:
    """One command."""
    if given.command == "stdio":
        from am_server import stdio

        stdio.main(instance)
        return
    caller = _caller(instance)
    if given.command == "export":
        from am_server.transfer import export

        for line in export(instance.store, caller.agent_uid):
            print(line)
        return
    with given.file.open(encoding="utf-8") as lines:
        if given.command == "import":
            from am_server.transfer import import_lines

            counts = import_lines(instance.store, caller.agent_uid, lines)
        else:
            from am_server.reference_memory import import_reference_memory
            from am_server.tools.call import Call

            counts = import_reference_memory(Call(caller, instance, instance.clock.now()), lines)
    print(json.dumps(counts))


def _caller(instance: Services) -> Caller:
    """Whose memory goes in or out. Raises Unauthorized."""
    try:
        return instance.accounts.authenticate(os.environ.get("AM_API_KEY") or local_key(instance), None)
    except Unauthorized:
        folder = instance.settings.data_dir
        raise Unauthorized(
            f"the key in AM_API_KEY is none of {folder}; name the folder of its service in AM_DATA_DIR, "
            "or unset AM_API_KEY to use that folder's local agent"
        ) from None
