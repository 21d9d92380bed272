"""The smoke test as a command."""

import sys

import pytest

from infra import smoke


def test_without_a_url_it_says_how_it_is_called(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["smoke"])
    with pytest.raises(SystemExit, match="usage: make smoke URL="):
        smoke.main()


def test_a_slash_at_the_end_of_the_url_does_not_matter(monkeypatch):
    called = []
    monkeypatch.setattr(sys, "argv", ["smoke", "https://memory.example.com/"])
    monkeypatch.setattr(smoke, "smoke", called.append)
    smoke.main()
    assert called == ["https://memory.example.com"]
