"""The eight quick steps that agents know from the hosted service's skill, as printed there but for the base URL."""

from __future__ import annotations

import shutil

import pytest

from tests.e2e.page_session import Reader, last_value, linked_checkout
from tests.e2e.pages import Block

CLIENT = "python3 skills/agentverse-memory/scripts/memory_client.py"

STEPS = {
    "get a key": """
curl -X POST http://127.0.0.1:8080/v1/keys \\
  -H "Content-Type: application/json" \\
  -d '{"agent_id": "my-agent", "tier": "TIER"}'
""",
    "export it": 'export AM_API_KEY="am_..."',
    "health": "curl http://127.0.0.1:8080/health",
    "store": f"""
{CLIENT} store-episode \\
  --agent-id "my-agent" \\
  --content "User Alice asked about quantum computing and preferred simple analogies"
""",
    "query": f"""
{CLIENT} query-episodes \\
  --agent-id "my-agent" \\
  --query "quantum computing preferences" \\
  --limit 5
""",
    "fact": f"""
{CLIENT} store-fact \\
  --agent-id "my-agent" \\
  --subject "Alice" \\
  --predicate "prefers_explanation_style" \\
  --object "simple analogies"
""",
    "path": f"""
{CLIENT} find-path \\
  --agent-id "my-agent" \\
  --start "Alice" \\
  --end "quantum computing"
""",
    "working": f"""
{CLIENT} set-working \\
  --agent-id "my-agent" \\
  --key "current_task" \\
  --value '{{"task": "write report", "status": "in_progress"}}' \\
  --ttl 3600
""",
    "call": """
curl -X POST http://127.0.0.1:8080/mcp \\
  -H "Content-Type: application/json" \\
  -H "X-API-Key: $AM_API_KEY" \\
  -d '{
    "jsonrpc": "2.0",
    "id": 1,
    "method": "tools/call",
    "params": {
      "name": "memory_store_episode",
      "arguments": {
        "agent_id": "my-agent",
        "content": "User prefers dark mode in all interfaces",
        "source": "user"
      }
    }
  }'
""",
}


@pytest.mark.skipif(not shutil.which("curl"), reason="the steps use curl")
@pytest.mark.parametrize("tier", ["explorer", "builder"])
def test_each_step_answers_as_it_is_known(tier, base_url, data_dir, tmp_path):
    reader = Reader(tmp_path, linked_checkout(tmp_path, data_dir), base_url, key="")
    answers = {}
    for name, text in STEPS.items():
        refused = name == "path" and tier == "explorer"
        mark = ("fails", "forbidden: tier 'explorer' cannot access 'builder' feature") if refused else ("", "")
        reader.follow(Block(name, 1, "bash", text.replace("TIER", tier), *mark))
        if reader.printed:
            answers[name] = last_value(reader.printed)
    limit = {"explorer": 50_000, "builder": 500_000}[tier]
    made = answers["get a key"]
    assert (made["agent_id"], made["monthly_op_limit"], made["tier"]) == ("my-agent", limit, tier)
    assert (answers["health"]["service"], answers["health"]["status"]) == ("am-server", "ok")
    stored = answers["store"]
    assert (stored["stored"], stored["ids"], stored["chunks"]) == (True, [stored["id"]], 1)
    assert answers["query"]["retrieval"] == "hybrid"
    assert answers["query"]["results"][0]["episode"]["id"] == stored["id"]
    assert (answers["fact"]["stored"], answers["fact"]["subject"], answers["fact"]["object"]) == (
        True,
        "Alice",
        "simple analogies",
    )
    if tier == "builder":
        assert answers["path"] == {
            "found": False,
            "path": [],
            "edges": [],
            "hops": 0,
            "from_id": "Alice",
            "to_id": "quantum computing",
            "strategy": "pheromone",
        }
    assert answers["working"] == {"key": "current_task", "set": True, "ttl_seconds": 3600}
    result = answers["call"]["result"]
    assert (result["isError"], result["structuredContent"]["stored"], result["structuredContent"]["chunks"]) == (False, True, 1)
