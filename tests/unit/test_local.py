"""The one agent that works without the network."""

import json
from pathlib import Path

import pytest
from am_server.local import local_key

from tests.unit.calling import instance

LIMITS = {"monthly_ops": 10, "agents": 1, "spaces": 0, "a_star": True, "hard_limit": True}


@pytest.mark.parametrize(("names", "tier"), [(("pro", "enterprise"), "pro"), (("small", "large"), "large")])
def test_it_has_the_last_tier_of_a_table_without_pro(tmp_path: Path, names, tier):
    with instance(tmp_path, AM_TIERS=json.dumps(dict.fromkeys(names, LIMITS))) as services:
        key = local_key(services)
        assert local_key(services) == key
        assert services.accounts.authenticate(key, None).tier.name == tier
