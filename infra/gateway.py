"""`make run`: every function behind one base URL, on a SQLite file and a folder.

The entry points are the deployed ones, loaded through functions-framework exactly as Cloud Run functions loads them;
this module only picks the function for a path, sets local defaults and starts gunicorn.
"""

from __future__ import annotations

import json
import os
import socket
import struct
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from am_server.local import local_defaults
from gunicorn.app.base import BaseApplication

ROOT = Path(__file__).resolve().parent.parent
THREADS = 32
SLOW_CLIENT_SECONDS = 30

WsgiApp = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]


def route_table() -> list[tuple[str, str]]:
    """(path prefix, function name), longest first; what matches none goes to `health`, which answers a JSON 404."""
    routes = json.loads((ROOT / "infra" / "routes.json").read_text())
    prefixes = {(route["path"].split("{")[0].removesuffix("**"), route["function"]) for route in routes}
    return sorted(prefixes, key=lambda prefix: -len(prefix[0]))


def function_for(path: str, table: list[tuple[str, str]]) -> str:
    """The function that serves a path."""
    for prefix, name in table:
        if path == prefix or (prefix.endswith("/") and path.startswith(prefix)):
            return name
    return "health"


def load_functions(names: Iterable[str], root: Path = ROOT) -> dict[str, WsgiApp]:
    """The WSGI application of each function, as functions-framework makes it."""
    import functions_framework

    return {name: functions_framework.create_app(name, str(root / "functions" / name / "main.py"), "http") for name in names}  # type: ignore[no-untyped-call]


def gateway(root: Path = ROOT) -> WsgiApp:
    """One WSGI application over all functions."""
    table = route_table()
    functions = load_functions(sorted({name for _, name in table}), root)

    def application(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        return functions[function_for(environ.get("PATH_INFO", "/"), table)](environ, start_response)

    return application


class Server(BaseApplication):  # type: ignore[misc]
    """gunicorn with one process and threads, as a Cloud Run instance runs it."""

    def __init__(self, application: Callable[[], WsgiApp], port: str) -> None:
        self._application = application
        self._port = port
        super().__init__()

    def load_config(self) -> None:
        self.cfg.set("bind", f"127.0.0.1:{self._port}")
        self.cfg.set("worker_class", "gthread")
        self.cfg.set("workers", 1)
        self.cfg.set("threads", THREADS)
        self.cfg.set("keepalive", 75)
        self.cfg.set("timeout", 0)
        self.cfg.set("graceful_timeout", 10)
        self.cfg.set("loglevel", "warning")
        self.cfg.set("limit_request_field_size", 16_380)
        self.cfg.set("limit_request_fields", 100)
        self.cfg.set("when_ready", _tell_where)
        self.cfg.set("pre_fork", _drop_slow_clients)

    def load(self) -> WsgiApp:
        return self._application()


def _drop_slow_clients(server: Any, _worker: Any) -> None:
    # accepted sockets inherit the option, so a client that stops sending frees its thread
    for listener in server.LISTENERS:
        listener.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", SLOW_CLIENT_SECONDS, 0))


def _tell_where(server: Any) -> None:
    host, port = server.cfg.address[0]
    print(f"am-server listens at http://{host}:{port}", file=sys.stderr)


def main() -> None:
    """Serve until interrupted. `PORT`, `AM_DATA_DIR` and every other setting come from the environment."""
    os.environ.update(local_defaults(os.environ))
    Server(gateway, os.environ.get("PORT", "8080")).run()


if __name__ == "__main__":
    main()
