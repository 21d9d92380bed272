"""Measure what each tool reads and writes, and write it into operations.json for the cost model.

    python -m infra.operations

Every tool is called in turn, many rounds, by one agent that already remembers a few hundred things, through the deployed
entry points over an embedded store. So the averages hold what one call alone would not show: looking up keys, leasing
operations, reading what others wrote since the last call, and folding.
"""

from __future__ import annotations

import io
import json
import os
import sys
import tempfile
from collections.abc import Mapping
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

from infra.gateway import ROOT, WsgiApp, gateway

FILE: Path = ROOT / "infra" / "operations.json"
REMEMBERED = 300
ROUNDS = 150
RARE = 3
COUNTS = ("reads", "writes", "deletes", "rpcs")

NAMES = ("Alice", "Bob", "Chidi", "Dana", "Eve", "Farid", "Grete", "Hugo")
PLACES = ("Lisbon", "the harbour", "Acme", "the library", "Kyoto", "the lab")
THINGS = ("quantum computing", "rowing", "sourdough", "type theory", "old maps", "jazz", "climbing")


class Agent:
    """One agent over the functions in this process; keeps what each call was logged to cost."""

    def __init__(self, app: WsgiApp, name: str) -> None:
        from werkzeug.test import Client

        self._client = Client(app)
        self.logged: list[Mapping[str, Any]] = []
        self.headers: dict[str, str] = {}
        self.headers["X-API-Key"] = self.post("/v1/keys", {"agent_id": name, "tier": "pro"})["key"]

    def post(self, path: str, body: Any) -> Any:
        """POST a JSON value; raises when the answer is no success."""
        said = io.StringIO()
        with redirect_stdout(said):
            answer = self._client.post(path, json=body, headers=self.headers)
        if answer.status_code >= 400:
            raise SystemExit(f"POST {path} answered {answer.status_code}: {answer.text[:500]}")
        self.logged += [json.loads(line) for line in said.getvalue().splitlines() if line.startswith("{")]
        return answer.json

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool; raises when it fails."""
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
        result: dict[str, Any] = self.post("/mcp", message)["result"]
        if result.get("isError"):
            raise SystemExit(f"{tool}({arguments}) failed: {result['content'][0]['text']}")
        content: dict[str, Any] = result["structuredContent"]
        return content

    def open_space(self) -> str:
        """Make a shared space and present a token that names it from now on."""
        self.headers["Authorization"] = f"Bearer {self.post('/v1/space-token', {})['token']}"
        space = str(self.call("memory_create_shared_space", name="project")["space_id"])
        self.headers["Authorization"] = f"Bearer {self.post('/v1/space-token', {})['token']}"
        return space


def sentence(number: int) -> str:
    """A memory; no two numbers below a few hundred give the same."""
    who, where, what = NAMES[number % 8], PLACES[number % 6], THINGS[number % 7]
    return f"{who} told me on day {number} about {what} in {where}, and wants to hear more of it next week."


def common_calls(number: int, space: str) -> dict[str, dict[str, Any]]:
    """Tool → arguments of its call in this round."""
    who, other, what = NAMES[number % 8], NAMES[(number + 3) % 8], THINGS[number % 7]
    return {
        "memory_store_episode": {"content": sentence(REMEMBERED + number), "metadata": {"session_id": f"s{number // 10}"}},
        "memory_search_episodes": {"query": f"What did {who} say about {what}?"},
        "memory_get_episodes": {"limit": 10},
        "memory_search_timeline": {"start_time": "2026-01-01T00:00:00Z", "end_time": "2026-01-01T12:00:00Z"},
        "memory_store_entity": {"entity_id": f"{who} {number}", "type": "person", "description": f"likes {what}"},
        "memory_get_entity": {"entity_id": who},
        "memory_list_entities": {"limit": 20},
        "memory_store_relation": {"from_id": who, "to_id": other, "predicate": f"met on day {number}"},
        "memory_get_relations": {"entity_id": who},
        "memory_query_graph": {"query": what},
        "memory_semantic_search": {"query": f"who likes {what}"},
        "memory_get_neighbors": {"entity_id": who},
        "memory_find_path": {"from_id": who, "to_id": other},
        "memory_traverse_graph": {"start_id": who},
        "memory_graph_add_triple": {"subject": who, "predicate": "visited", "object": f"place {number}"},
        "memory_graph_neighbors": {"node": who},
        "memory_graph_shortest_path": {"from": who, "to": other},
        "memory_store_procedure": {"name": f"procedure {number % 20}", "steps": ["look", "leap"], "description": f"for {what}"},
        "memory_get_procedure": {"name": f"procedure {number % 20}"},
        "memory_match_procedure": {"task": f"something with {what}"},
        "memory_update_procedure": {"name": f"procedure {number % 20}", "outcome": "success"},
        "memory_set_working": {"key": f"key {number % 10}", "content": what, "ttl_seconds": 3600},
        "memory_get_working": {"key": f"key {number % 10}"},
        "memory_list_working": {},
        "memory_clear_working": {"key": f"key {number % 10}"},
        "memory_deposit_pheromone": {"node_id": who},
        "memory_get_pheromone": {"node_id": who},
        "memory_shared_store_entity": {"space_id": space, "name": f"{what} {number}", "description": sentence(number)},
        "memory_shared_query": {"space_id": space, "query": what},
        "memory_list_shared_spaces": {},
        "memory_get_stats": {},
    }


def rare_calls(app: WsgiApp) -> list[Mapping[str, Any]]:
    """What an agent does once in a while, on agents with twenty memories."""
    logged = []
    for number in range(RARE):
        agent = Agent(app, f"rare-{number}")
        space = agent.open_space()
        for each in range(20):
            agent.call("memory_store_episode", content=sentence(each), valid_at="2026-01-01T00:00:00Z")
        agent.call("memory_join_shared_space", space_id=space)
        agent.call("memory_consolidate_episodes")
        agent.call("memory_delete_agent", confirm=True)
        wanted = ("create_shared_space", "join_shared_space", "consolidate_episodes", "delete_agent")
        logged += [line for line in agent.logged if line.get("tool", "").removeprefix("memory_") in wanted]
    return logged


def measure(remembered: int = REMEMBERED, rounds: int = ROUNDS) -> dict[str, dict[str, float]]:
    """Tool → the average of each count over its calls, by an agent that has stored so many episodes before."""
    app = gateway()
    agent = Agent(app, "measured")
    space = agent.open_space()
    for number in range(remembered):
        agent.call("memory_store_episode", content=sentence(number), valid_at="2026-02-01T00:00:00Z")
    for who in NAMES:
        agent.call("memory_store_entity", entity_id=who, predicate="likes", object_value=THINGS[len(who)])
    for _ in range(2):  # so that what is measured is a warm instance
        for tool, arguments in common_calls(0, space).items():
            agent.call(tool, **arguments)
    agent.logged.clear()
    for number in range(rounds):
        for tool, arguments in common_calls(number, space).items():
            agent.call(tool, **arguments)
    by_tool: dict[str, list[Mapping[str, Any]]] = {}
    for line in [*agent.logged, *rare_calls(app)]:
        by_tool.setdefault(line["tool"], []).append(line)
    return {tool: {count: _mean(lines, count) for count in COUNTS} for tool, lines in sorted(by_tool.items())}


def _mean(lines: list[Mapping[str, Any]], count: str) -> float:
    return round(float(sum(line[count] for line in lines)) / len(lines), 3)


def main() -> None:
    """Measure on an empty store in a temporary folder, and write the file."""
    with tempfile.TemporaryDirectory() as folder:
        secrets = dict.fromkeys(("AM_KEY_PEPPER", "JWT_SECRET"), "for measurements only and long enough for HMAC-SHA256")
        os.environ.update({"AM_DATA_DIR": folder, "AM_SIGNUP_TIERS": "pro", "AM_SIGNUP_PER_HOUR": "0", **secrets})
        measured = measure()
    rows = [f"  {json.dumps(tool)}: {json.dumps(counts)}" for tool, counts in measured.items()]
    FILE.write_text("{\n" + ",\n".join(rows) + "\n}\n")
    print(f"measured {len(measured)} tools", file=sys.stderr)


if __name__ == "__main__":
    main()
