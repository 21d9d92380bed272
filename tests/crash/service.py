"""A service that is killed and started again at the same address, and an agent that talks to it through that."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from infra.serving import free_port, launch, wait_until_ready

PATIENCE_SECONDS = 60


class Service:
    """`python -m infra.gateway` over a folder: a master process and the worker that it started."""

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        self.port = free_port()
        self._folder = folder
        self._environment = {"LOG_LEVEL": "ERROR", **environment}
        self._process: subprocess.Popen[bytes] | None = None
        self._log = folder / f"service-{self.port}.log"

    def start(self) -> Service:
        self._process = launch(self._folder, self.port, self._environment, self._log)
        return self

    def wait(self) -> Service:
        assert self._process is not None
        wait_until_ready(self._process, self.port, self._log)
        return self

    def kill(self) -> None:
        """kill -9, master and worker."""
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            self._process = None

    def kill_worker(self) -> None:
        """kill -9 the worker alone; the master starts another."""
        for pid in self.workers():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def workers(self) -> list[int]:
        """Process ids of the processes that serve."""
        assert self._process is not None
        pid = self._process.pid
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]

    def log(self) -> str:
        return self._log.read_text()


class Refused(Exception):
    """A call ended in an error that a retry does not mend."""


class Agent:
    """One connection of one agent to one of several services."""

    def __init__(self, ports: Sequence[int], key: str = "") -> None:
        self._ports = ports
        self._turn = 0
        self._connection: http.client.HTTPConnection | None = None
        self.key = key
        self.retries = 0

    def sign_up(self) -> Agent:
        self.key = str(self._post("/v1/keys", {"agent_id": "crash", "tier": "pro"})["key"])
        return self

    def again(self) -> Agent:
        """Another connection of the same agent."""
        return Agent(self._ports, self.key)

    def call(self, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """structuredContent of a call, repeated while the service is away or says that it is unavailable."""
        give_up = time.monotonic() + PATIENCE_SECONDS
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
        while True:
            payload = None
            with contextlib.suppress(OSError, http.client.HTTPException):
                payload = self._post("/mcp", body).get("result", {}).get("structuredContent")
            if payload is not None and payload.get("error", {}).get("code") != -32008:
                if "error" in payload:
                    raise Refused(f"{tool}: {payload['error']}")
                return dict(payload)
            assert time.monotonic() < give_up, f"{tool} was not answered"
            self.retries += 1
            self.turn_to_another()
            time.sleep(0.03)

    def turn_to_another(self) -> None:
        """Connect to the next service with the next call."""
        if self._connection is not None:
            self._connection.close()
        self._connection = None
        self._turn += 1

    def _post(self, path: str, body: Any) -> dict[str, Any]:
        if self._connection is None:
            self._connection = http.client.HTTPConnection("127.0.0.1", self._ports[self._turn % len(self._ports)], timeout=30)
        headers = {"Content-Type": "application/json", **({"X-API-Key": self.key} if self.key else {})}
        self._connection.request("POST", path, json.dumps(body), headers)
        answer = self._connection.getresponse().read()
        decoded: dict[str, Any] = json.loads(answer)
        return decoded
