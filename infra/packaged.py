"""The packaged functions, started as the platform starts them, behind something that acts like API Gateway.

Each zip is unpacked, its requirements are installed into an empty environment, and functions-framework serves it in a
process of its own. The proxy in front does to the headers what the gateway does: its own token takes the place of the
caller's in `Authorization`, and the caller's travels in `X-Forwarded-Authorization`.
"""

from __future__ import annotations

import http.client
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from infra.gateway import ROOT, function_for, route_table
from infra.packaging import build
from infra.serving import free_port

START_SECONDS = 30
THREADS = 8
GATEWAY_SETTINGS = {"AM_AUTH_HEADER": "X-Forwarded-Authorization", "AM_STORE": "firestore", "AM_OBJECTS": "gcs"}
KEPT_VARIABLES = ("PATH", "HOME", "LANG", "TMPDIR")
NOT_FORWARDED = {"connection", "keep-alive", "transfer-encoding", "host", "authorization"}


@contextmanager
def served_packages(folder: Path, environment: Mapping[str, str]) -> Iterator[str]:
    """Package, install and start every function that has a route; yields the base URL of the proxy before them.

    The functions see the settings in `environment` and nothing else of this process's environment.
    """
    table = route_table()
    zips = build(folder / "dist")
    with ExitStack() as started:
        ports = {}
        for name in sorted({function for _, function in table}):
            unpacked = install(zips[name], folder / name)
            ports[name] = started.enter_context(served_function(name, unpacked, environment))
        for name, port in ports.items():
            wait_for(name, port)
        server = ThreadingHTTPServer(("127.0.0.1", 0), _proxy(table, ports))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        started.callback(server.shutdown)
        yield f"http://127.0.0.1:{server.server_address[1]}"


def install(package: Path, folder: Path) -> Path:
    """Unpack a zip and install what it requires, and nothing else, into `venv` beside it; returns the unpacked folder."""
    source, venv = folder / "source", folder / "venv"
    with zipfile.ZipFile(package) as archive:
        archive.extractall(source)
    environment = {**os.environ, "UV_CACHE_DIR": str(ROOT / ".cache" / "uv")}
    uv = [sys.executable, "-m", "uv"]
    subprocess.run([*uv, "venv", "--quiet", "--python", sys.executable, str(venv)], env=environment, check=True)
    command = [*uv, "pip", "install", "--quiet", "--require-hashes", "--python", str(venv / "bin" / "python")]
    command += ["-r", str(source / "requirements.txt")]
    if subprocess.run([*command, "--offline"], env=environment, capture_output=True, check=False).returncode:
        subprocess.run(command, env=environment, check=True)
    return source


@contextmanager
def served_function(name: str, source: Path, environment: Mapping[str, str]) -> Iterator[int]:
    """Start one unpacked function on a free port; the port answers a little later."""
    port = free_port()
    settings = {variable: os.environ[variable] for variable in KEPT_VARIABLES if variable in os.environ}
    settings |= {**GATEWAY_SETTINGS, **environment, "THREADS": str(THREADS)}
    command = [str(source.parent / "venv" / "bin" / "functions-framework"), "--target", name, "--host", "127.0.0.1"]
    with (source.parent / "log").open("wb") as log:
        process = subprocess.Popen([*command, "--port", str(port)], cwd=source, env=settings, stdout=log, stderr=log)
    try:
        yield port
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(20)


def wait_for(name: str, port: int) -> None:
    """Until the function accepts connections. Raises RuntimeError when it does not in time."""
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            time.sleep(0.05)
    raise RuntimeError(f"the packaged function {name} did not start")


def _proxy(table: list[tuple[str, str]], ports: Mapping[str, int]) -> type[BaseHTTPRequestHandler]:
    class Proxy(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = 1 << 16
        disable_nagle_algorithm = True

        def forward(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            headers = {name: value for name, value in self.headers.items() if name.lower() not in NOT_FORWARDED}
            if "Authorization" in self.headers:
                headers["X-Forwarded-Authorization"] = self.headers["Authorization"]
            headers["Authorization"] = "Bearer the.gateway.token"
            port = ports[function_for(self.path.partition("?")[0], table)]
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
            connection.request(self.command, self.path, body, headers)
            answer = connection.getresponse()
            content = answer.read()
            connection.close()
            self.send_response_only(answer.status)
            for name, value in answer.getheaders():
                if name.lower() not in (*NOT_FORWARDED, "content-length"):
                    self.send_header(name, value)
            if answer.status != 204:
                self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = do_OPTIONS = forward

        def log_message(self, *_: object) -> None:
            """The functions log every request themselves."""

    return Proxy
