"""The documentation does what it says: its commands run, its answers come, its links lead somewhere."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tomllib
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from am_server.identity.tiers import BUILT_IN
from am_server.wiring import SETTINGS

from infra.gateway import ROOT
from tests.e2e.page_session import Reader, linked_checkout
from tests.e2e.pages import COMMANDS, Block, blocks, broken_links, pages, unfenced

SKILL = "skills/agentverse-memory/SKILL.md"
WITHOUT_KEY = ("README.md", "docs/quickstart.md", SKILL)
"""Pages that make their reader's key; on the others AM_API_KEY is set."""

CHECKED = ("json", "toml", "hcl", "text", *COMMANDS)

CLOUD = "it changes a Google Cloud project"
NOT_RUN = Counter(
    {
        "it goes on until it is stopped; the newcomer's test starts it": 2,
        "it is what runs this": 1,
        "the client is not part of the test environment": 2,
        "installs a package; tests/e2e/test_sdk.py builds it": 1,
    }
)
"""How many blocks are left out for which reason, on all pages but the one about the cloud."""


def runnable(page: str) -> list[Block]:
    return [block for block in blocks(page) if block.language in COMMANDS and block.mark != "not run"]


@pytest.mark.skipif(not (shutil.which("curl") and shutil.which("jq")), reason="the pages use curl and jq")
@pytest.mark.parametrize("page", [page for page in pages() if runnable(page)])
def test_every_command_works_and_answers_as_printed(page, base_url, data_dir, new_key, tmp_path):
    key = new_key("pro")
    reader = Reader(
        tmp_path, linked_checkout(tmp_path, data_dir), base_url, key, **({} if page in WITHOUT_KEY else {"AM_API_KEY": key})
    )
    for block in blocks(page):
        if block.mark != "not run":
            reader.follow(block)


def test_what_is_not_run_has_a_reason_and_is_counted():
    left_out = Counter(
        block.reason for page in pages() for block in blocks(page) if block.mark == "not run" and block.reason != CLOUD
    )
    assert left_out == NOT_RUN
    assert {block.page for page in pages() for block in blocks(page) if block.reason == CLOUD} == {"docs/operations.md"}


def test_what_is_not_run_is_at_least_shell():
    for page in pages():
        for block in blocks(page):
            if block.mark == "not run" and block.language == "bash":
                done = subprocess.run(["bash", "-n"], input=block.text, capture_output=True, text=True, check=False)
                assert done.returncode == 0, f"{block.place}: {done.stderr}"


def test_no_block_escapes_the_tests():
    assert [place for page in pages() for place in unfenced(page)] == []
    assert [
        f"{block.place}: {block.language!r}" for page in pages() for block in blocks(page) if block.language not in CHECKED
    ] == []


def test_answers_follow_commands():
    for page in pages():
        before: Block | None = None
        for block in blocks(page):
            if block.mark == "the answer":
                assert before is not None, block.place
                assert before.language in COMMANDS, block.place
            before = block


def test_data_can_be_parsed():
    parsers: dict[str, Callable[[str], object]] = {"json": json.loads, "toml": tomllib.loads}
    for page in pages():
        for block in blocks(page):
            if block.language in parsers:
                parsers[block.language](block.text)


@pytest.mark.parametrize("page", pages())
def test_links_lead_somewhere(page):
    assert broken_links(page) == []


def test_every_page_can_be_reached_from_the_readme():
    seen, waiting = set(), ["README.md"]
    while waiting:
        page = waiting.pop()
        seen.add(page)
        for target in re.findall(r"\]\(([^)#:]+\.md)", (ROOT / page).read_text()):
            found = str(((ROOT / page).parent / target).resolve().relative_to(ROOT))
            if found not in seen:
                waiting.append(found)
    assert {page for page in pages() if page.startswith("docs/")} <= seen


def test_pictures_are_whole():
    for picture in (ROOT / "docs").glob("*.svg"):
        assert ET.parse(picture).getroot().get("aria-label"), f"{picture.name} says nothing to those who cannot see it"


def test_every_make_target_exists():
    told = {
        target
        for page in pages()
        for target in re.findall(r"(?:`|^\s*|&& )make ([a-z-]+)", (ROOT / page).read_text(), re.MULTILINE)
    }
    for target in told:
        done = subprocess.run(
            ["make", "-n", target, "SUITE=x", "ENV=dev", "PROJECT=x", "URL=x"], cwd=ROOT, capture_output=True, check=False
        )
        assert done.returncode == 0, f"make {target}: {done.stderr.decode()}"
    assert {"run", "test", "bench-recall"} <= told


def rows(page: str, heading: str) -> dict[str, list[str]]:
    """The table under a heading: the cells of each row by the first of them."""
    text = (ROOT / page).read_text().split(f"## {heading}\n", 1)[1].split("\n## ", 1)[0]
    lines = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ")]
    return {first.strip("`"): rest for first, *rest in lines[2:]}


def test_the_table_of_settings_is_complete():
    assert {name: cells[0] for name, cells in rows("docs/quickstart.md", "Settings").items()} == dict(SETTINGS)


def test_the_table_of_tiers_is_true():
    def told(limit: int | None, nothing: str = "0") -> str:
        return "no limit" if limit is None else nothing if limit == 0 else f"{limit:,}"

    for name, cells in rows("docs/quickstart.md", "Tiers").items():
        tier = BUILT_IN[name]
        assert cells[:4] == [told(tier.monthly_ops), told(tier.agents), "yes" if tier.a_star else "no", told(tier.spaces, "none")]
    assert list(rows("docs/quickstart.md", "Tiers")) == list(BUILT_IN)


def test_the_readme_is_a_screen_and_a_half():
    text = (ROOT / "README.md").read_text()
    assert len(text.splitlines()) <= 105
    first_screen = "\n".join(text.splitlines()[:48])
    for said in ("make run", "/v1/keys", "memory_store_episode", "memory_search_episodes", "make test"):
        assert said in first_screen


def test_the_printed_address_is_where_make_run_listens():
    assert 'os.environ.get("PORT", "8080")' in Path(ROOT / "infra" / "gateway.py").read_text()
