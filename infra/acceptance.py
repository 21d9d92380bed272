"""`make acceptance`: a black-box suite against the started service, on SQLite and on the emulators, there also as packaged.

python -m infra.acceptance SUITE [pytest options]
"""

from __future__ import annotations

import secrets
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path

from infra.leaks import leaks
from infra.serving import served

OPEN = {"AM_SIGNUP_TIERS": "explorer,builder,pro", "AM_SIGNUP_PER_HOUR": "0", "AM_KEY_PEPPER": "for the acceptance suite only"}
"""What `make run` sets by itself and a packaged function must be told."""

Serve = Callable[[Path, Mapping[str, str]], AbstractContextManager[str]]
"""Starts a service with its files in a folder and these settings; the context is its base URL."""


def run_suite(suite: str, options: list[str], environment: Mapping[str, str], serve: Serve = served) -> int:
    """Run the suite against one service; 0 when it passes and the service's whole log shows no secret."""
    jwt_secret, admin_token = secrets.token_urlsafe(32), secrets.token_urlsafe(32)
    settings = {**environment, "JWT_SECRET": jwt_secret, "AM_ADMIN_TOKEN": admin_token}
    with tempfile.TemporaryDirectory() as folder, serve(Path(folder), settings) as base_url:
        command = [sys.executable, "-m", "pytest", suite, "-q", "-p", "no:cacheprovider", "-c", "/dev/null", "--rootdir", suite]
        command += ["--base-url", base_url, "--admin-token", admin_token, "--jwt-secret", jwt_secret, *options]
        status = subprocess.run(command, check=False).returncode
        logs = [file for file in Path(folder).rglob("*") if file.name in ("service.log", "log")]
        shown = [leak for log in logs for leak in leaks(log.read_text(errors="replace"), [jwt_secret, admin_token])]
    for leak in shown[:20]:
        print(f"the log shows {leak}", flush=True)
    return status or bool(shown)


def main() -> int:
    """Both stores; the emulators' run is left out with a visible reason where they are missing."""
    from infra.emulators import EmulatorMissing, firestore_emulator, gcs_emulator
    from infra.packaged import served_packages

    suite, options = str(Path(sys.argv[1]).resolve()), sys.argv[2:]
    print("acceptance on SQLite and a folder", flush=True)
    failed = run_suite(suite, options, {})
    try:
        with firestore_emulator() as firestore, gcs_emulator() as bucket:
            print("acceptance on the Firestore and Cloud Storage emulators", flush=True)
            failed = run_suite(suite, options, {"AM_STORE": "firestore", "AM_OBJECTS": "gcs", **firestore, **bucket}) or failed
            print("acceptance on the packaged functions behind a stand-in for the gateway", flush=True)
            failed = run_suite(suite, options, {**OPEN, **firestore, **bucket}, served_packages) or failed
    except EmulatorMissing as reason:
        print(f"acceptance on the emulators skipped: {reason}", flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main())
