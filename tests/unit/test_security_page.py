"""docs/security.md claims only what a test shows."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "security.md").read_text()
PROMISES = [line.split("|")[1:3] for line in PAGE.partition("## Promises")[2].splitlines() if re.match(r"\| [A-Z`]", line)]


def named_tests():
    """(file, test) of every promise; `::name` alone means the file named before it."""
    for _, shown_by in PROMISES:
        file = ""
        for named, test in re.findall(r"`([\w/.]*)::(\w+)`", shown_by):
            file = named or file
            yield file, test


def test_every_promise_names_a_test():
    assert len(PROMISES) > 30
    assert [promise for promise, shown_by in PROMISES if "::" not in shown_by] == []


def test_every_named_test_exists():
    missing = [f"{file}::{test}" for file, test in named_tests() if f"def {test}(" not in (ROOT / file).read_text()]
    assert missing == []
