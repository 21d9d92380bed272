"""The project's Markdown pages as data: their blocks of code, their links and their anchors.

A comment right before a block says how the tests treat it:

    <!-- not run: reason -->        a command that cannot run in a test
    <!-- fails: text -->            a command that must fail and say this text
    <!-- the answer -->             JSON that the command above it must print; "..." stands for any text
    <!-- file: name -->             what a file of a client's configuration holds

`<!-- no command of this page is run: reason -->` stands for the first of these before every command of its page.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

from markdown_it import MarkdownIt
from markdown_it.token import Token

from infra.gateway import ROOT

Mark = Literal["", "not run", "fails", "the answer", "file"]

COMMANDS = ("bash", "python")

_MARK = re.compile(r"<!-- (not run|fails|the answer|file)(?:: (.+?))? -->\s*")
_WHOLE_PAGE = re.compile(r"<!-- no command of this page is run: (.+?) -->")


@dataclass(frozen=True)
class Block:
    """A fenced block of code."""

    page: str
    line: int
    language: str
    text: str
    mark: Mark = ""
    reason: str = ""

    @property
    def place(self) -> str:
        """Where it is, for a person."""
        return f"{self.page}:{self.line}"


@cache
def pages() -> Sequence[str]:
    """Every Markdown file of the repository, by its path from the root."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return sorted(name for name in listed.stdout.splitlines() if (ROOT / name).exists())


@cache
def tokens(page: str) -> Sequence[Token]:
    """The page, parsed."""
    return MarkdownIt("commonmark").enable("table").parse((ROOT / page).read_text())


def blocks(page: str) -> list[Block]:
    """The fenced blocks of a page in order, with their marks."""
    found: list[Block] = []
    whole = _WHOLE_PAGE.search((ROOT / page).read_text())
    mark: tuple[Mark, str] = ("", "")
    for token in tokens(page):
        if token.type == "html_block":
            match = _MARK.fullmatch(token.content)
            mark = (match[1], match[2] or "") if match else ("", "")  # type: ignore[assignment]
            continue
        if token.type == "fence":
            language = token.info.strip()
            if whole and language in COMMANDS:
                mark = ("not run", whole[1])
            found.append(Block(page, (token.map or [0])[0] + 1, language, token.content, *mark))
        mark = ("", "")
    return found


def unfenced(page: str) -> list[str]:
    """Blocks that are code by their indentation alone, which no test would see."""
    return [f"{page}:{(token.map or [0])[0] + 1}" for token in tokens(page) if token.type == "code_block"]


def links(page: str) -> Iterator[str]:
    """Where the links and pictures of a page lead."""
    for token in tokens(page):
        for part in token.children or ():
            target = part.attrs.get("href") or part.attrs.get("src")
            if target:
                yield str(target)


def anchors(page: str) -> set[str]:
    """The names under which GitHub makes a page's headings addressable."""
    found: set[str] = set()
    heading = False
    for token in tokens(page):
        if token.type == "inline" and heading:
            name = plain = _anchor("".join(part.content for part in token.children or () if part.type in ("text", "code_inline")))
            number = 0
            while name in found:
                number += 1
                name = f"{plain}-{number}"
            found.add(name)
        heading = token.type == "heading_open"
    return found


def _anchor(heading: str) -> str:
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def broken_links(page: str) -> list[str]:
    """The links of a page that lead nowhere within the repository. Addresses of other sites are not asked for."""
    broken = []
    for target in links(page):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        file = (ROOT / page).parent / path if path else ROOT / page
        if not file.exists() or (anchor and anchor not in anchors(str(file.resolve().relative_to(ROOT)))):
            broken.append(target)
    return broken
