"""Who may use /api/v2, what it counts, and what it does not offer."""

from __future__ import annotations

import json

import pytest

from tests.functions.caller import Caller
from tests.functions.rest_api import Api

GOOD = [{"content": "good"}]


def test_without_a_key_nothing_opens(nobody):
    api = Api(nobody)
    for path in ("/memories", "/memories/list", "/projects/list", "/memories/semantic/feature"):
        answer = api.post(path, messages=GOOD)
        assert answer.status_code == 401
        assert "POST /v1/keys" in answer.json["detail"]
        assert "WWW-Authenticate" in answer.headers
    assert nobody.send("GET", "/api/v2/metrics").status_code == 401


def test_where_the_operator_allows_it_no_key_is_needed_but_a_bad_one_is_refused(nobody, agent, setting):
    setting("AM_ANONYMOUS_REST", "1")
    api = Api(nobody)
    api.add("hello")
    assert api.texts() == ["hello"]
    assert nobody.post({"messages": GOOD}, path="/api/v2/memories").status_code == 200
    for headers in (
        {"X-API-Key": "am_" + "x" * 43},
        {"Authorization": "Bearer am_" + "x" * 43},
        {"Authorization": "Bearer x.y.z"},
    ):
        assert api.post("/memories/list", headers).status_code == 401
    other = Api(agent(), api.where["project_id"])
    assert other.list() == []


def test_a_bearer_key_is_as_good(agent):
    api = Api(agent())
    api.add("hello")
    bearer = Api(Caller(api.caller.app), api.where["project_id"])
    assert bearer.post("/memories/list", {"Authorization": f"Bearer {api.caller.key}"}).json["content"]["episodic_memory"]


def test_a_space_token_alone_does_not_open_memories(agent):
    builder = agent("builder")
    token = builder.post({}, path="/v1/space-token")
    if token.status_code == 404:
        pytest.skip("space tokens are not served")
    answer = Api(Caller(builder.app)).post("/memories/list", {"Authorization": f"Bearer {token.json['token']}"})
    assert answer.status_code == 401


def test_every_request_that_can_be_read_is_one_operation(agent):
    api = Api(agent())
    remaining = []
    for answer in (api.post("/memories", messages=GOOD), api.post("/memories"), api.post("/memories/search", query="x")):
        assert answer.headers["X-RateLimit-Limit"] == "50000"
        assert "X-RateLimit-Reset" in answer.headers
        remaining.append(int(answer.headers["X-RateLimit-Remaining"]))
    assert remaining == [49_999, 49_999, 49_998]


def test_a_used_up_quota_answers_429(agent):
    api = Api(agent("tiny"))
    for _ in range(3):
        api.list()
    answer = api.post("/memories", messages=GOOD)
    assert answer.status_code == 429
    assert int(answer.headers["Retry-After"]) > 0
    assert "operations a month" in answer.json["detail"]
    assert api.post("/memories").status_code == 422


def test_health_and_metrics(agent):
    api = Api(agent())
    health = api.caller.send("GET", "/api/v2/health")
    assert (health.status_code, health.json["status"]) == (200, "healthy")
    assert Caller(api.caller.app).send("GET", "/api/v2/health/").status_code == 200
    api.add("hello")
    api.post("/memories")
    answer = api.caller.send("GET", "/api/v2/metrics")
    assert answer.headers["Content-Type"].startswith("text/plain")
    lines = answer.text.splitlines()
    assert 'am_requests_total{path="/memories",status="200"} 1' in lines
    assert 'am_requests_total{path="/memories",status="422"} 1' in lines
    assert "# TYPE am_request_seconds_total counter" in lines
    assert "/memories" not in agent().send("GET", "/api/v2/metrics").text, "other accounts' requests are not told"


def test_the_episodic_configuration_is_constant(agent):
    expected = {"enabled": True, "long_term_memory_enabled": True, "short_term_memory_enabled": False}
    assert Api(agent()).ok("/memory/episodic/config/get") == expected


SEMANTIC = ["feature/get", "set_type", "category/tag"]
CONFIG = ["", "/memory/semantic", "/resources/embedders", "/resources/embedders/x/retry"]


@pytest.mark.parametrize("path", [*(f"/memories/semantic/{path}" for path in SEMANTIC), *(f"/config{path}" for path in CONFIG)])
def test_what_is_not_offered_says_so(agent, path):
    caller = agent()
    for method, status in (("GET", 404), ("POST", 501), ("PUT", 501)):
        answer = caller.send(method, f"/api/v2{path}", json={})
        assert answer.status_code == status
        assert "not offered here" in answer.json["detail"]


def test_asking_for_what_is_not_offered_is_no_error_of_the_service(agent, capsys):
    assert agent().send("POST", "/api/v2/config", json={}).status_code == 501
    line = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (line["status"], line["severity"]) == (501, "INFO")


def test_wrong_methods_and_unknown_paths(agent):
    caller = agent()
    wrong = caller.send("GET", "/api/v2/memories")
    assert (wrong.status_code, wrong.headers["Allow"]) == (405, "POST")
    assert isinstance(wrong.json["detail"], str)
    assert isinstance(caller.send("POST", "/api/v2/nothing", json={}).json["detail"], str)
    assert caller.send("POST", "/api/v2/nothing", json={}).status_code == 404
    assert caller.send("POST", "/api/v2/memories/list/", json={}).status_code == 200
