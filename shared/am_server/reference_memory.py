"""Reading the file of the MCP reference memory server (`@modelcontextprotocol/server-memory`).

Its entities become entities: the observations are the description, which search reads, and stay a list in the metadata.
Its relations become relations.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from am_server.errors import Invalid
from am_server.tools.arguments import parse
from am_server.tools.call import Call
from am_server.tools.catalogue import load
from am_server.tools.nodes import MAX_DESCRIPTION_BYTES


def import_reference_memory(call: Call, lines: Iterable[str]) -> dict[str, int]:
    """Store every entity and relation of the file; how many there were. Raises Invalid naming the line that cannot be read."""
    counts = {"entities": 0, "relations": 0}
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            name, arguments = _tool_call(json.loads(line))
        except (ValueError, TypeError, KeyError, AttributeError):
            raise Invalid(f"line {number}", "expected an entity or a relation of the MCP reference memory server") from None
        tool = load()[name]
        tool.handler(call, parse(tool, arguments))
        counts["entities" if name == "memory_store_entity" else "relations"] += 1
    return counts


def _tool_call(entry: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    if entry["type"] == "entity":
        observations = [str(observation) for observation in entry["observations"]]
        return "memory_store_entity", {
            "entity_id": entry["name"],
            "type": entry["entityType"],
            "description": _cut("\n".join(observations)) or None,
            "metadata": {"observations": observations},
        }
    if entry["type"] == "relation":
        return "memory_store_relation", {"from_id": entry["from"], "to_id": entry["to"], "predicate": entry["relationType"]}
    raise ValueError


def _cut(text: str) -> str:
    return text.encode()[:MAX_DESCRIPTION_BYTES].decode(errors="ignore")
