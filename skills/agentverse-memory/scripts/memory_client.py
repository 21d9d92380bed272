#!/usr/bin/env python3
"""Agentverse Memory from the command line: one command for each tool. Needs Python 3.9 and `requests`.

    export AM_API_KEY="am_..."                      # from: memory_client.py create-key --agent-id my-agent
    memory_client.py store-episode --content "User prefers dark mode"
    memory_client.py query-episodes --query "dark mode"

AM_BASE_URL is the service (default http://127.0.0.1:8080). Answers are JSON on standard output; an error is one line on
standard error and exit status 1. `--agent-id` is accepted everywhere and only used by create-key: the key decides whose
memory it is.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from typing import Any, NamedTuple, NoReturn

import requests

DEFAULT_BASE_URL = "http://127.0.0.1:8080"
TIMEOUT_SECONDS = 60


class Failure(Exception):
    """What the user should read instead of an answer."""


class Flag(NamedTuple):
    """A command-line flag and the tool argument it fills."""

    name: str
    argument: str
    kind: str = "text"  # text, whole, number, json, list (comma-separated), on (true), off (false)
    required: bool = False
    help: str = ""


class Command(NamedTuple):
    """A command: the tool it calls and the flags it takes."""

    tool: str
    help: str
    flags: Sequence[Flag] = ()
    shared: bool = False


def _need(name: str, argument: str, kind: str = "text", help: str = "") -> Flag:
    return Flag(name, argument, kind, True, help)


LIMIT = Flag("limit", "limit", "whole", help="most results")
CURSOR = Flag("cursor", "cursor", help="next_cursor of the page before")
DIRECTION = Flag("direction", "direction", help="outgoing, incoming or both")
ONCE = Flag("idempotency-key", "idempotency_key", help="a retry with the same key changes nothing")

COMMANDS: dict[str, Command] = {
    "store-episode": Command("memory_store_episode", "remember an event or observation", [
        _need("content", "content"), Flag("metadata", "metadata", "json", help="JSON; session_id and speaker improve recall"),
        Flag("valid-at", "valid_at", help="RFC 3339"), Flag("chunk", "chunk", "on"), Flag("no-chunk", "chunk", "off"),
        Flag("chunk-threshold", "chunk_threshold", "whole"), Flag("chunk-size", "chunk_size", "whole"),
        Flag("chunk-overlap", "chunk_overlap", "whole"), ONCE]),
    "get-episodes": Command("memory_get_episodes", "the newest episodes", [LIMIT, CURSOR]),
    "query-episodes": Command("memory_search_episodes", "search episodes by meaning and words", [
        _need("query", "query"), LIMIT, Flag("no-hybrid", "use_hybrid", "off", help="words only"),
        Flag("use-pheromone", "use_pheromone", "on", help="favour and reinforce what is recalled often"),
        Flag("max-content-chars", "max_content_chars", "whole"), Flag("session-id", "session_id"), Flag("speaker", "speaker"),
        Flag("metadata", "metadata", "json", help="JSON; only episodes that have all of it"), Flag("start", "start_time"),
        Flag("end", "end_time"), Flag("explain", "explain", "on", help="add the rank in each leg")]),
    "search-timeline": Command("memory_search_timeline", "episodes of a time window", [
        _need("start", "start_time"), _need("end", "end_time"), LIMIT, CURSOR]),
    "consolidate-episodes": Command("memory_consolidate_episodes", "merge old related episodes", [
        Flag("before", "before_time"), ONCE]),
    "store-entity": Command("memory_store_entity", "store a named thing", [
        _need("name", "entity_id"), Flag("type", "type"), Flag("description", "description"), Flag("predicate", "predicate"),
        Flag("object", "object_value"), Flag("metadata", "metadata", "json"), ONCE]),
    "get-entity": Command("memory_get_entity", "read an entity", [_need("name", "entity_id")]),
    "list-entities": Command("memory_list_entities", "list entities", [
        LIMIT, CURSOR, Flag("type", "type"), Flag("prefix", "prefix")]),
    "store-relation": Command("memory_store_relation", "relate two entities", [
        _need("from", "from_id"), _need("to", "to_id"), _need("predicate", "predicate"),
        Flag("weight", "weight", "number"), ONCE]),
    "get-relations": Command("memory_get_relations", "relations of an entity", [_need("name", "entity_id"), LIMIT, CURSOR]),
    "query-graph": Command("memory_query_graph", "search the graph by keyword", [_need("query", "query"), LIMIT]),
    "semantic-search": Command("memory_semantic_search", "search entities", [_need("query", "query"), LIMIT]),
    "get-neighbors": Command("memory_get_neighbors", "entities around an entity", [
        _need("name", "entity_id"), Flag("hops", "hops", "whole"), DIRECTION, LIMIT]),
    "find-path": Command("memory_find_path", "cheapest path by A* (builder tier and up)", [
        _need("start", "from_id"), _need("end", "to_id"), Flag("max-hops", "max_hops", "whole"), Flag("strategy", "strategy")]),
    "traverse-graph": Command("memory_traverse_graph", "walk the graph from a node", [
        _need("start", "start_id"), Flag("algorithm", "algorithm", help="bfs or dfs"), Flag("max-depth", "max_depth", "whole"),
        DIRECTION, LIMIT]),
    "store-fact": Command("memory_graph_add_triple", "add a (subject, predicate, object) fact", [
        _need("subject", "subject"), _need("predicate", "predicate"), _need("object", "object"), ONCE]),
    "graph-neighbors": Command("memory_graph_neighbors", "facts around a node", [
        _need("node", "node"), Flag("depth", "depth", "whole"), DIRECTION, LIMIT]),
    "shortest-path": Command("memory_graph_shortest_path", "fewest hops between two nodes", [
        _need("start", "from"), _need("end", "to"), Flag("undirected", "undirected", "on")]),
    "store-procedure": Command("memory_store_procedure", "store how something is done", [
        _need("name", "name"), Flag("description", "description"), Flag("steps", "steps", "json", help="JSON list"),
        Flag("tags", "tags", "list"), Flag("preconditions", "preconditions", "list"), ONCE]),
    "get-procedure": Command("memory_get_procedure", "read a procedure", [Flag("id", "procedure_id"), Flag("name", "name")]),
    "match-procedure": Command("memory_match_procedure", "procedures for a task", [_need("task", "task"), LIMIT]),
    "update-procedure": Command("memory_update_procedure", "new steps, or how a run went", [
        Flag("id", "procedure_id"), Flag("name", "name"), Flag("steps", "steps", "json", help="JSON list"),
        Flag("outcome", "outcome", help="success or failure"), Flag("reason", "reason"), ONCE]),
    "set-working": Command("memory_set_working", "keep a value for the task at hand", [
        _need("key", "key"), _need("value", "content"), Flag("ttl", "ttl_seconds", "whole", help="seconds"),
        Flag("session-id", "session_id"), ONCE]),
    "get-working": Command("memory_get_working", "read a working-memory value", [
        _need("key", "key"), Flag("session-id", "session_id")]),
    "list-working": Command("memory_list_working", "all working-memory values", [
        Flag("prefix", "prefix"), Flag("session-id", "session_id"), LIMIT, CURSOR]),
    "clear-working": Command("memory_clear_working", "delete one value, or all", [
        Flag("key", "key"), Flag("prefix", "prefix"), Flag("session-id", "session_id")]),
    "deposit-pheromone": Command("memory_deposit_pheromone", "reinforce an episode or entity", [
        _need("node", "node_id"), Flag("strength", "strength", "number"), ONCE]),
    "get-pheromone": Command("memory_get_pheromone", "the trail weight of a node", [_need("node", "node_id")]),
    "create-space": Command("memory_create_shared_space", "create a shared space", [_need("name", "name"), ONCE], True),
    "join-space": Command("memory_join_shared_space", "join a shared space", [
        _need("space-id", "space_id"), Flag("role", "role"), ONCE], True),
    "shared-store": Command("memory_shared_store_entity", "store an entity in a space", [
        _need("space-id", "space_id"), _need("name", "name"), Flag("type", "entity_type"),
        Flag("description", "description"), ONCE], True),
    "shared-query": Command("memory_shared_query", "search a space", [
        _need("space-id", "space_id"), Flag("query", "query"), LIMIT], True),
    "list-spaces": Command("memory_list_shared_spaces", "spaces this agent belongs to", [], True),
    "stats": Command("memory_get_stats", "what is stored and used"),
    "delete-agent": Command("memory_delete_agent", "erase everything this agent remembers", [
        Flag("confirm", "confirm", "on", True)]),
}  # fmt: skip


class Service:
    """The service at one address, with one key."""

    def __init__(self, base_url: str, key: str | None) -> None:
        self.base_url = base_url.rstrip("/")
        self.key = key

    def send(self, verb: str, path: str, body: dict[str, Any] | None = None, headers: dict[str, str] | None = None) -> Any:
        """The JSON answer of any route. Raises Failure with the service's own message."""
        sent = dict(headers or {})
        if self.key:
            sent["X-API-Key"] = self.key
        try:
            answer = requests.request(verb, self.base_url + path, json=body, headers=sent, timeout=TIMEOUT_SECONDS)
            value = answer.json()
        except (requests.RequestException, ValueError) as problem:
            raise Failure(f"no answer from {self.base_url}: {type(problem).__name__}; is AM_BASE_URL right?") from None
        if answer.status_code >= 400 and not (isinstance(value, dict) and "result" in value):
            error = value.get("error", value) if isinstance(value, dict) else value
            raise Failure(str(error.get("message", error)) if isinstance(error, dict) else str(error))
        return value  # a tool that the quota stops says so in its result, whatever the status

    def call(self, tool: str, arguments: dict[str, Any], shared: bool = False) -> Any:
        """A tool's answer. The shared-space tools get a fresh space token beside the key."""
        if not self.key:
            raise Failure("AM_API_KEY is not set; make a key with: memory_client.py create-key --agent-id my-agent")
        headers = {"Authorization": "Bearer " + self.send("POST", "/v1/space-token")["token"]} if shared else {}
        request = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
        answer = self.send("POST", "/mcp", request, headers)
        if "error" in answer:
            raise Failure(answer["error"]["message"])
        result = answer["result"]
        if result.get("isError"):
            raise Failure(result["content"][0]["text"])
        return result["structuredContent"]


class CommandLine(argparse.ArgumentParser):
    """Tells a mistake in one line and ends with status 1, like every other error."""

    def error(self, message: str) -> NoReturn:
        self.exit(1, f"error: {message}; see: {self.prog} --help\n")


def parser() -> argparse.ArgumentParser:
    """The command line."""
    top = CommandLine(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def add(name: str, help: str) -> argparse.ArgumentParser:
        made = commands.add_parser(name, help=help, description=help)
        made.add_argument("--agent-id", default="my-agent", help="name of the agent; used by create-key only")
        return made

    add("create-key", "make an API key").add_argument("--tier", default="explorer")
    add("health", "is the service up")
    for name, command in COMMANDS.items():
        made = add(name, command.help)
        for flag in command.flags:
            options: dict[str, Any] = {"dest": "given_" + flag.name, "required": flag.required, "help": flag.help or None}
            if flag.kind in ("on", "off"):
                options.update(action="store_const", const=flag.kind == "on")
            made.add_argument("--" + flag.name, **options)
    return top


def arguments_of(command: Command, given: argparse.Namespace) -> dict[str, Any]:
    """The tool's arguments from the flags that were given."""
    found: dict[str, Any] = {}
    for flag in command.flags:
        value = getattr(given, "given_" + flag.name)
        if value is not None:
            found[flag.argument] = _read(flag, value)
    return found


def _read(flag: Flag, value: Any) -> Any:
    try:
        if flag.kind == "whole":
            return int(value)
        if flag.kind == "number":
            return float(value)
        if flag.kind == "json":
            return json.loads(value)
    except ValueError:
        raise Failure(f"--{flag.name}: cannot read {value!r} as {flag.kind}") from None
    return [part.strip() for part in value.split(",") if part.strip()] if flag.kind == "list" else value


def run(given: argparse.Namespace, service: Service) -> Any:
    """Do what the command line asks and return the answer."""
    if given.command == "create-key":
        return service.send("POST", "/v1/keys", {"agent_id": given.agent_id, "tier": given.tier})
    if given.command == "health":
        return service.send("GET", "/health")
    command = COMMANDS[given.command]
    return service.call(command.tool, arguments_of(command, given), command.shared)


def main() -> int:
    given = parser().parse_args()
    service = Service(os.environ.get("AM_BASE_URL") or DEFAULT_BASE_URL, os.environ.get("AM_API_KEY"))
    try:
        print(json.dumps(run(given, service), indent=2, ensure_ascii=False))
    except Failure as failure:
        print(f"error: {failure}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
