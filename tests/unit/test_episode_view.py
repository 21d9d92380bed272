"""Searching while others write, fold, and delete what can be made again."""

from __future__ import annotations

import random
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from am_server.store.metered import metering
from am_server.store.port import Query, merge
from am_server.tools.episodes_store import episode_writes
from am_server.views.episodes import Episodes, EpisodeView, Search
from am_server.wiring import Services

from tests.unit.calling import Agent, instance

ROOT = "agents/a"
WORDS = [first + second for first in ("ba", "ke", "lo", "mi", "nu", "po", "ri", "sa") for second in ("dek", "fin", "gol", "tur")]


@pytest.fixture
def services(tmp_path: Path) -> Iterator[Services]:
    with instance(tmp_path, AM_EMBEDDER="static") as made:
        yield made


def sentence(number: int) -> str:
    return " ".join(random.Random(number).choices(WORDS, k=8)) + f" item{number}"


def fill(services: Services, count: int, first: int = 0) -> None:
    writes = []
    for number in range(first, first + count):
        metadata = {"session_id": f"s{number // 20}", "speaker": ("Ann", "Bob")[number % 2]}
        writes += episode_writes(ROOT, [sentence(number)], metadata, number * 10**9, services.clock.now())[1]
    for start in range(0, len(writes), 400):
        services.store.commit(writes[start : start + 400])


def cold_view(services: Services) -> EpisodeView:
    return Episodes(services.store, services.objects, services.embedder, "weighted", ROOT).refresh()


def found(view: EpisodeView, query: str, limit: int = 12) -> list[tuple[str, float]]:
    return [(result.episode.id, round(result.score, 4)) for result in view.search(Search(query, limit)).results]


def test_a_cold_search_over_ten_thousand_episodes_reads_a_handful_of_documents(services):
    fill(services, 10_000)
    services.views.episodes("a")
    services.views.forget("a")
    with metering() as meter:
        assert len(services.views.episodes("a").search(Search("badek item77", 12)).results) == 12
    assert meter.rpcs <= 4
    assert meter.reads <= 8 + 12
    assert services.views._sizes["agents/a", "episodes"] < 10_000 * 450


def test_blocks_and_documents_give_the_same_answers(services):
    fill(services, 600)
    built = cold_view(services)
    loaded = cold_view(services)
    for query in ("badek fingol", "Ann item13", "what did Bob say about lotur"):
        assert found(built, query) == found(loaded, query) != []


def test_deleting_everything_derived_under_load_changes_no_answer(services):
    fill(services, 400)
    queries = [f"{word} item{number}" for number, word in enumerate(WORDS)]
    warm = cold_view(services)
    expected = {query: found(warm, query) for query in queries}
    harm = random.Random(7)
    stop = threading.Event()

    def destroy() -> None:
        while not stop.is_set():
            for document in services.store.query(Query(f"{ROOT}/snapshots")):
                if harm.random() < 0.5:
                    services.store.commit([merge(document.path, {"newest": b"?", "data": b"?"})])
            if harm.random() < 0.5:
                services.store.delete_tree(f"{ROOT}/snapshots")
            stop.wait(0.01)

    destroyer = threading.Thread(target=destroy)
    destroyer.start()
    try:
        for query in queries:
            assert found(warm, query) == found(cold_view(services), query) == expected[query]
    finally:
        stop.set()
        destroyer.join()


def test_threads_that_store_and_search_find_what_they_stored(services):
    failures: list[str] = []

    def work(worker: int) -> None:
        agent = Agent(services)
        try:
            for number in range(25):
                word = f"worker{worker}x{number}"
                agent.call("memory_store_episode", content=f"{word} was here", metadata={"session_id": f"s{worker}"})
                results = agent.call("memory_search_episodes", query=word, use_pheromone=number % 5 == 0)["results"]
                if not results or word not in results[0]["episode"]["content"]:
                    failures.append(word)
                if number % 10 == 9:
                    services.views.forget("a")
        except Exception as problem:
            failures.append(repr(problem))

    threads = [threading.Thread(target=work, args=(worker,)) for worker in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert len(cold_view(services).search(Search("was here", 200)).results) == 150


READER = """
import sys
from pathlib import Path
from tests.unit.calling import Agent, instance

with instance(Path(sys.argv[1])) as services:
    agent = Agent(services)
    for line in sys.stdin:
        results = agent.call("memory_search_episodes", query=line.strip())["results"]
        print(results[0]["episode"]["content"] if results else "nothing", flush=True)
"""


def test_a_reader_in_another_process_sees_every_acknowledged_write(tmp_path):
    with instance(tmp_path) as services:
        agent = Agent(services)
        command = [sys.executable, "-c", READER, str(tmp_path)]
        root = Path(__file__).parents[2]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=root) as reader:
            for number in range(300):
                agent.call("memory_store_episode", content=f"word{number} was said")
                reader.stdin.write(f"word{number}\n")
                reader.stdin.flush()
                assert reader.stdout.readline().strip() == f"word{number} was said"
            reader.stdin.close()
        assert reader.returncode == 0


def test_views_are_dropped_when_they_outgrow_their_memory(services):
    views = services.views
    views._max_bytes = 200_000
    for uid in ("a", "b", "c"):
        made = [episode_writes(f"agents/{uid}", [sentence(n)], None, n, services.clock.now()) for n in range(300)]
        services.store.commit([write for _, writes in made for write in writes])
        assert len(views.episodes(uid).search(Search("badek", 5)).results) == 5
    assert len(views._views) < 3
    assert sum(views._sizes.values()) <= 200_000
    assert len(views.episodes("a").search(Search("badek", 5)).results) == 5
