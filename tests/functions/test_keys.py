"""Sign-up, keys and use over HTTP: who may open what, and what each answer tells."""

import json
import os
from unittest.mock import patch

import pytest
from am_server import wiring

from tests.functions.caller import Caller, tool_call

ADMIN = {"Authorization": "Bearer admin token for tests"}


def sign_up(caller, headers=None, **body):
    return caller.send("POST", "/v1/keys", headers, json=body)


def error(answer, status):
    assert answer.status_code == status, answer.text
    assert set(answer.json) == {"error"}
    assert set(answer.json["error"]) >= {"code", "type", "message"}
    return answer.json["error"]


def test_sign_up_tells_what_the_documentation_says(nobody):
    answer = sign_up(nobody, agent_id="my-agent", tier="explorer")
    assert answer.status_code == 201
    assert set(answer.json) == {"agent_id", "key", "key_id", "monthly_op_limit", "tier", "warning"}
    assert (answer.json["agent_id"], answer.json["tier"], answer.json["monthly_op_limit"]) == ("my-agent", "explorer", 50_000)
    assert answer.headers["Cache-Control"] == "no-store"


def test_the_tier_is_explorer_when_left_out(nobody):
    assert sign_up(nobody, agent_id="a").json["tier"] == "explorer"


@pytest.mark.parametrize("body", [
    {}, {"agent_id": ""}, {"agent_id": "  "}, {"agent_id": None}, {"agent_id": 7}, {"agent_id": ["x"]}, {"agent_id": "x" * 257},
    {"agent_id": "a\nb"}, {"agent_id": "a\x00"},
], ids=str)  # fmt: skip
def test_an_agent_id_is_a_short_text(nobody, body):
    assert "agent_id" in error(nobody.send("POST", "/v1/keys", json=body), 422)["message"]


def test_half_a_surrogate_pair_is_no_agent_id(nobody):
    assert "agent_id" in error(nobody.post('{"agent_id": "\\ud800"}', path="/v1/keys"), 422)["message"]


@pytest.mark.parametrize("tier", ["gold", "", 5, None, ["pro"], {}])
def test_an_unknown_tier_is_refused(nobody, tier):
    assert "tier" in error(sign_up(nobody, agent_id="a", tier=tier), 422)["message"]


@pytest.mark.parametrize("body", ["[]", "null", "7", '"x"', "{", "\xff", "[" * 100_000])
def test_a_body_that_is_no_object(nobody, body):
    error(nobody.post(body, path="/v1/keys"), 422)


@pytest.mark.parametrize("agent_id", ["../../accounts", "a/b", "agents/x", "ünïcödé", "😀" * 20, "%2e%2e%2f", "__proto__", "."])
def test_any_printable_name_is_an_agent(nobody, agent_id):
    answer = sign_up(nobody, agent_id=agent_id)
    assert answer.json["agent_id"] == agent_id
    assert Caller(nobody.app, answer.json["key"]).call("memory_set_working", key="k", content="v")["isError"] is False


# --- which tiers are open


@pytest.fixture
def strict(nobody, services, tmp_path):
    """The same functions where only explorer is open to sign-up, and two sign-ups an hour at that."""
    with patch.dict(os.environ, {"AM_SIGNUP_TIERS": "explorer", "AM_SIGNUP_PER_HOUR": "2", "AM_DATA_DIR": str(tmp_path)}):
        wiring.services.cache_clear()
        yield nobody
    wiring.services.cache_clear()


def test_only_open_tiers_are_for_everybody(strict):
    refused = error(sign_up(strict, agent_id="a", tier="enterprise"), 403)
    assert (refused["code"], refused["type"]) == (-32002, "forbidden")
    assert "explorer" in refused["message"], "it tells which tiers are open"


def test_the_admin_token_opens_any_tier(strict):
    for _ in range(4):
        answer = sign_up(strict, ADMIN, agent_id="a", tier="enterprise")
        assert answer.status_code == 201, "the throttle is for strangers"
    assert answer.json["tier"] == "enterprise"
    assert "monthly_op_limit" not in answer.json, "there is none"


@pytest.mark.parametrize("token", ["admin token for test", "admin token for testss", "ADMIN TOKEN FOR TESTS", "x", "é"])
def test_a_wrong_admin_token_opens_nothing(strict, token):
    error(sign_up(strict, {"Authorization": f"Bearer {token}"}, agent_id="a", tier="explorer"), 401)


def test_without_an_admin_token_nobody_is_admin(strict):
    with patch.dict(os.environ, {"AM_ADMIN_TOKEN": ""}):
        wiring.services.cache_clear()
        for header in ("Bearer ", "Bearer", "Bearer  "):
            error(sign_up(strict, {"Authorization": header}, agent_id="a", tier="enterprise"), 403)


def test_strangers_sign_up_so_many_times_an_hour(strict):
    assert [sign_up(strict, agent_id="a").status_code for _ in range(2)] == [201, 201]
    answer = sign_up(strict, agent_id="a")
    refused = error(answer, 429)
    assert (refused["code"], refused["type"]) == (-32005, "rate_limited")
    assert 0 < int(answer.headers["Retry-After"]) <= 3_601


def test_the_throttle_is_for_each_address_and_holds_over_instances(strict):
    def status(address):
        wiring.services.cache_clear()  # a fresh instance
        return sign_up(strict, agent_id="a", tier="explorer") if address is None else strict.send(
            "POST", "/v1/keys", json={"agent_id": "a"}, environ_base={"REMOTE_ADDR": address})  # fmt: skip

    assert [status("192.0.2.1").status_code for _ in range(3)] == [201, 201, 429]
    assert status("192.0.2.2").status_code == 201
    assert [status(f"2001:db8::{n}").status_code for n in range(3)] == [201, 201, 429], "a /64 is one customer"
    assert status("2001:db8:1::1").status_code == 201


def test_a_client_cannot_choose_its_address_behind_the_front_end(strict):
    with patch.dict(os.environ, {"K_SERVICE": "keys"}):
        answers = [sign_up(strict, {"X-Forwarded-For": f"203.0.113.{n}, 192.0.2.77"}, agent_id="a").status_code for n in range(3)]
    assert answers == [201, 201, 429]


def test_what_is_refused_is_not_counted(strict):
    for _ in range(5):
        sign_up(strict, agent_id="")
        sign_up(strict, agent_id="a", tier="enterprise")
    assert sign_up(strict, agent_id="a").status_code == 201


def test_agents_of_an_account_are_not_throttled(strict):
    caller = Caller(strict.app, sign_up(strict, agent_id="a").json["key"])
    assert [sign_up(caller, agent_id="a").status_code for _ in range(4)] == [201] * 4


# --- with a key


def test_a_key_adds_agents_up_to_the_tiers_limit(agent):
    mcp = agent("tiny")
    refused = sign_up(mcp, agent_id="another")
    assert error(refused, 403)["code"] == -32002
    assert "am_" not in refused.text
    assert sign_up(mcp, agent_id="agent").status_code == 201, "a further key is not a further agent"


def test_an_agent_has_its_accounts_tier(agent):
    mcp = agent("builder")
    assert sign_up(mcp, agent_id="b").json["tier"] == "builder"
    assert sign_up(mcp, agent_id="b", tier="builder").status_code == 201
    assert "builder" in error(sign_up(mcp, agent_id="b", tier="enterprise"), 403)["message"]
    error(sign_up(mcp, agent_id="b", tier=7), 422)


@pytest.mark.parametrize("headers", [
    {"X-API-Key": "am_" + "x" * 43}, {"X-API-Key": "nonsense"}, {"Authorization": "Bearer am_" + "x" * 43},
    {"Authorization": "Bearer a.b.c"}, {"X-API-Key": "am_" + "x" * 43, **ADMIN},
], ids=str)  # fmt: skip
def test_a_bad_credential_never_opens_an_account(nobody, headers):
    error(sign_up(nobody, headers, agent_id="a", tier="explorer"), 401)


def test_a_revoked_key_opens_nothing(agent):
    mcp = agent()
    [key] = mcp.send("GET", "/v1/keys").json["keys"]
    assert mcp.send("DELETE", f"/v1/keys/{key['key_id']}").json["revoked"] is True
    for answer in (sign_up(mcp, agent_id="a"), mcp.send("GET", "/v1/keys"), mcp.send("GET", "/v1/usage"),
                   mcp.send("POST", "/v1/space-token"), mcp.post(tool_call("memory_get_stats"))):  # fmt: skip
        assert answer.status_code == 401


def test_keys_are_listed(agent):
    mcp = agent()
    new = sign_up(mcp, agent_id="second").json
    answer = mcp.send("GET", "/v1/keys")
    assert answer.json["count"] == 2
    assert [key["agent_id"] for key in answer.json["keys"]] == ["agent", "second"]
    assert answer.json["keys"][1] == {"key_id": new["key_id"], "agent_id": "second", "last_four": new["key"][-4:],
                                      "created_at": answer.json["keys"][1]["created_at"]}  # fmt: skip
    assert new["key"][3:-4] not in answer.text
    mcp.send("DELETE", f"/v1/keys/{new['key_id']}")
    assert "revoked_at" in mcp.send("GET", "/v1/keys").json["keys"][1]


@pytest.mark.parametrize("key_id", ["nope", "..%2f..%2faccounts", "%00", "a%2Fb", "x" * 3_000])
def test_an_unknown_key_id_is_not_found(agent, key_id):
    error(agent().send("DELETE", f"/v1/keys/{key_id}"), 404)


def test_use_is_told(agent):
    mcp = agent("builder")
    for _ in range(3):
        mcp.call("memory_list_working")
    sign_up(mcp, agent_id="b")
    answer = mcp.send("GET", "/v1/usage")
    assert answer.json == {
        "agent_id": "agent", "tier": "builder", "monthly_ops_used": 3, "monthly_ops_remaining": 499_997, "overage_ops": 0,
        "resets_at": answer.json["resets_at"], "agents": 2, "owned_spaces": 0,
        "monthly_op_limit": 500_000, "agent_limit": 25, "space_limit": 3,
    }  # fmt: skip
    assert answer.headers["X-RateLimit-Remaining"] == "499997"


def test_what_has_no_limit_is_left_out(agent):
    answer = agent("enterprise").send("GET", "/v1/usage")
    assert not {"monthly_op_limit", "agent_limit", "space_limit", "monthly_ops_remaining"} & set(answer.json)
    assert int(answer.headers["X-RateLimit-Limit"]) == int(answer.headers["X-RateLimit-Remaining"]) == 2**53 - 1


# --- the quota


def test_the_hard_limit_answers_429_and_says_when_to_come_back(agent):
    mcp = agent("tiny")
    left = [mcp.post(tool_call("memory_list_working")).headers["X-RateLimit-Remaining"] for _ in range(3)]
    assert left == ["2", "1", "0"]
    answer = mcp.post(tool_call("memory_list_working"))
    assert answer.status_code == 429
    assert int(answer.headers["Retry-After"]) > 0
    assert (answer.headers["X-RateLimit-Limit"], answer.headers["X-RateLimit-Remaining"]) == ("3", "0")
    assert answer.headers["X-RateLimit-Reset"] in answer.text, "the body repeats the facts"
    assert "tiny" in answer.text
    assert mcp.send("GET", "/v1/usage").json["monthly_ops_used"] == 3
    assert mcp.post(tool_call("memory_get_working")).json["result"]["isError"], "what does not pass validation is no operation"
    assert mcp.rpc("tools/list")["result"]["tools"], "only operations are counted"


def test_the_quota_is_the_accounts(agent):
    mcp = agent("tiny")
    other = Caller(mcp.app, sign_up(mcp, agent_id="agent").json["key"])
    for caller in (mcp, other, mcp):
        assert caller.post(tool_call("memory_list_working")).status_code == 200
    assert other.post(tool_call("memory_list_working")).status_code == 429


def test_a_429_is_json_for_every_client(agent):
    mcp = agent("tiny")
    for _ in range(3):
        mcp.call("memory_list_working")
    body = json.loads(mcp.post(tool_call("memory_list_working")).data)
    assert body["jsonrpc"] == "2.0"
