"""The way of somebody who has just cloned the repository and follows the README, and nothing but the README.

The one thing that is spared is the installation: the clone is given this checkout's environment, which `make` finds up to
date. The code that runs is the clone's, on a port that is free.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from infra.serving import free_port
from tests.e2e.installed import environment, python_sdk
from tests.e2e.page_session import KEY, Reader, cloned_checkout, last_value
from tests.e2e.pages import Block, blocks
from tests.e2e.test_client_configurations import SCRIPT, server_of

RUN, KEY_BLOCK, STORE, RECALL, TEST, CONNECT, SDK = blocks("README.md")


@contextmanager
def running(reader: Reader, port: int, log: Path) -> Iterator[None]:
    """What `make run` starts, until Ctrl-C."""
    variables = {**reader.environment, "PORT": str(port), "PYTHONPATH": str(reader.checkout / "shared")}
    with log.open("wb") as out:
        command = ["bash", "-c", RUN.text]
        process = subprocess.Popen(command, cwd=reader.checkout, env=variables, stdout=out, stderr=out, start_new_session=True)
    try:
        deadline = time.monotonic() + 30
        while "am-server listens at" not in log.read_text():
            assert process.poll() is None, log.read_text()[-2_000:]
            assert time.monotonic() < deadline, log.read_text()[-2_000:]
            time.sleep(0.05)
        yield
    finally:
        os.killpg(process.pid, signal.SIGINT)
        process.wait(20)


@pytest.fixture(scope="module")
def newcomer(tmp_path_factory) -> Iterator[tuple[Reader, int]]:
    folder = tmp_path_factory.mktemp("newcomer")
    port = free_port()
    reader = Reader(folder, cloned_checkout(folder), f"http://127.0.0.1:{port}", key="")
    with running(reader, port, folder / "log"):
        for block in (KEY_BLOCK, STORE):
            follow(reader, block)
        yield reader, port


def follow(reader: Reader, block: Block) -> None:
    reader.follow(block)
    assert "error" not in reader.printed


def recalled(reader: Reader) -> str:
    follow(reader, RECALL)
    [hit] = last_value(reader.printed)["result"]["structuredContent"]["results"]
    return hit["episode"]["content"]


def test_what_is_stored_is_recalled(newcomer):
    reader, _ = newcomer
    assert KEY.fullmatch(reader.key)
    assert recalled(reader) == "Alice likes things explained by simple analogies."


def test_a_client_connects(newcomer):
    reader, _ = newcomer
    servers = [{**server_of(CONNECT, reader.base_url, reader.key), "name": "readme"}]
    command = [python_sdk("2.3.0"), SCRIPT]
    done = subprocess.run(
        command, input=json.dumps(servers), capture_output=True, text=True, timeout=60, env=environment(), check=False
    )
    assert done.returncode == 0, done.stderr[-2_000:]
    assert json.loads(done.stdout) == {"readme": 35}


def test_the_sdk_remembers(newcomer):
    reader, _ = newcomer
    variables = {**reader.environment, "AM_API_KEY": reader.key, "PYTHONPATH": str(reader.checkout / "shared")}
    command = [sys.executable, "-c", SDK.text]
    done = subprocess.run(command, cwd=reader.checkout, env=variables, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr[-2_000:]
    assert done.stdout.splitlines()[0] == "Bob moved to Bern in May."


def test_the_files_are_where_the_readme_says(newcomer):
    reader, _ = newcomer
    assert (reader.checkout / ".data" / "am-server.sqlite").exists()


def test_the_memory_outlives_the_service(tmp_path):
    port = free_port()
    reader = Reader(tmp_path, cloned_checkout(tmp_path), f"http://127.0.0.1:{port}", key="")
    with running(reader, port, tmp_path / "first"):
        for block in (KEY_BLOCK, STORE):
            follow(reader, block)
    with running(reader, port, tmp_path / "second"):
        assert recalled(reader) == "Alice likes things explained by simple analogies."


def test_the_tests_are_run_by_the_command_that_is_printed():
    assert re.fullmatch(r"make test\n", TEST.text)
