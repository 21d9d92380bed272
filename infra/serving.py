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
    process = launch(data_dir, port, environment, log)
    try:
        wait_until_ready(process, port, log or data_dir / "service.log")
        yield f"http://127.0.0.1:{port}"
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(15)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def launch(
    data_dir: Path, port: int, environment: Mapping[str, str] | None = None, log: Path | None = None
) -> subprocess.Popen[bytes]:
    """The service's process, the leader of a group of its own; it may not be ready yet."""
    data_dir.mkdir(parents=True, exist_ok=True)
    settings = {**os.environ, "PYTHONUNBUFFERED": "1", **(environment or {}), "PORT": str(port), "AM_DATA_DIR": str(data_dir)}
    with (log or data_dir / "service.log").open("ab") as out:
        return subprocess.Popen(
            [sys.executable, "-m", "infra.gateway"], cwd=ROOT, env=settings, stdout=out, stderr=out, start_new_session=True
        )


def wait_until_ready(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    """Return once the process answers on this port. Raises RuntimeError with the end of its log when it does not."""
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5):
                return
        except (urllib.error.URLError, ConnectionError):
            time.sleep(0.02)
    raise RuntimeError(f"the service did not start: {log.read_text()[-2000:]}")
