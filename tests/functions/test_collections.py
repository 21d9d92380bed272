"""Every collection that the service writes is one that Terraform exempts from automatic indexes."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

from am_server import wiring

from infra import operations
from infra.gateway import ROOT, WsgiApp

DECLARED = set(json.loads((ROOT / "terraform" / "modules" / "firestore" / "collections.json").read_text()))


def test_every_collection_is_declared(tmp_path: Path, monkeypatch, app: WsgiApp):
    secrets = dict.fromkeys(("AM_KEY_PEPPER", "JWT_SECRET"), "for tests only and long enough for HMAC-SHA256")
    settings = {
        "AM_DATA_DIR": str(tmp_path),
        "AM_SIGNUP_TIERS": "pro",
        "AM_SIGNUP_PER_HOUR": "9",
        "AM_EMBEDDER": "none",
        **secrets,
    }
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    wiring.services.cache_clear()
    try:
        measured = operations.measure(remembered=40, rounds=1)
        agent = operations.Agent(app, "projects")
        agent.post("/api/v2/memories", {"org_id": "o", "project_id": "p", "messages": [{"content": "hello"}]})
    finally:
        wiring.services.cache_clear()
    assert measured["memory_store_episode"]["writes"] == 1
    with sqlite3.connect(tmp_path / "am-server.sqlite") as database:
        paths = {row[0] for row in database.execute("SELECT DISTINCT collection FROM documents")}
    assert {path.rpartition("/")[2] for path in paths} <= DECLARED
