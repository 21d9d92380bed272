"""What is left of an instance that ends."""

import requests

from infra.serving import served
from tests.functions.caller import tool_call


def test_an_instance_gives_its_unused_operations_back(tmp_path):
    used = []
    for _ in range(2):
        with served(tmp_path) as base_url:
            if not used:
                made = requests.post(f"{base_url}/v1/keys", json={"agent_id": "a", "tier": "explorer"}, timeout=10).json()
            key = {"X-API-Key": made["key"]}
            requests.post(f"{base_url}/mcp", json=tool_call("memory_list_working"), headers=key, timeout=10).raise_for_status()
            used.append(requests.get(f"{base_url}/v1/usage", headers=key, timeout=10).json()["monthly_ops_used"])
    assert used == [1, 2], "the block of 500 that the first instance had leased counts as used"
