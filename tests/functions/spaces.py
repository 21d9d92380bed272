"""Agents in shared spaces, for tests: what they say to /v1/space-token and to the shared tools."""

from __future__ import annotations

from typing import Any

from werkzeug.test import TestResponse

from tests.functions.caller import Caller


class Member:
    """An agent with its key, and the newest token it was given."""

    def __init__(self, mcp: Caller) -> None:
        self.mcp = mcp
        self.token = ""

    def ask(self, **body: Any) -> TestResponse:
        """POST /v1/space-token; a token in the answer is kept."""
        answer = self.mcp.send("POST", "/v1/space-token", json=body)
        if answer.status_code == 200 and "token" in answer.json:
            self.token = answer.json["token"]
        return answer

    def say(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """The result of a tool call with the token alone."""
        by_token = Caller(self.mcp.app)
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
        answer: dict[str, Any] = by_token.post(body, {"Authorization": f"Bearer {self.token}"}).json
        assert "result" in answer, answer
        result: dict[str, Any] = answer["result"]
        return result

    def ok(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """The payload of a call that succeeds, under a fresh token."""
        self.ask()
        result = self.say(tool, **arguments)
        assert not result["isError"], result
        payload: dict[str, Any] = result["structuredContent"]
        return payload

    def refused(self, tool: str, **arguments: Any) -> tuple[int, str]:
        """Code and message of a call that fails, under a fresh token."""
        self.ask()
        result = self.say(tool, **arguments)
        assert result["isError"], result
        error = result["structuredContent"]["error"]
        return error["code"], error["message"]

    def create(self, name: str = "project") -> str:
        space_id: str = self.ok("memory_create_shared_space", name=name)["space_id"]
        return space_id

    def invite(self, space_id: str, role: str = "writer", **more: Any) -> str:
        answer = self.ask(invite={"space_id": space_id, "role": role, **more})
        assert answer.status_code == 200, answer.text
        invitation: str = answer.json["invitation"]
        return invitation

    def enter(self, invitation: str, space_id: str, **more: Any) -> dict[str, Any]:
        answer = self.ask(redeem=invitation)
        assert answer.status_code == 200, answer.text
        return self.ok("memory_join_shared_space", space_id=space_id, **more)

    @property
    def did(self) -> str:
        did: str = self.ok("memory_list_shared_spaces")["agent_did"]
        return did
