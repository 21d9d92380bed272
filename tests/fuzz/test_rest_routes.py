"""Every REST route, sent what its description allows and what it does not: no 5xx, and no answer that is not described.

Runs under `make fuzz`, which installs schemathesis.
"""

from __future__ import annotations

import json
import os

import pytest
from hypothesis import HealthCheck, Phase, settings

from infra.gateway import ROOT

schemathesis = pytest.importorskip("schemathesis", reason="make fuzz installs it")

REQUESTS = int(os.environ.get("FUZZ_REQUESTS", "20"))
"""Requests to each route."""

DESCRIBED = schemathesis.openapi.from_dict(json.loads((ROOT / "docs" / "openapi.json").read_text()))


@pytest.fixture(scope="module")
def key(agent):
    """An agent's key; a route that revokes keys does not know its id."""
    return agent("builder").key


@DESCRIBED.include(path_regex="^/(v1|api|health)").parametrize()
@settings(
    max_examples=REQUESTS,
    deadline=None,
    database=None,
    phases=(Phase.explicit, Phase.generate),
    suppress_health_check=list(HealthCheck),
)
def test_every_request_is_answered_as_described(case, app, key):
    answer = case.call(headers={"X-API-Key": key}, app=app)
    assert answer.status_code < 500, answer.text[:500]
    if case.method != case.operation.method.upper():  # the methods that a route does not have are tried, too
        assert answer.status_code in (200, 204, 405)
        return
    described = case.operation.definition.raw["responses"]
    assert str(answer.status_code) in described, f"{answer.status_code} is not described: {answer.text[:300]}"
    if answer.status_code != 204 and not case.path.endswith("/metrics"):
        assert answer.headers["content-type"][0].startswith("application/json")
