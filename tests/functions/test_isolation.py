"""Nothing of one tenant shows in anything that another one sees, and no id that a caller makes up leads out of its own."""

from __future__ import annotations

import json
import re

import pytest
from am_server import wiring
from am_server.store.port import Query
from am_server.tools.catalogue import load
from am_server.tools.schemas import input_schema
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from werkzeug.test import TestResponse

from tests.functions.caller import Caller, tool_call
from tests.functions.spaces import Member
from tests.functions.spying import SpyingObjects, SpyingStore
from tests.fuzz.generate import hostile_texts, well_formed

WORD, SECRET = "xylophone", "marmalade"
"""What the neighbour's things are called, which others may guess, and what they say."""

COLLECTIONS = ("episodes", "graph", "procedures", "working", "requests", "memberships", "snapshots")

def examples(number: int) -> settings:
    """So many made-up inputs, the same ones on every run."""
    checks = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
    return settings(max_examples=number, deadline=None, derandomize=True, database=None, suppress_health_check=checks)


def fill(member: Member) -> dict[str, str]:
    """One of everything, all of it about WORD. Returns the ids."""
    space = member.create(f"{WORD} space")
    member.ok("memory_shared_store_entity", space_id=space, name=WORD, description=SECRET)
    said = {
        "episode": ("memory_store_episode", {"content": f"my {WORD} is {SECRET}", "metadata": {"session_id": "s"}}),
        "entity": ("memory_store_entity", {"entity_id": WORD, "description": SECRET, "predicate": "is", "object_value": "Bob"}),
        "procedure": ("memory_store_procedure", {"name": WORD, "steps": [SECRET]}),
        "working": ("memory_set_working", {"key": WORD, "content": SECRET}),
        "triple": ("memory_graph_add_triple", {"subject": WORD, "predicate": "is", "object": SECRET}),
    }
    made = {"space": space}
    for kind, (tool, arguments) in said.items():
        result = member.mcp.call(tool, **arguments)
        assert not result["isError"], result
        made[kind] = str(result["structuredContent"].get("id", ""))
    return made


def ask(member: Member, tool: str, arguments: object) -> TestResponse:
    """A tool call with key and token."""
    return member.mcp.post(tool_call(tool, arguments), {"Authorization": f"Bearer {member.token}"})


class Tenants:
    """An agent that asks for everything, and a neighbour that has everything."""

    def __init__(self, app, services: wiring.Services) -> None:
        services.__dict__["store"] = self.store = SpyingStore(services.store)
        services.__dict__["objects"] = self.objects = SpyingObjects(services.objects)
        builder = services.tiers["builder"]
        self.services = services
        self.me = Member(Caller(app, services.accounts.sign_up("agent", builder).key))
        self.other = Member(Caller(app, services.accounts.sign_up("agent", builder).key))
        self.caller = services.accounts.authenticate(self.me.mcp.key, None)
        self.neighbour = services.accounts.authenticate(self.other.mcp.key, None)
        self.ids = fill(self.other)
        self.space = self.me.create("mine")
        self.me.ask()
        self.victims = [
            self.neighbour.account, self.neighbour.agent_uid, self.neighbour.did, str(self.neighbour.key_id),
            f"agents/{self.neighbour.agent_uid}/episodes/{self.ids['episode']}", f"../../{self.neighbour.agent_uid}",
            *filter(None, self.ids.values()), WORD,
        ]  # fmt: skip

    def content(self) -> dict[str, object]:
        """Everything that is stored for the neighbour."""
        root, space = f"agents/{self.neighbour.agent_uid}", f"spaces/{self.ids['space']}"
        paths = [f"{root}/{name}" for name in COLLECTIONS] + [f"{space}/members", f"{space}/graph"]
        return {path: [(d.path, d.updated_at, dict(d.data)) for d in self.services.store.query(Query(path))] for path in paths}

    def watch(self) -> None:
        """Forget what was asked of the stores so far."""
        self.store.paths.clear()
        self.store.queries.clear()
        self.objects.names.clear()

    def strayed(self) -> list[str]:
        """Every path, query and blob since `watch` that is not the asking tenant's own."""
        mine = self.caller
        store = self.services.store._store
        projects = [str(d.data["uid"]) for d in store.query(Query(f"accounts/{mine.account}/projects"))]
        roots = [f"agents/{uid}" for uid in (mine.agent_uid, *projects)]
        roots += [f"accounts/{mine.account}", f"usage/{mine.account}", f"spaces/{self.space}"]
        roots += [f"spaces/{d.id}" for d in store.query(Query(f"agents/{mine.agent_uid}/memberships"))]
        roots += [path for path in self.store.paths if re.fullmatch("spaces/[0-9a-f]{32}", path) and store.get(path) is None]
        paths = [*self.store.paths, *(q.collection for q in self.store.queries if q.collection not in ("keys", "spaces"))]
        roots += [path for path in self.store.paths if re.fullmatch(f"spaces/[0-9a-f]{{32}}/members/{mine.agent_uid}", path)]
        wrong = [path for path in [*paths, *self.objects.names] if not _within(path, roots)]
        allowed = {mine.account, mine.key_id}
        shared = [query for query in self.store.queries if query.collection in ("keys", "spaces")]
        wrong += [repr(query) for query in shared if query.where[0].value not in allowed]
        return wrong


def _within(path: str, roots: list[str]) -> bool:
    own = any(path == root or path.startswith(f"{root}/") for root in roots)
    return own and not {"..", ".", ""} & set(path.removesuffix("/").split("/"))


@pytest.fixture(scope="module")
def tenants(app, services) -> Tenants:
    return Tenants(app, services)


@examples(400)
@given(data=st.data())
def test_no_argument_leads_out_of_the_tenant(tenants, data):
    tool = data.draw(st.sampled_from(sorted(set(load()) - {"memory_delete_agent"})))
    texts = hostile_texts(*tenants.victims)
    arguments = data.draw(well_formed(input_schema(load()[tool].arguments), texts))
    tenants.watch()
    answer = ask(tenants.me, tool, arguments)
    assert answer.status_code == 200
    assert tenants.strayed() == []
    assert SECRET not in answer.get_data(as_text=True)


@examples(150)
@given(data=st.data())
def test_no_argument_of_a_route_leads_out_of_the_tenant(tenants, data):
    texts = hostile_texts(*tenants.victims)
    names = {"org_id": texts, "project_id": texts}
    more = {
        **dict.fromkeys(("query", "episodic_id", "semantic_id", "filter", "agent_id", "redeem"), texts),
        "type": st.sampled_from(["episodic", "semantic"]),
        "messages": st.lists(st.fixed_dictionaries({"content": texts}), min_size=1, max_size=2),
        "invite": st.fixed_dictionaries({"space_id": texts, "role": st.just("reader")}),
        "remove": st.fixed_dictionaries({"space_id": texts, "agent_id": texts}),
    }
    path = data.draw(st.sampled_from(ROUTES))
    body = data.draw(st.fixed_dictionaries(names, optional=more))
    tenants.watch()
    answer = tenants.me.mcp.post(body, path=path)
    assert answer.status_code < 500, answer.get_data(as_text=True)
    assert SECRET not in answer.get_data(as_text=True)
    assert tenants.strayed() == []


ROUTES = (
    "/v1/space-token", "/api/v2/projects", "/api/v2/projects/get", "/api/v2/projects/delete", "/api/v2/memories",
    "/api/v2/memories/search", "/api/v2/memories/list", "/api/v2/memories/episodic/delete", "/api/v2/memories/semantic/delete",
)  # fmt: skip


@examples(60)
@given(data=st.data())
def test_no_name_of_an_agent_leads_out_of_the_account(tenants, data):
    agent_id = data.draw(hostile_texts(*tenants.victims, *"abc"))
    made = tenants.me.mcp.post({"agent_id": agent_id}, path="/v1/keys")
    if made.status_code != 201:
        assert made.status_code in (403, 422)
        return
    caller = tenants.services.accounts.authenticate(made.json["key"], None)
    assert (caller.account, caller.agent_id) == (tenants.caller.account, agent_id)
    assert caller.agent_uid != tenants.neighbour.agent_uid
    assert re.fullmatch("[0-9a-f]{32}", caller.agent_uid)


# --- what one tenant is told does not depend on another


def script(app, services, account: str) -> list[object]:
    """What an agent is told by every tool and route that it asks about things that it does not have."""
    me = Member(Caller(app, services.accounts.sign_up("agent", services.tiers[account]).key))
    me.ask()
    told: list[object] = []
    for name, arguments in (*questions(NOWHERE), *WRITES):
        answer = ask(me, name, arguments)
        told.append((name, answer.status_code, answer.json, answer.headers["X-AM-Cost"], answer.headers["X-RateLimit-Remaining"]))
    for method, path, sent in (
        ("GET", "/v1/keys", None),
        ("GET", "/v1/usage", None),
        ("DELETE", "/v1/keys/" + "0" * 24, None),
        ("POST", "/v1/space-token", {}),
        ("POST", "/v1/space-token", {"invite": {"space_id": NOWHERE["space"], "role": "reader"}}),
        ("POST", "/v1/space-token", {"remove": {"space_id": NOWHERE["space"], "agent_id": "agent"}}),
        ("POST", "/api/v2/projects/list", {}),
        ("POST", "/api/v2/projects/get", {"org_id": "o", "project_id": WORD}),
        ("POST", "/api/v2/memories/search", {"org_id": "o", "project_id": WORD, "query": WORD}),
    ):
        answer = me.mcp.send(method, path, json=sent)
        told.append((method, path, answer.status_code, answer.json, answer.headers["X-AM-Cost"]))
    return [neutral(item) for item in told]


def questions(ids: dict[str, str]) -> list[tuple[str, dict[str, object]]]:
    """Every tool, asked about WORD and about these ids; from the first that writes on, the order matters."""
    episode, space = {"node_id": ids["episode"]}, {"space_id": ids["space"]}
    return [
        ("memory_get_stats", {}),
        ("memory_get_episodes", {}),
        ("memory_search_episodes", {"query": WORD, "explain": True}),
        ("memory_search_timeline", {"start_time": "2000-01-01", "end_time": "2100-01-01"}),
        ("memory_list_entities", {}),
        ("memory_get_entity", {"entity_id": WORD}),
        ("memory_get_relations", {"entity_id": WORD}),
        ("memory_query_graph", {"query": WORD}),
        ("memory_semantic_search", {"query": WORD}),
        ("memory_get_neighbors", {"entity_id": WORD}),
        ("memory_traverse_graph", {"start_id": WORD}),
        ("memory_find_path", {"from_id": WORD, "to_id": "Bob"}),
        ("memory_graph_neighbors", {"node": WORD}),
        ("memory_graph_shortest_path", {"from": WORD, "to": "Bob"}),
        ("memory_get_procedure", {"name": WORD}),
        ("memory_get_procedure", {"procedure_id": ids["procedure"]}),
        ("memory_match_procedure", {"task": WORD}),
        ("memory_update_procedure", {"procedure_id": ids["procedure"], "steps": ["x"]}),
        ("memory_list_working", {}),
        ("memory_get_working", {"key": WORD}),
        ("memory_clear_working", {"key": WORD}),
        ("memory_get_pheromone", episode),
        ("memory_get_pheromone", {"node_id": WORD}),
        ("memory_deposit_pheromone", episode),
        ("memory_consolidate_episodes", {}),
        ("memory_shared_query", space),
        ("memory_join_shared_space", {**space, "role": "reader"}),
        ("memory_shared_store_entity", {**space, "name": "x"}),
        ("memory_list_shared_spaces", {}),
    ]


WRITES = (
    ("memory_store_episode", {"content": f"I know {WORD}", "idempotency_key": "once"}),
    ("memory_search_episodes", {"query": WORD}),
    ("memory_store_procedure", {"name": WORD, "steps": ["mine"]}),
    ("memory_create_shared_space", {"name": f"{WORD} space", "idempotency_key": "once"}),
    ("memory_delete_agent", {"confirm": True}),
    ("memory_get_stats", {}),
)

NOWHERE = {
    "episode": "00000000-0000-4000-8000-00000000000e",
    "procedure": "00000000-0000-4000-8000-00000000000f",
    "space": "5" * 32,
}
"""Ids that nobody has."""


VARYING = {
    r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}": "<uuid>", r"eyJ[\w.-]+": "<token>", r"[0-9a-f]{24,}": "<hex>",
    r"\d{4}-\d\d-\d\dT[\d:.]+Z": "<time>", r"\d+\.\d{5,}(e-?\d+)?": "<number>", r'"last_four": "[^"]+"': "<last four>",
}  # fmt: skip


def neutral(told: object) -> str:
    """What was told, without what differs between any two runs."""
    text = json.dumps(told)
    for pattern, name in VARYING.items():
        text = re.sub(pattern, name, text)
    return text


def test_answers_costs_and_errors_do_not_tell_that_there_is_a_neighbour(app, services, setting, tmp_path):
    setting("AM_DATA_DIR", str(tmp_path / "alone"))
    alone = script(app, wiring.services(), "builder")
    setting("AM_DATA_DIR", str(tmp_path / "beside"))
    crowded = wiring.services()
    neighbour = Member(Caller(app, crowded.accounts.sign_up("agent", crowded.tiers["builder"]).key))
    fill(neighbour)
    neighbour.mcp.call("memory_store_episode", content=f"I know {WORD}", idempotency_key="once")
    neighbour.ok("memory_create_shared_space", name=f"{WORD} space", idempotency_key="once")
    neighbour.mcp.post({"org_id": "o", "project_id": WORD, "messages": [{"content": WORD}]}, path="/api/v2/memories")
    beside = script(app, crowded, "builder")
    for expected, told in zip(alone, beside, strict=True):
        assert told == expected


def test_what_exists_elsewhere_is_refused_like_what_exists_nowhere(app, tenants):
    """An id that is somebody else's gets the same answer, at the same cost, as one that nobody has."""
    stranger = Member(Caller(app, tenants.services.accounts.sign_up("agent", tenants.services.tiers["builder"]).key))
    stranger.ok("memory_list_shared_spaces")
    pairs = [(name, real, made_up) for (name, real), (_, made_up) in zip(questions(tenants.ids), questions(NOWHERE), strict=True)]
    for name, real, made_up in pairs:
        if real != made_up:
            ask(stranger, name, made_up)  # what is read once for each agent is in memory then
            theirs, nobodys = ask(stranger, name, real), ask(stranger, name, made_up)
            assert neutral(theirs.json) == neutral(nobodys.json), name
            assert theirs.headers["X-AM-Cost"] == nobodys.headers["X-AM-Cost"], name


def test_the_neighbour_is_as_it_was(tenants):
    before = tenants.content()
    assert sum(SECRET in repr(found) for found in before.values()) >= 5
    test_no_argument_leads_out_of_the_tenant(tenants)
    tenants.watch()
    ask(tenants.me, "memory_delete_agent", {"confirm": True})
    assert tenants.strayed() == []
    assert tenants.content() == before
