"""Adding, listing, searching and deleting messages over /api/v2."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from unittest.mock import patch

import pytest
from am_server.store.port import StoreUnavailable
from am_server.wiring import Services

from tests.functions.caller import Caller
from tests.functions.rest_api import Api


@pytest.fixture(scope="module")
def account(agent: Callable[..., Caller]) -> Caller:
    return agent()


@pytest.fixture
def api(account: Caller) -> Api:
    return Api(account)


# --- add


def test_a_message_comes_back_as_it_was_sent(api):
    message = {"content": "The heron came back.", "producer": "Ada", "produced_for": "Bob", "role": "assistant"}
    message |= {"timestamp": "2024-01-02T04:04:05.5+01:00", "metadata": {"place": "pond", "role": "mine", "metadata": "x"}}
    [uid] = api.add({**message, "episode_type": "message"})
    [listed] = api.list()
    assert listed == {
        "uid": uid,
        "content": "The heron came back.",
        "created_at": "2024-01-02T03:04:05.500000Z",
        "producer_id": "Ada",
        "producer_role": "assistant",
        "produced_for_id": "Bob",
        "episode_type": "message",
        "content_type": "string",
        "metadata": {"place": "pond", "role": "mine", "metadata": "x"},
        "session_key": f"org/{api.where['project_id']}",
    }
    [hit] = api.search("heron")
    assert isinstance(hit.pop("score"), float)
    del listed["session_key"]
    assert hit == listed


def test_messages_of_one_moment_stay_in_the_order_they_were_sent(api):
    moment = "2024-01-02T03:04:05Z"
    api.add(*({"content": f"turn {n}", "timestamp": moment} for n in range(30)))
    api.add({"content": "before", "timestamp": "2024-01-01"}, {"content": "last", "timestamp": moment})
    assert api.texts() == ["before", *(f"turn {n}" for n in range(30)), "last"]
    assert api.texts(page_size=4, page_num=7) == ["turn 27", "turn 28", "turn 29", "last"]
    assert api.texts(page_size=4, page_num=8) == []


def test_a_large_batch_is_stored_at_once(api, services: Services):
    commits = []
    commit = type(services.store).commit

    def counted(self, writes):
        commits.append(len(writes))
        return commit(self, writes)

    with patch.object(type(services.store), "commit", counted):
        uids = api.add(*(f"line {n}" for n in range(2_500)))
    assert max(commits) >= 2_500
    assert [episode["uid"] for episode in api.list(page_size=1000, page_num=1)] == uids[1000:2000]
    assert api.ok("/projects/episode_count/get") == {"count": 2_500}


def test_too_large_a_batch_is_refused_and_nothing_is_stored(api):
    assert "at most 2500" in api.refused("/memories", 413, messages=[{"content": ""}] * 2_501)
    assert "messages.1.content" in api.refused("/memories", 413, messages=[{"content": "x"}, {"content": "y" * 400_001}])
    assert api.list() == []
    assert api.post("/projects/get").status_code == 404


def test_a_long_message_is_found_by_its_last_word(api):
    text = "word " * 70_000 + "zebraquartz"
    api.add(text)
    assert api.search("zebraquartz")[0]["content"] == text


def test_a_store_that_fails_leaves_nothing_behind(api, services: Services):
    with patch.object(type(services.store), "commit", side_effect=StoreUnavailable("out of reach")):
        assert api.post("/memories", messages=[{"content": "x"}] * 3).status_code == 503
    assert api.list() == []
    assert api.post("/projects/get").status_code == 404


def test_a_retry_with_the_same_idempotency_key_adds_nothing(api):
    key = {"Idempotency-Key": "batch-1"}
    body = {"messages": [{"content": "once"}, {"content": "twice"}]}
    first, second = api.post("/memories", key, **body), api.post("/memories", key, **body)
    assert first.json == second.json
    assert api.texts() == ["once", "twice"]
    other = api.post("/memories", key, messages=[{"content": "other"}])
    assert other.status_code == 409
    assert api.post("/memories", {"Idempotency-Key": "batch-2"}, **body).json != first.json
    assert len(api.list()) == 4


def test_a_retry_after_an_answer_that_was_lost_adds_nothing(api, services: Services):
    commit = type(services.store).commit

    def committed_but_unheard(self, writes):
        commit(self, writes)
        raise StoreUnavailable("the connection broke")

    key, body = {"Idempotency-Key": "lost"}, {"messages": [{"content": "once"}] * 3}
    with patch.object(type(services.store), "commit", committed_but_unheard):
        assert api.post("/memories", key, **body).status_code == 503
    answer = api.post("/memories", key, **body)
    assert [episode["uid"] for episode in api.list()] == [result["uid"] for result in answer.json["results"]]


def test_readers_see_a_whole_batch_or_nothing_of_it(api):
    seen = set()
    with ThreadPoolExecutor(1) as pool:
        adding = pool.submit(api.add, *(f"line {n}" for n in range(2_500)))
        while not adding.done():
            seen.add(api.ok("/projects/episode_count/get")["count"])
            seen.add(len(api.search("line", top_k=5)) * 500)
    assert seen <= {0, 2_500}


def test_many_adds_at_once_to_a_new_project(api):
    with ThreadPoolExecutor(8) as pool:
        uids = [uid for [uid] in pool.map(lambda n: api.add(f"note {n}"), range(16))]
    assert {episode["uid"] for episode in api.list()} == set(uids)


def test_a_refusal_names_the_fields_and_leaks_nothing(api):
    detail = api.refused("/memories", messages=[{"content": 5}, {"content": "x", "metadata": {"n": 1}, "timestamp": "s3cret"}])
    assert "messages.0.content" in detail
    assert "messages.1.metadata.n" in detail
    assert "messages.1.timestamp" in detail
    assert "s3cret" not in detail
    assert "/" not in detail.replace("and there is no /", "")
    assert api.list() == []


@pytest.mark.parametrize(
    ("data", "media", "status"),
    [
        (b'{"messages": [{"content": "x"}]}', "application/json; charset=utf-8", 200),
        (b'{"messages": [{"content": "x"}]}', "application/vnd.api+json", 200),
        (b'{"messages": [{"content": "x"}]}', "text/plain", 422),
        (b'{"messages": [{"content": "x"}]', "application/json", 422),
        (b'{"messages": [{"content": "x", "timestamp": NaN}]}', "application/json", 422),
        (b'{"messages": [{"content": "x", "timestamp": 1e400}]}', "application/json", 422),
        (b'{"messages": [{"content": "\\ud83d"}]}', "application/json", 422),
        (b'["messages"]', "application/json", 422),
        (b'{"messages": "\xff"}', "application/json", 400),
    ],
)
def test_bodies(account, data, media, status):
    answer = account.send("POST", "/api/v2/memories", {"Content-Type": media}, data=data)
    assert answer.status_code == status
    assert status == 200 or isinstance(answer.json["detail"], str)


# --- list and search


def test_reading_one_type_or_both(api):
    api.add("Ada bought a bicycle.")
    assert set(api.ok("/memories/list")["content"]) == {"episodic_memory", "semantic_memory"}
    both = api.ok("/memories/search", query="bicycle")["content"]
    assert [hit["content"] for hit in both["episodic_memory"]["long_term_memory"]["episodes"]] == ["Ada bought a bicycle."]
    assert both["episodic_memory"]["short_term_memory"] == {"episodes": [], "episode_summary": [""]}
    assert [feature["value"] for feature in both["semantic_memory"]] == ["Ada bought a bicycle."]


def test_a_project_without_messages_reads_empty(api):
    empty = {"long_term_memory": {"episodes": []}, "short_term_memory": {"episodes": [], "episode_summary": [""]}}
    assert api.ok("/memories/search", query="x") == {"status": 0, "content": {"episodic_memory": empty, "semantic_memory": []}}
    assert api.ok("/memories/list") == {"status": 0, "content": {"episodic_memory": [], "semantic_memory": []}}
    api.ok("/projects")
    assert api.ok("/memories/search", query="x")["content"] == {"episodic_memory": empty, "semantic_memory": []}


def test_filters_mean_the_same_in_list_and_search(api):
    api.add(
        {"content": "note one", "producer": "Ada", "metadata": {"user-id": "u1", "n": "5"}, "timestamp": "2024-01-01"},
        {"content": "note two", "producer": "O'Brien", "metadata": {"user-id": "u2"}, "timestamp": "2024-03-01"},
        {"content": "note three", "role": "system", "timestamp": "2024-05-01"},
    )
    cases = {
        "metadata.user-id = 'u1'": {"one"},
        "metadata.n >= 5": {"one"},
        "metadata.user-id IS NULL": {"three"},
        "NOT metadata.user-id = 'u1'": {"two"},
        "producer_id = 'O''Brien' OR producer_role = system": {"two", "three"},
        "created_at > date('2024-02-01') AND created_at < '2024-04-01'": {"two"},
        "content = 'note two'": {"two"},
        f"session_key = 'org/{api.where['project_id']}'": {"one", "two", "three"},
    }
    for text, expected in cases.items():
        assert {content.split()[1] for content in api.texts(filter=text)} == expected, text
        assert {content.split()[1] for content in api.found("note", filter=text)} == expected, text
        assert {feature["value"].split()[1] for feature in api.features(filter=text)} == expected, text
        assert {content.split()[1] for content in api.statements("note", filter=text)} == expected, text


@pytest.mark.parametrize("path", ["/memories/list", "/memories/search"])
def test_a_filter_that_cannot_be_read_is_refused_alike(api, path):
    assert api.refused(path, query="x", filter="user_id='u1'").startswith("filter: unknown field 'user_id'")
    assert "(at character 14)" in api.refused(path, query="x", filter="producer_id =")


def test_a_threshold_holds_for_messages_and_statements(api):
    api.add("The heron stood in the pond.", "The bus to the pond was late.")
    best, second = api.search("heron")[0]["score"], api.search("pond heron")[1]["score"]
    assert best > second
    assert api.found("heron", score_threshold=best + 1) == []
    assert api.statements("heron", score_threshold=best + 1) == []
    assert api.found("pond heron", score_threshold=second + 0.01) == ["The heron stood in the pond."]


def test_context_is_taken_from_the_neighbours_within_top_k(api):
    words = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta"]
    api.add(*({"content": word, "timestamp": f"2024-01-0{n + 1}"} for n, word in enumerate(words)))
    assert api.found("delta") == ["delta"]
    assert api.found("delta", expand_context=3) == ["gamma", "delta", "epsilon", "zeta"]
    assert api.found("delta", expand_context=99, top_k=3) == ["delta", "epsilon", "zeta"]
    assert api.found("delta", expand_context=-1) == ["delta"]
    assert len({hit["score"] for hit in api.search("delta", expand_context=3)}) == 1
    assert api.found("delta", expand_context=3, filter="content != 'epsilon'") == ["gamma", "delta", "zeta", "eta"]


BAD_PAGES = [("page_size", 0), ("page_size", -1), ("page_size", 1001), ("page_num", -1), ("page_num", None)]


@pytest.mark.parametrize(("field", "value"), BAD_PAGES)
def test_pages_out_of_range_are_refused(api, field, value):
    assert field in api.refused("/memories/list", **{field: value})


# --- statements


def test_statements_cite_their_message(api):
    [uid] = api.add({"content": "I love tea. Shall we meet? We will go to Rome.", "producer": "Ada"})
    features = api.features()
    assert [(feature["category"], feature["value"]) for feature in features] == [
        ("preference", "I love tea."),
        ("question", "Shall we meet?"),
        ("plan", "We will go to Rome."),
    ]
    assert features[0] == {
        "set_id": f"org/{api.where['project_id']}",
        "category": "preference",
        "tag": "Ada",
        "feature_name": "i love tea",
        "value": "I love tea.",
        "metadata": {"id": f"{uid}:0", "citations": [uid]},
    }


def test_statements_are_searched_and_paged(api):
    api.add("Tea is hot. Coffee is cold.", "Rain falls. The pump leaks. Snow melts.", "", "Tea again.")
    assert api.statements("pump")[0] == "The pump leaks."
    assert len(api.statements("tea", top_k=1)) == 1
    pages = [[feature["value"] for feature in api.features(page_size=2, page_num=n)] for n in range(4)]
    assert pages == [["Tea is hot.", "Coffee is cold."], ["Rain falls.", "The pump leaks."], ["Snow melts.", "Tea again."], []]


def test_a_deleted_statement_is_gone_and_its_message_stays(api):
    [uid] = api.add("Tea is hot. Coffee is cold. Rain falls.")
    answer = api.post("/memories/semantic/delete", semantic_id=f"{uid}:1", semantic_ids=["1", f"{uuid.uuid4()}:0", "__x__:0"])
    assert (answer.status_code, answer.data) == (204, b"")
    assert [feature["value"] for feature in api.features()] == ["Tea is hot.", "Rain falls."]
    assert "Coffee is cold." not in api.statements("coffee")
    assert api.found("coffee") == ["Tea is hot. Coffee is cold. Rain falls."]
    [again] = api.features(page_size=1, page_num=1)
    assert again["value"] == "Rain falls."


def test_types_decide_what_search_finds(api):
    api.add("Tea is hot.", types=["semantic"])
    api.add("Tea is cold.", types=["episodic"])
    assert api.found("tea") == ["Tea is cold."]
    assert api.statements("tea") == ["Tea is hot."]
    assert api.texts() == ["Tea is hot.", "Tea is cold."]
    both = api.ok("/memories/search", query="tea")["content"]
    assert [hit["content"] for hit in both["episodic_memory"]["long_term_memory"]["episodes"]] == ["Tea is cold."]
    assert [feature["value"] for feature in both["semantic_memory"]] == ["Tea is hot."]


# --- delete


def test_deleting_stays_inside_the_project(account, api):
    [uid] = api.add("mine")
    other = Api(account)
    other.add("theirs")
    assert other.post("/memories/episodic/delete", episodic_id=uid).status_code == 204
    assert other.post("/memories/semantic/delete", semantic_id=f"{uid}:0").status_code == 204
    assert api.texts() == ["mine"]
    assert [feature["value"] for feature in api.features()] == ["mine"]


def test_deleting_takes_ids_in_every_spelling(api):
    keep, one, two = api.add("keep", "one", "two")
    answer = api.post("/memories/episodic/delete", episodic_id=one.upper(), episodic_ids=[two.replace("-", ""), one])
    assert (answer.status_code, answer.data) == (204, b"")
    assert [episode["uid"] for episode in api.list()] == [keep]
    assert api.found("one two keep") == ["keep"]
    assert api.ok("/projects/episode_count/get") == {"count": 1}
    assert [feature["value"] for feature in api.features()] == ["keep"]


def test_what_a_message_holds_is_in_no_log_line(api, capsys):
    api.add({"content": "Xylophone-secret", "metadata": {"k": "Xylophone-meta"}})
    api.search("Xylophone-secret", filter="metadata.k = 'Xylophone-meta'")
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines() if line.startswith("{")]
    assert lines
    assert "Xylophone" not in json.dumps(lines)
