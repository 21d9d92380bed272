"""A small memory with one of everything, and valid arguments for every tool on it."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from am_server.store.port import Query
from am_server.store.sqlite import SqliteStore

from tests.functions.caller import Caller, tool_call
from tests.functions.spaces import Member

SETTINGS = {
    "AM_KEY_PEPPER": "pepper for tests",
    "JWT_SECRET": "a secret for tests that is long enough",
    "AM_SIGNUP_TIERS": "pro",
    "AM_SIGNUP_PER_HOUR": "0",
    "LOG_LEVEL": "ERROR",
}

CALLS: Mapping[str, Mapping[str, Any]] = {
    "memory_store_episode": {"content": "The harbour crane was repaired. " * 200, "metadata": {"session_id": "s2"}},
    "memory_get_episodes": {"limit": 5},
    "memory_search_episodes": {"query": "Who repaired the violin?", "use_pheromone": True},
    "memory_search_timeline": {"start_time": "2026-03-01T00:00:00Z", "end_time": "2026-03-02T00:00:00Z"},
    "memory_consolidate_episodes": {"before_time": "2026-06-01T00:00:00Z"},
    "memory_store_entity": {"entity_id": "Carol", "type": "person", "predicate": "plays", "object_value": "chess"},
    "memory_get_entity": {"entity_id": "alice"},
    "memory_list_entities": {"limit": 5},
    "memory_store_relation": {"from_id": "Alice", "to_id": "Initech", "predicate": "left"},
    "memory_get_relations": {"entity_id": "Alice"},
    "memory_query_graph": {"query": "Acme"},
    "memory_semantic_search": {"query": "physicist"},
    "memory_get_neighbors": {"entity_id": "Alice"},
    "memory_find_path": {"from_id": "Alice", "to_id": "Acme"},
    "memory_traverse_graph": {"start_id": "Alice"},
    "memory_graph_add_triple": {"subject": "Bob", "predicate": "likes", "object": "tea"},
    "memory_graph_neighbors": {"node": "Alice"},
    "memory_graph_shortest_path": {"from": "Alice", "to": "Acme"},
    "memory_store_procedure": {"name": "brew tea", "steps": ["warm the pot", "boil water", "steep"]},
    "memory_get_procedure": {"name": "Brew  Tea"},
    "memory_match_procedure": {"task": "make some tea"},
    "memory_update_procedure": {"name": "brew tea", "outcome": "success", "steps": ["boil", "steep"]},
    "memory_set_working": {"key": "task", "content": "second"},
    "memory_get_working": {"key": "task"},
    "memory_list_working": {},
    "memory_clear_working": {"prefix": "ta"},
    "memory_deposit_pheromone": {"node_id": "Alice", "strength": 2.0},
    "memory_get_pheromone": {"node_id": "Alice"},
    "memory_create_shared_space": {"name": "second space"},
    "memory_join_shared_space": {"space_id": "{space}"},
    "memory_shared_store_entity": {"space_id": "{space}", "name": "Vendor", "description": "delivers"},
    "memory_shared_query": {"space_id": "{space}", "query": "crane"},
    "memory_list_shared_spaces": {},
    "memory_get_stats": {},
    "memory_delete_agent": {"confirm": True},
}
"""One call of every tool; what a first call has to read is in it, so that every way to the store is taken."""

VARIANTS: list[tuple[str, Mapping[str, Any]]] = [
    ("memory_update_procedure", {"name": "brew tea", "outcome": "failure"}),
    ("memory_store_procedure", {"name": "new one", "steps": ["only"]}),
    ("memory_clear_working", {"key": "task"}),
    ("memory_clear_working", {}),
    ("memory_deposit_pheromone", {"node_id": "{episode}"}),
]
"""Further ways through some of them."""


class World:
    """An agent with a memory, as files in a folder; `key` and `token` open it, `names` are ids that arguments mention."""

    def __init__(self, folder: Path, caller: Caller) -> None:
        self.folder = folder
        member = Member(caller)
        space = member.create("space")
        member.ok("memory_shared_store_entity", space_id=space, name="Crane", description="lifts what comes by ship")
        ok = caller.ok
        first = {"content": "Alice repaired the violin.", "valid_at": "2026-03-01T10:00:00Z"}
        second = {"content": "Bob painted the mirror.", "valid_at": "2026-03-01T11:00:00Z"}
        episode = ok("memory_store_episode", metadata={"session_id": "s1"}, **first)["id"]
        ok("memory_store_episode", metadata={"session_id": "s1"}, **second)
        ok(
            "memory_store_entity",
            entity_id="Alice",
            type="person",
            description="Physicist",
            predicate="plays",
            object_value="cello",
        )
        ok("memory_store_relation", from_id="Alice", to_id="Acme", predicate="works_at")
        ok("memory_store_procedure", name="brew tea", steps=["boil water", "steep"], tags=["kitchen"])
        ok("memory_set_working", key="task", content="first")
        member.ask()
        self.key, self.token = str(caller.key), member.token
        self.names = {"space": space, "episode": episode}

    def arguments(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Arguments with the ids of this world in them."""
        text = re.sub(r"\{(\w+)\}", lambda found: self.names.get(found[1], found[0]), json.dumps(given))
        made: dict[str, Any] = json.loads(text)
        return made


def call(caller: Caller, token: str, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The result of a call with key and token, which must be a tool's result whatever happens."""
    answer = caller.post(tool_call(tool, arguments), {"Authorization": f"Bearer {token}"})
    assert answer.status_code == 200, answer.get_data(as_text=True)
    result: dict[str, Any] = answer.json["result"]
    return result


KINDS = ("episodes", "graph", "procedures", "working", "memberships", "members", "spaces")
_MOMENTS = {f"{what}_at" for what in ("changed", "stored", "valid", "created", "updated", "joined", "granted", "expires")}
_LEFT_OUT = _MOMENTS | {"live_until", "terms", "trail", "purge_at", "deleted_at", "edited_at"}
_ID = re.compile(r"[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}")


def state(folder: Path, trails: bool = True) -> Counter[str]:
    """Every document of memories in a folder's store, without random ids and moments: what must be the same after a fault.

    trails   also how often something was deposited on a trail, told by its size in deposits of 2.0
    """
    store = SqliteStore(folder / "am-server.sqlite")
    with store._file.reading() as connection:
        collections = [name for (name,) in connection.execute("SELECT DISTINCT collection FROM documents")]
    found: Counter[str] = Counter()
    for collection in collections:
        if collection.rpartition("/")[2] in KINDS:
            for document in store.query(Query(collection)):
                kept = {k: v for k, v in document.data.items() if v is not None and k not in _LEFT_OUT}
                if trails and document.data.get("kind") == "entity" and document.data.get("trail"):
                    kept["has_trail"] = round(float(document.data["trail"]) / _deposit_of_two(document.data), 1)  # type: ignore[arg-type]
                text = json.dumps([_ID.sub("id", collection), kept], sort_keys=True, default=repr)
                found[_ID.sub("id", text)] += 1
    store.close()
    return found


def _deposit_of_two(data: Mapping[str, Any]) -> float:
    from am_server.memory.trails import deposit
    from am_server.times import from_datetime

    return deposit(2.0, from_datetime(data["changed_at"]))
