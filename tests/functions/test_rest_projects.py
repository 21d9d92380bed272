"""Projects over /api/v2: made by name or by an add, never by a read, and gone for good when deleted."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from unittest.mock import patch

import pytest
from am_server.rest import adding
from am_server.rest.projects import Place
from am_server.store.port import Query, StoreUnavailable
from am_server.wiring import Services

from tests.functions.caller import Caller
from tests.functions.rest_api import Api

EVERYTHING = {"backend": "event", "embedder": "e", "properties_schema": {"n": "int"}}


@pytest.fixture(scope="module")
def account(agent: Callable[..., Caller]) -> Caller:
    return agent()


@pytest.fixture
def api(account: Caller) -> Api:
    return Api(account)


def listed(api: Api) -> bool:
    return api.where in api.caller.send("POST", "/api/v2/projects/list").json


def test_a_project_is_created_once(api):
    assert api.post("/projects/get").status_code == 404
    made = api.post("/projects", description="mine", config=EVERYTHING)
    assert made.status_code == 201
    assert made.json["description"] == "mine"
    assert made.json["config"]["embedder"] == "e"
    assert api.ok("/projects/get") == made.json
    again = api.post("/projects", description="other words", config=EVERYTHING)
    assert (again.status_code, again.json) == (201, made.json)
    assert "another config" in api.refused("/projects", 409, config={"embedder": "f"})
    assert listed(api)


@pytest.mark.parametrize("types", [[], ["semantic"], ["episodic"]])
def test_an_add_creates_the_project_which_a_create_then_describes(api, types):
    api.add("hello", types=types)
    assert api.ok("/projects/get")["description"] == ""
    assert api.post("/projects", description="mine", config=EVERYTHING).json["description"] == "mine"
    assert api.ok("/projects/get")["config"]["backend"] == "event"
    assert api.texts() == ["hello"]


def test_reads_create_nothing(api):
    api.list()
    api.search("x")
    assert api.ok("/projects/episode_count/get") == {"count": 0}
    api.post("/memories/episodic/delete", episodic_id="6f0d4dc4-7a3c-4f5e-9f4f-3a8d7bb4d4b1")
    assert api.post("/projects/get").status_code == 404
    assert not listed(api)


def test_a_deleted_project_is_gone_and_begins_empty_when_made_again(api, services: Services):
    api.add("old words")
    api.search("old")
    assert api.post("/projects/delete").status_code == 204
    assert api.post("/projects/get").status_code == 404
    assert api.post("/projects/delete").status_code == 404
    assert not listed(api)
    assert (api.list(), api.search("old"), api.features()) == ([], [], [])
    assert api.post("/projects", description="again").status_code == 201
    assert (api.list(), api.search("old")) == ([], [])
    api.add("new words")
    assert api.texts() == ["new words"]
    assert api.found("words") == ["new words"]


def test_deleting_erases_what_the_project_held(api, services: Services):
    api.add(*(f"note {n} about the pump" for n in range(200)))
    api.search("pump")
    account = services.accounts.authenticate(api.caller.key, None).account
    uid = services.projects.find(Place(account, **api.where)).uid
    api.post("/projects/delete")
    left = [*services.store.query(Query(f"agents/{uid}/episodes")), *services.store.query(Query(f"agents/{uid}/snapshots"))]
    assert [document.id for document in left] == ["erased"]
    assert list(services.objects.list(f"agents/{uid}/")) == []


def test_a_deletion_that_breaks_off_is_finished_later(api, services: Services):
    api.add("old words")
    with patch.object(services.projects, "_erase", side_effect=StoreUnavailable("out of reach")):
        assert api.post("/projects/delete").status_code == 503
    assert api.post("/projects/get").status_code == 404
    assert not listed(api)
    assert api.list() == []
    api.add("new words")
    assert api.texts() == ["new words"]


def test_an_add_that_a_deletion_overtakes_is_stored_in_the_new_project(api, account, monkeypatch):
    api.add("old words")
    commit_once = adding.commit_once

    def overtaken(*args):
        monkeypatch.setattr(adding, "commit_once", commit_once)
        assert api.post("/projects/delete").status_code == 204
        return commit_once(*args)

    monkeypatch.setattr(adding, "commit_once", overtaken)
    [uid] = api.add("new words")
    assert [(episode["uid"], episode["content"]) for episode in api.list()] == [(uid, "new words")]


def test_creating_deleting_and_adding_at_once_never_fails(api):
    jobs = [
        lambda: api.post("/projects").status_code,
        lambda: api.post("/memories", messages=[{"content": "x"}]).status_code,
        lambda: api.post("/memories/search", query="x").status_code,
        lambda: api.post("/projects/delete").status_code,
    ] * 6
    with ThreadPoolExecutor(8) as pool:
        statuses = set(pool.map(lambda job: job(), jobs))
    assert statuses <= {200, 201, 204, 404, 409}
    assert api.post("/projects/delete").status_code in (204, 404)
    assert (api.list(), listed(api)) == ([], False)


def test_both_names_are_needed(account):
    for path in ("/projects", "/projects/get", "/projects/delete", "/projects/episode_count/get"):
        answer = account.post({"org_id": "org"}, path=f"/api/v2{path}")
        assert answer.status_code == 422
        assert answer.json == {"detail": "project_id: required"}


def test_accounts_do_not_meet(agent, api):
    [uid] = api.add("mine alone")
    other = Api(agent())
    other.where = api.where
    assert (other.list(), other.search("mine")) == ([], [])
    assert other.post("/projects/get").status_code == 404
    assert other.post("/projects/delete").status_code == 404
    assert other.post("/memories/episodic/delete", episodic_id=uid).status_code == 204
    other.add("theirs")
    assert other.post("/projects/delete").status_code == 204
    assert api.texts() == ["mine alone"]
