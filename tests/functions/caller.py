"""A caller of the functions in this process: the functions as functions-framework makes them, without a socket."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from werkzeug.test import Client, TestResponse

from infra.gateway import WsgiApp

MODERN = "2026-07-28"
META = "io.modelcontextprotocol/"


class Caller:
    """One caller of every route, with an API key or without."""

    def __init__(self, app: WsgiApp, key: str | None = None) -> None:
        self.app = app
        self.key = key
        self._http = Client(app)

    def send(self, method: str, path: str, headers: Mapping[str, str] | None = None, **kwargs: Any) -> TestResponse:
        """Any request; a header of None is left out."""
        known = {"X-API-Key": self.key, **(headers or {})}
        return self._http.open(path, method=method, headers={k: v for k, v in known.items() if v is not None}, **kwargs)

    def post(self, body: Any, headers: Mapping[str, str] | None = None, path: str = "/mcp") -> TestResponse:
        """POST a JSON value, or text or bytes as they are."""
        data = body if isinstance(body, str | bytes) else json.dumps(body)
        return self.send("POST", path, {"Content-Type": "application/json", **(headers or {})}, data=data)

    def rpc(self, method: str, params: Any = None, headers: Mapping[str, str] | None = None, id: Any = 1) -> dict[str, Any]:
        """One JSON-RPC request of a handshake revision, and its decoded answer."""
        answer: dict[str, Any] = self.post(request(method, params, id), headers).json
        return answer

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """The result of a tool call."""
        result: dict[str, Any] = self.rpc("tools/call", {"name": tool, "arguments": arguments})["result"]
        return result

    def ok(self, tool: str, **arguments: Any) -> Any:
        """structuredContent of a call that must succeed."""
        result = self.call(tool, **arguments)
        assert not result["isError"], result["structuredContent"]
        return result["structuredContent"]

    def error(self, tool: str, **arguments: Any) -> Any:
        """{code, type, message} of a call that must fail in-band."""
        result = self.call(tool, **arguments)
        assert result["isError"], result["structuredContent"]
        return result["structuredContent"]["error"]

    def modern(self, method: str, params: Any = None, headers: Mapping[str, Any] | None = None, id: Any = 1) -> TestResponse:
        """One request of 2026-07-28; `headers` replace or (None) remove the ones it needs."""
        needed = {"MCP-Protocol-Version": MODERN, "Mcp-Method": method}
        if "name" in (params or {}):
            needed["Mcp-Name"] = params["name"]
        params = params if params and "_meta" in params else envelope(params)
        return self.post(request(method, params, id), {**needed, **(headers or {})})


def request(method: str, params: Any = None, id: Any = 1) -> dict[str, Any]:
    """A JSON-RPC request."""
    return {"jsonrpc": "2.0", "id": id, "method": method, **({} if params is None else {"params": params})}


def tool_call(tool: str, arguments: Any = None, id: Any = 1) -> dict[str, Any]:
    """A tools/call request."""
    return request("tools/call", {"name": tool, "arguments": arguments or {}}, id)


def envelope(params: Any = None, version: Any = MODERN, **meta: Any) -> dict[str, Any]:
    """Params with the envelope of 2026-07-28."""
    return {**(params or {}), "_meta": {META + "protocolVersion": version, META + "clientCapabilities": {}, **meta}}
