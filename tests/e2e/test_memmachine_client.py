"""MemMachine's own clients against the started service: the Python client itself, and what the TypeScript client sends."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime, timedelta, timezone

import pytest
import requests
from memmachine_client import MemMachineClient
from memmachine_common.api import EpisodeType, MemoryType


@pytest.fixture(scope="module")
def client(base_url, new_key):
    with MemMachineClient(api_key=new_key(), base_url=base_url) as client:
        yield client


@pytest.fixture
def project(client):
    return client.get_or_create_project("acme", f"p-{uuid.uuid4().hex[:8]}", description="notes")


def contents(episodes):
    return [episode.content for episode in episodes]


def found(memory, query, **options):
    return memory.search(query, **options).content.episodic_memory.long_term_memory.episodes


def test_projects(client):
    name = f"p-{uuid.uuid4().hex[:8]}"
    made = client.create_project("acme", name, description="first")
    assert (made.org_id, made.project_id, made.description) == ("acme", name, "first")
    assert client.get_project("acme", name) == made
    assert client.get_or_create_project("acme", name).description == "first"
    assert made in client.list_projects()
    assert made.get_episode_count() == 0
    made.memory().add("hello")
    made.refresh()
    assert made.get_episode_count() == 1
    assert made.delete()
    with pytest.raises(requests.HTTPError, match="404"):
        client.get_project("acme", name)
    assert made not in client.list_projects()


def test_adding_in_every_form(project):
    memory = project.memory(metadata={"user_id": "u1"})
    [plain] = memory.add("a plain message")
    memory.add("for the record", memory_types=[MemoryType.Episodic])
    memory.add("only a statement.", memory_types=[MemoryType.Semantic])
    moment = datetime(2024, 1, 2, 3, 4, 5, 600, tzinfo=timezone(timedelta(hours=1)))
    [whole] = memory.add(
        "everything",
        role="assistant",
        producer="Ada",
        produced_for="Bob",
        episode_type=EpisodeType.MESSAGE,
        metadata={"place": "pond"},
        timestamp=moment,
    )
    memory.add("naive time", timestamp=datetime(2024, 1, 3))
    first, second, *rest = memory.list().content.episodic_memory
    assert (first.uid, first.created_at) == (whole.uid, moment)
    assert (first.producer_id, first.produced_for_id, first.producer_role) == ("Ada", "Bob", "assistant")
    assert first.metadata == {"user_id": "u1", "place": "pond", "episode_type": "message"}
    assert (second.content, second.created_at) == ("naive time", datetime(2024, 1, 3, tzinfo=UTC))
    assert contents(rest) == ["a plain message", "for the record", "only a statement."]
    assert rest[0].uid == plain.uid
    assert rest[0].producer_id == "user"


def test_searching_with_filters(project):
    one, two = project.memory(metadata={"user_id": "O'Brien"}), project.memory(metadata={"user_id": "u2"})
    one.add("The heron stood in the pond.", metadata={"lang": "en"})
    one.add("The pump was repaired.", metadata={"lang": "de"})
    two.add("A heron flew over the town.")
    assert contents(found(one, "heron"))[0] == "The heron stood in the pond."
    assert "A heron flew over the town." not in contents(found(one, "heron"))
    assert contents(found(one, "pump heron", filter_dict={"metadata.lang": "de"})) == ["The pump was repaired."]
    assert contents(found(one, "pump heron", filter="metadata.lang = 'en' OR metadata.lang = 'fr'")) == [
        "The heron stood in the pond."
    ]
    assert len(found(project.memory(), "heron pump", limit=2)) == 2
    assert found(one, "heron", score_threshold=100.0) == []
    result = one.search("heron").content
    assert result.episodic_memory.short_term_memory.episodes == []
    best = result.semantic_memory[0]
    assert (best.value, best.tag, best.category) == ("The heron stood in the pond.", "user", "fact")
    with pytest.raises(requests.HTTPError, match="422"):
        one.search("heron", filter="user_id = 'x'")


def test_listing_and_deleting(project):
    memory = project.memory()
    uids = [memory.add(f"note {n}.")[0].uid for n in range(5)]
    assert contents(memory.list(page_size=2, page_num=1).content.episodic_memory) == ["note 2.", "note 3."]
    features = memory.list(memory_type=MemoryType.Semantic).content.semantic_memory
    assert [feature.value for feature in features] == [f"note {n}." for n in range(5)]
    assert memory.delete_episodic(uids[0])
    assert memory.delete_episodic(episodic_ids=[uids[1], uids[2]])
    assert memory.delete_semantic(features[3].metadata.id, [features[4].metadata.id])
    assert contents(memory.list().content.episodic_memory) == ["note 3.", "note 4."]
    assert memory.list(memory_type=MemoryType.Semantic).content.semantic_memory == []
    assert project.get_episode_count() == 2


def test_health_metrics_and_configuration(client, project):
    assert client.health_check()["status"] == "healthy"
    project.memory().add("hello")
    assert 'am_requests_total{path="/memories",status="200"}' in client.get_metrics()
    assert project.memory().get_episodic_memory_config().long_term_memory_enabled is True


def test_advanced_routes_fail_at_once(project):
    with pytest.raises(requests.HTTPError, match="501"):
        project.memory().add_feature(set_id="s", category_name="c", tag="t", feature="f", value="v")


def test_a_bad_key_is_refused(base_url):
    with (
        MemMachineClient(api_key="am_" + "x" * 43, base_url=base_url) as stranger,
        pytest.raises(requests.HTTPError, match="401"),
    ):
        stranger.list_projects()


def test_without_a_key_the_local_default_works_as_printed(base_url):
    body = {"messages": [{"content": "<string>", "producer": "user", "produced_for": "", "timestamp": "2023-11-07T05:31:56Z"}]}
    body["messages"][0] |= {"role": "", "metadata": {}, "episode_type": "message"}
    answer = requests.post(
        f"{base_url}/api/v2/memories", json={**body, "org_id": "universal", "project_id": "universal", "types": []}, timeout=10
    )
    assert answer.status_code == 200
    assert [uuid.UUID(result["uid"]).version for result in answer.json()["results"]] == [4]


class TypeScript:
    """What @memmachine/client sends, header for header and body for body."""

    def __init__(self, base_url, key):
        self.base_url = f"{base_url}/api/v2"
        self.http = requests.Session()
        self.http.headers.update(
            {
                "user-agent": "memmachine-ts-client/0.3.9",
                "Content-Type": "application/json",
                "Accept": "application/json, text/plain, */*",
                "Authorization": f"Bearer {key}",
            }
        )
        self.where = {"org_id": "acme", "project_id": f"ts-{uuid.uuid4().hex[:8]}"}

    def post(self, path, body=None, named=True):
        return self.http.post(self.base_url + path, json={**self.where, **(body or {})} if named else None, timeout=10)


def test_the_typescript_clients_requests(base_url, new_key):
    ts = TypeScript(base_url, new_key())
    assert ts.http.get(f"{ts.base_url}/health", timeout=10).json()["status"] == "healthy"
    assert ts.post("/projects/get").status_code == 404
    made = ts.post("/projects", {"description": "", "config": {"reranker": "", "embedder": ""}})
    assert made.status_code == 201
    message = {"content": "The heron came back.", "role": "user", "timestamp": "2024-01-02T03:04:05.678Z"}
    message |= {
        "producer": "user",
        "produced_for": "",
        "episode_type": "message",
        "metadata": {"user_id": "u1", "session_id": "s1"},
    }
    added = ts.post("/memories", {"types": ["episodic", "semantic"], "messages": [message]})
    [uid] = [result["uid"] for result in added.json()["results"]]
    query = {"query": "heron", "top_k": 10, "filter": "", "expand_context": 0, "agent_mode": False}
    hits = ts.post("/memories/search", {**query, "types": ["episodic", "semantic"]}).json()["content"]
    assert [hit["uid"] for hit in hits["episodic_memory"]["long_term_memory"]["episodes"]] == [uid]
    feature_id = hits["semantic_memory"][0]["metadata"]["id"]
    listed = ts.post("/memories/list", {"page_size": 10, "page_num": 0, "filter": "", "type": "episodic"}).json()
    assert listed["content"]["episodic_memory"][0]["created_at"] == "2024-01-02T03:04:05.678000Z"
    assert ts.where in ts.post("/projects/list", named=False).json()
    assert ts.post("/projects/episode_count/get").json() == {"count": 1}
    assert ts.post("/memories/semantic/delete", {"semantic_ids": [feature_id]}).status_code == 204
    assert ts.post("/memories/episodic/delete", {"episodic_ids": [uid]}).status_code == 204
    assert ts.post("/projects/episode_count/get").json() == {"count": 0}
    refused = ts.post("/memories", {"types": ["episodic"], "messages": [{**message, "timestamp": "soon"}]})
    assert refused.status_code == 422
    assert "messages.0.timestamp" in f"{refused.json()['detail']}", "the client prints the detail as text"
    assert ts.http.get(f"{ts.base_url}/metrics", timeout=10).text.startswith("# HELP")
    assert ts.post("/projects/delete").status_code == 204
