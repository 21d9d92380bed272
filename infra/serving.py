"""A really started service, for tests, benchmarks and the acceptance suite."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from infra.gateway import ROOT

START_SECONDS = 30


def free_port() -> int:
    """A port that nobody listens on at the moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def served(data_dir: Path, environment: Mapping[str, str] | None = None, log: Path | None = None) -> Iterator[str]:
    """Start `python -m infra.gateway` on a free port and yield its base URL once it answers.

    The log (standard output and error) goes to `log`, or to `service.log` in the data folder. Raises RuntimeError with
    the log's end when the service does not come up.
    """
    port = free_port()
    data_dir.mkdir(parents=True, exist_ok=True)
    log = log or data_dir / "service.log"
    settings = {**os.environ, "PYTHONUNBUFFERED": "1", **(environment or {}), "PORT": str(port), "AM_DATA_DIR": str(data_dir)}
    with log.open("ab") as out:
        process = subprocess.Popen([sys.executable, "-m", "infra.gateway"], cwd=ROOT, env=settings, stdout=out, stderr=out)
    try:
        _wait(f"http://127.0.0.1:{port}", process, log)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(15)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait(base_url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        try:
            with urllib.request.urlopen(f"{base_url}/health", timeout=5):  # noqa: S310 - always the loopback address
                return
        except (urllib.error.URLError, ConnectionError):
            time.sleep(0.02)
    raise RuntimeError(f"the service did not start: {log.read_text()[-2000:]}")
