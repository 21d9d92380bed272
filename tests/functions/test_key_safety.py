"""No key, token, secret or memory content in any log line, error or trace of a service that is used and abused."""

from __future__ import annotations

import json
import secrets
from pathlib import Path

import pytest
import requests

from infra.leaks import leaks
from infra.serving import served

PEPPER, JWT_SECRET, ADMIN = (secrets.token_urlsafe(32) for _ in range(3))

MEMORY = ("quokkabramble lives in the attic", "zeppelinmarmalade", "The safe opens with 4711-kestrelnoodle", "thistledownfugue")
"""What is stored; words that occur nowhere else."""

OPAQUE = ("quokkabramble", "zeppelinmarmalade", "kestrelnoodle", "thistledownfugue", "gravelpudding")


class Session:
    """Requests to a service; keeps every answer that is an error, and every credential that was used."""

    def __init__(self, base_url: str) -> None:
        self.base_url = base_url
        self.http = requests.Session()
        self.credentials: list[str] = []
        self.errors: list[tuple[str, str]] = []

    def send(self, method: str, path: str, headers: dict[str, str] | None = None, **kwargs: object) -> requests.Response:
        shown = {name: value for name, value in (headers or {}).items() if name != "Content-Type"}
        self.credentials += [value.partition(" ")[2] or value for value in shown.values()]
        answer = self.http.request(method, self.base_url + path, headers=headers, timeout=30, **kwargs)  # type: ignore[arg-type]
        in_band = answer.status_code == 200 and '"isError":true' in answer.text
        if answer.status_code >= 400 or in_band:
            self.errors.append((f"{method} {path} {answer.status_code}", answer.text + json.dumps(dict(answer.headers))))
        return answer

    def call(self, headers: dict[str, str], tool: str, arguments: object) -> requests.Response:
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
        return self.send("POST", "/mcp", headers, json=body)


def use(session: Session) -> None:
    """What every customer does."""
    for agent_id in ("one", "two"):
        made = session.send("POST", "/v1/keys", json={"agent_id": agent_id, "tier": "builder"}).json()
        key = {"X-API-Key": made["key"]}
        token = {"Authorization": "Bearer " + session.send("POST", "/v1/space-token", key).json()["token"]}
        made = session.call(token, "memory_create_shared_space", {"name": MEMORY[1]}).json()
        space = made["result"]["structuredContent"]["space_id"]
        token = {"Authorization": "Bearer " + session.send("POST", "/v1/space-token", key).json()["token"]}
        invite = {"invite": {"space_id": space, "role": "reader"}}
        invitation = session.send("POST", "/v1/space-token", key, json=invite).json()["invitation"]
        session.credentials.append(invitation)
        session.send("POST", "/v1/space-token", key, json={"redeem": invitation})
        session.call(token, "memory_shared_store_entity", {"space_id": space, "name": MEMORY[1], "description": MEMORY[0]})
        session.call(token, "memory_shared_query", {"space_id": space, "query": "quokkabramble"})
        for tool, arguments in (
            ("memory_store_episode", {"content": MEMORY[0], "metadata": {"speaker": MEMORY[3]}}),
            ("memory_search_episodes", {"query": "quokkabramble attic"}),
            ("memory_store_entity", {"entity_id": MEMORY[1], "description": MEMORY[2]}),
            ("memory_graph_add_triple", {"subject": MEMORY[1], "predicate": "is", "object": MEMORY[3]}),
            ("memory_query_graph", {"query": MEMORY[1]}),
            ("memory_store_procedure", {"name": MEMORY[3], "steps": [MEMORY[2]]}),
            ("memory_match_procedure", {"task": MEMORY[3]}),
            ("memory_set_working", {"key": MEMORY[3], "content": MEMORY[2]}),
            ("memory_get_working", {"key": MEMORY[3]}),
            ("memory_get_stats", {}),
        ):
            session.call(key, tool, arguments)
        project = {"org_id": "o", "project_id": "p"}
        session.send("POST", "/api/v2/memories", key, json={**project, "messages": [{"content": MEMORY[2]}]})
        session.send("POST", "/api/v2/memories/search", key, json={**project, "query": MEMORY[3]})


def abuse(session: Session) -> None:
    """What goes wrong, with a credential or a memory in every place where one might be quoted."""
    key = session.send("POST", "/v1/keys", json={"agent_id": "bad", "tier": "builder"}).json()["key"]
    good, token = {"X-API-Key": key}, session.send("POST", "/v1/space-token", {"X-API-Key": key}).json()["token"]
    bad = [
        {"X-API-Key": "am_" + secrets.token_urlsafe(32)},
        {"X-API-Key": key + "x"},
        {"X-API-Key": JWT_SECRET},
        {"Authorization": "Bearer am_" + secrets.token_urlsafe(32)},
        {"Authorization": f"Bearer {token[:-4]}AAAA"},
        {"Authorization": f"Bearer {ADMIN[:-1]}"},
        {"Authorization": f"Basic {key}"},
        {"Authorization": f"Bearer {token}", "X-API-Key": key[:-1]},
    ]
    for headers in bad:
        for method, path in (("POST", "/mcp"), ("GET", "/v1/keys"), ("POST", "/v1/keys"), ("POST", "/v1/space-token"),
                             ("POST", "/api/v2/memories"), ("GET", "/nowhere"), ("DELETE", f"/v1/keys/{key}")):  # fmt: skip
            session.send(method, path, headers, json={"agent_id": "x"} if method == "POST" else None)
    secret = MEMORY[0] + MEMORY[2]
    session.send("POST", "/v1/keys", {"Authorization": f"Bearer {ADMIN}"}, json={"agent_id": "x", "tier": MEMORY[3]})
    session.send("GET", f"/{key}/{MEMORY[3]}?api_key={key}&token={token}&q={MEMORY[3]}", good)
    session.send("DELETE", f"/v1/keys/{key}", good)
    session.send("POST", "/v1/space-token", good, json={"redeem": token, "x": MEMORY[3]})
    session.send("POST", "/v1/space-token", good, json={"invite": {"space_id": MEMORY[3], "role": MEMORY[1]}})
    broken = (f'{{"jsonrpc": "2.0", "method": "{MEMORY[1]}"', f'["{MEMORY[3]}", {{', f'{{"{MEMORY[3]}": \xff')
    for data in broken:
        for path in ("/mcp", "/v1/keys", "/v1/space-token", "/api/v2/memories"):
            session.send("POST", path, {**good, "Content-Type": "application/json"}, data=data.encode("latin-1"))
    wrong = ([secret], {"deep": secret}, 10**30, secret * 3_000, "\ud800", None, True)
    listing = session.send("POST", "/mcp", good, json={"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).json()
    for tool in listing["result"]["tools"]:
        for value in wrong:
            session.call(good, tool["name"], {name: value for name in tool["inputSchema"]["properties"] if name != "confirm"})
    session.call(good, MEMORY[3], {})
    session.send("POST", "/api/v2/memories", good, json={"org_id": "o", "project_id": "p", "messages": secret})
    session.send("POST", "/api/v2/memories/search", good, json={"org_id": [secret], "query": {"x": secret}, "filter": secret})
    session.send("POST", "/mcp", {**good, "Content-Type": "application/json"}, data=b"[" * 100_000 + MEMORY[3].encode())


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Session]:
    """Everything that a started service printed while it was used and abused, and the session of its client."""
    folder: Path = tmp_path_factory.mktemp("service")
    settings = {"AM_KEY_PEPPER": PEPPER, "JWT_SECRET": JWT_SECRET, "AM_ADMIN_TOKEN": ADMIN, "LOG_LEVEL": "DEBUG"}
    log = folder / "log.txt"
    with served(folder, settings, log) as base_url:
        session = Session(base_url)
        use(session)
        abuse(session)
        session.http.close()
    return log.read_text(errors="replace"), session


def test_the_run_reaches_what_it_is_about(run):
    log, session = run
    assert log.count("\n") > 300
    assert len(session.errors) > 150
    assert '"severity":"ERROR"' not in log, "something failed that should not; its line is in the log"


def test_no_credential_is_logged(run):
    log, session = run
    assert leaks(log, [PEPPER, JWT_SECRET, ADMIN, *set(session.credentials)]) == []


def test_no_memory_is_logged(run):
    log, _ = run
    assert [word for word in OPAQUE if word in log] == []


def test_no_error_repeats_a_credential(run):
    _, session = run
    for what, text in session.errors:
        assert leaks(text, [PEPPER, JWT_SECRET, ADMIN, *set(session.credentials)]) == [], what


def test_no_error_tells_how_the_service_is_made(run):
    _, session = run
    for what, text in session.errors:
        for mark in ("Traceback", ".py", "site-packages", "sqlite", "pydantic", "<html", "File \""):
            assert mark not in text, f"{what} shows {mark}"


# --- the search itself


def test_a_leak_is_found():
    key = "am_" + "x1Y_" * 10
    assert leaks(f"GET /v1/keys {key}") == ["an API key at 13"]
    assert leaks("token eyJhbGciOiJIUzI1NiJ9.e30.") == ["a JSON web token at 6"]
    assert leaks("Authorization: bearer abcdefghijklmnop1234")[0].startswith("a bearer credential")
    assert leaks("...a secret of twelve or more...", ["my a secret of twelve"]) != []
    assert leaks("nothing", ["a secret of twelve", ""]) == []
