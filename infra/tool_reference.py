"""The reference of the tools: `python -m infra.tool_reference` writes docs/tools.md from the registry."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from am_server.tools.catalogue import load
from am_server.tools.registry import Tool
from am_server.tools.schemas import input_schema, output_schema

from infra.gateway import ROOT

FILE = ROOT / "docs" / "tools.md"

_INTRODUCTION = """# Tool reference

The 35 tools, made from their declarations. Arguments go into `params.arguments` of `tools/call`; results come back in
`structuredContent` and, as the same JSON, in a text block. A failing call has `isError: true` and
`structuredContent.error {code, type, message}`. `null` and the word `"null"` count as absent, `"10"` as 10, and JSON text as the
object or list it holds. Unknown arguments are ignored: the key decides whose memory it is.
"""

_TITLES = {
    "episodic": "Episodic memory",
    "entity": "Entities",
    "graph": "Graph",
    "procedural": "Procedures",
    "working": "Working memory",
    "pheromone": "Trails",
    "shared": "Shared spaces",
    "utility": "Utility",
}

_REQUIREMENTS = {
    "a_star": "Needs a tier with A* (builder and up).",
    "spaces": "Needs a tier with shared spaces (builder and up) and a space token from `POST /v1/space-token`.",
}


def reference() -> str:
    """The whole document."""
    lines = [_INTRODUCTION]
    tools = load().values()
    for toolset, title in _TITLES.items():
        lines.append(f"## {title}\n")
        for tool in tools:
            if tool.toolset == toolset:
                lines += _section(tool)
    return "\n".join(lines)


def _section(tool: Tool) -> Iterator[str]:
    yield f"### {tool.name}\n"
    yield f"{tool.description}\n"
    if tool.requires:
        yield f"{_REQUIREMENTS[tool.requires]}\n"
    schema = input_schema(tool.arguments)
    if schema["properties"]:
        yield "| argument | type | required | default | meaning |\n| --- | --- | --- | --- | --- |"
        for name, part in schema["properties"].items():
            required = "yes" if name in schema.get("required", ()) else ""
            yield f"| `{name}` | {_type(part)} | {required} | {_default(part)} | {_cell(part.get('description', ''))} |"
        yield ""
    keys = ", ".join(f"`{name}`" for name in output_schema(tool.result)["properties"] if name != "error")
    yield f"Answers with {keys}.\n"
    for example in tool.examples:
        call = {"name": tool.name, "arguments": example}
        yield f"```json\n{json.dumps(call, ensure_ascii=False)}\n```\n"


def _type(part: Mapping[str, Any]) -> str:
    if "enum" in part:
        return " \\| ".join(f"`{choice}`" for choice in part["enum"])
    if part.get("type") == "array":
        kinds = part["items"].get("anyOf", [part["items"]])
        return "list of " + " or ".join(str(kind.get("type", "value")) for kind in kinds)
    return str(part.get("type", "any"))


def _default(part: Mapping[str, Any]) -> str:
    return f"`{json.dumps(part['default'])}`" if "default" in part else ""


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


if __name__ == "__main__":
    FILE.write_text(reference())
