"""The /api/v2 routes for one caller and one project."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

from werkzeug.test import TestResponse

from tests.functions.caller import Caller


class Api:
    """What a MemMachine client sends, for one project."""

    def __init__(self, caller: Caller, project: str | None = None) -> None:
        self.caller = caller
        self.where = {"org_id": "org", "project_id": project or f"p-{uuid.uuid4().hex[:8]}"}

    def post(self, path: str, headers: Mapping[str, str] | None = None, **body: Any) -> TestResponse:
        """POST a body with the project's names, which the body may replace."""
        return self.caller.post({**self.where, **body}, headers, "/api/v2" + path)

    def ok(self, path: str, **body: Any) -> Any:
        """The decoded answer of a request that must succeed."""
        answer = self.post(path, **body)
        assert answer.status_code in (200, 201), answer.text
        return answer.json

    def refused(self, path: str, status: int = 422, **body: Any) -> str:
        """The text of a refusal."""
        answer = self.post(path, **body)
        assert answer.status_code == status, answer.text
        assert list(answer.json) == ["detail"]
        detail: str = answer.json["detail"]
        return detail

    def add(self, *messages: str | Mapping[str, Any], **body: Any) -> list[str]:
        """Add messages, given by content or whole; their uids."""
        whole = [message if isinstance(message, Mapping) else {"content": message} for message in messages]
        return [result["uid"] for result in self.ok("/memories", messages=whole, **body)["results"]]

    def list(self, **body: Any) -> list[dict[str, Any]]:
        """Messages, oldest first."""
        found: list[dict[str, Any]] = self.ok("/memories/list", type="episodic", **body)["content"]["episodic_memory"]
        return found

    def texts(self, **body: Any) -> list[str]:
        """The contents of `list`."""
        return [episode["content"] for episode in self.list(**body)]

    def search(self, query: str, **body: Any) -> list[dict[str, Any]]:
        """Messages, best first."""
        content = self.ok("/memories/search", query=query, types=["episodic"], **body)["content"]
        found: list[dict[str, Any]] = content["episodic_memory"]["long_term_memory"]["episodes"]
        return found

    def found(self, query: str, **body: Any) -> list[str]:
        """The contents of `search`."""
        return [hit["content"] for hit in self.search(query, **body)]

    def features(self, **body: Any) -> list[dict[str, Any]]:
        """Statements, oldest first."""
        found: list[dict[str, Any]] = self.ok("/memories/list", type="semantic", **body)["content"]["semantic_memory"]
        return found

    def statements(self, query: str, **body: Any) -> list[str]:
        """The statements that a search finds, best first."""
        content = self.ok("/memories/search", query=query, types=["semantic"], **body)["content"]
        return [feature["value"] for feature in content["semantic_memory"]]
