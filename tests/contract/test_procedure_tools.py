"""Procedures: versions, outcomes, matching, and many writers at once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from am_server.errors import Invalid, NotFound
from am_server.memory.procedures import Procedure, Procedures, success_rate

from tests.unit.calling import Agent

NOBODY = "00000000-0000-4000-8000-000000000000"


def read(agent: Agent, **which: Any) -> dict[str, Any]:
    out = agent.call("memory_get_procedure", **which)
    assert out["found"] is True
    return dict(out["procedure"])


def test_versions_stay_readable(agent: Agent) -> None:
    first = agent.call("memory_store_procedure", name="brew tea", description="Make tea", steps=["boil"], tags=["kitchen"])["id"]
    out = agent.call("memory_update_procedure", procedure_id=first, steps=["warm", {"action": "boil"}], reason="better")
    second = out["new_id"]
    assert (out["old_procedure_id"], out["version"]) == (first, 2)
    old, new = read(agent, procedure_id=first), read(agent, name="brew tea")
    assert (old["id"], old["version"], old["steps"], old["newest"]) == (first, 1, ["boil"], False)
    assert (new["id"], new["version"], new["steps"], new["newest"]) == (second, 2, ["warm", {"action": "boil"}], True)
    assert (new["description"], new["tags"], new["supersedes"], new["reason"]) == ("Make tea", ["kitchen"], first, "better")
    assert read(agent, procedure_id=second) == new


def test_storing_a_name_again_is_a_new_version(agent: Agent) -> None:
    first = agent.call("memory_store_procedure", name="p", description="old", tags=["x"])
    agent.call("memory_update_procedure", name="p", outcome="success")
    second = agent.call("memory_store_procedure", name="p", steps=["new"])
    assert (first["version"], second["version"]) == (1, 2)
    newest = read(agent, name="p")
    assert (newest["steps"], newest["tags"], newest["success_count"]) == (["new"], [], 1)
    assert "description" not in newest
    assert read(agent, procedure_id=first["id"])["description"] == "old"


def test_outcomes_are_counted_over_versions(agent: Agent) -> None:
    agent.call("memory_store_procedure", name="p")
    assert "success_rate" not in read(agent, name="p")
    assert agent.call("memory_update_procedure", name="p", outcome="success")["success_count"] == 1
    out = agent.call("memory_update_procedure", name="p", steps=["x"], outcome="failure")
    assert (out["success_count"], out["failure_count"], out["version"]) == (1, 1, 2)
    same = agent.call("memory_update_procedure", procedure_id=out["old_procedure_id"], outcome="success")
    assert same["new_id"] == out["new_id"]
    counted = read(agent, name="p")
    assert (counted["success_count"], counted["failure_count"], counted["success_rate"]) == (2, 1, pytest.approx(2 / 3))


def test_an_update_says_what_is_missing(agent: Agent) -> None:
    agent.call("memory_store_procedure", name="p")
    error = agent.error("memory_update_procedure", name="p")
    assert isinstance(error, Invalid)
    assert error.field == "steps"
    error = agent.error("memory_update_procedure", steps=["x"])
    assert isinstance(error, Invalid)
    assert "procedure_id" in error.message
    for which in ({"procedure_id": NOBODY}, {"name": "q"}, {"procedure_id": "q"}):
        assert isinstance(agent.error("memory_update_procedure", **which, steps=["x"]), NotFound)


def test_a_name_is_found_in_another_spelling_and_as_an_id(agent: Agent) -> None:
    id = agent.call("memory_store_procedure", name="Brew Tea")["id"]
    assert read(agent, name="brew  tea")["id"] == read(agent, procedure_id="Brew Tea")["id"] == id
    assert agent.call("memory_get_procedure", name="brew") == {"found": False, "name": "brew"}
    assert agent.call("memory_get_procedure", procedure_id=NOBODY) == {"found": False, "procedure_id": NOBODY}


def test_matching_weighs_words_with_success(agent: Agent) -> None:
    for name in ("blue-green release", "rolling release"):
        agent.call("memory_store_procedure", name=name, description="Put a new version into production")
    agent.call("memory_store_procedure", name="bake bread", description="Knead and bake", steps=[{"action": "proof the dough"}])

    def names(task: str) -> list[str]:
        return [result["procedure"]["name"] for result in agent.call("memory_match_procedure", task=task)["results"]]

    agent.call("memory_update_procedure", name="rolling release", outcome="success")
    assert names("put a version into production") == ["rolling release", "blue-green release"]
    for _ in range(3):
        agent.call("memory_update_procedure", name="rolling release", outcome="failure")
    assert names("put a version into production") == ["blue-green release", "rolling release"]
    assert names("proofing dough") == ["bake bread"]
    assert names("zzyzx") == []


def test_the_smoothed_rate() -> None:
    assert (success_rate(0, 0), success_rate(1, 0), success_rate(0, 2)) == (0.5, pytest.approx(2 / 3), 0.25)
    matched = Procedures({"x": Procedure("1", "x", 1, successes=9), "y": Procedure("2", "x y", 1)}).match("x", 5)
    assert [one.id for one, _ in matched] == ["1", "2"]


def test_many_updates_at_once_are_all_kept(agent: Agent) -> None:
    first = agent.call("memory_store_procedure", name="p")["id"]

    def job(number: int) -> str:
        if number % 2:
            agent.call("memory_update_procedure", procedure_id=first, outcome="success")
            return ""
        return str(
            agent.call("memory_update_procedure", procedure_id=first, steps=[f"step {number}"], outcome="failure")["new_id"]
        )

    with ThreadPoolExecutor(8) as pool:
        ids = [id for id in pool.map(job, range(24)) if id]
    newest = read(agent, name="p")
    assert (newest["version"], newest["success_count"], newest["failure_count"]) == (13, 12, 12)
    assert sorted(read(agent, procedure_id=id)["steps"][0] for id in ids) == sorted(f"step {n}" for n in range(0, 24, 2))
    chain = [newest["id"]]
    while "supersedes" in (one := read(agent, procedure_id=chain[-1])):
        chain.append(one["supersedes"])
    assert sorted(chain) == sorted([first, *ids]), "each version follows one other"


def test_many_first_stores_at_once_are_all_versions(agent: Agent) -> None:
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda n: agent.call("memory_store_procedure", name="p", steps=[str(n)]), range(8)))
    assert sorted(one["version"] for one in made) == list(range(1, 9))


def test_a_retry_with_a_key_makes_nothing_new(agent: Agent) -> None:
    given = {"name": "p", "steps": ["x"], "idempotency_key": "once"}
    first = agent.call("memory_store_procedure", **given)
    agent.call("memory_store_procedure", name="p", steps=["y"])
    assert agent.call("memory_store_procedure", **given) == first
    for change in ({"outcome": "success"}, {"steps": ["z"]}):
        update = {"name": "p", **change, "idempotency_key": "again" + next(iter(change))}
        answer = agent.call("memory_update_procedure", **update)
        assert agent.call("memory_update_procedure", **update) == answer
    newest = read(agent, name="p")
    assert (newest["version"], newest["success_count"]) == (3, 1)


def test_costs(agent: Agent) -> None:
    new = agent.cost("memory_store_procedure", name="p", steps=["x"])
    assert (new.reads, new.writes, new.rpcs) == (0, 2, 1)
    by_name = agent.cost("memory_get_procedure", name="p")
    assert (by_name.reads, by_name.rpcs) == (1, 1)
    agent.call("memory_match_procedure", task="x")
    match = agent.cost("memory_match_procedure", task="x")
    # Firestore reads the changes of the last seconds once more
    assert (match.reads, match.rpcs) == (2 if agent.services.settings.store == "firestore" else 1, 1)


@pytest.mark.parametrize(("field", "value"), [("steps", ["x" * 70_000]), ("tags", ["x" * 20_000]), ("description", "x" * 20_000)])
def test_what_is_too_large_is_refused(agent: Agent, field: str, value: object) -> None:
    error = agent.error("memory_store_procedure", name="p", **{field: value})
    assert isinstance(error, Invalid)
    assert error.field == field
