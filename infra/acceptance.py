"""`make acceptance`: a black-box suite against the started service, once on SQLite and once on the emulators.

    python -m infra.acceptance SUITE [pytest options]
"""

from __future__ import annotations

import secrets
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from infra.serving import served


def run_suite(suite: str, options: list[str], environment: Mapping[str, str]) -> int:
    """Run the suite against one service and return pytest's exit status."""
    jwt_secret, admin_token = secrets.token_urlsafe(32), secrets.token_urlsafe(32)
    settings = {**environment, "JWT_SECRET": jwt_secret, "AM_ADMIN_TOKEN": admin_token}
    with tempfile.TemporaryDirectory() as folder, served(Path(folder), settings) as base_url:
        command = [sys.executable, "-m", "pytest", suite, "-q", "-p", "no:cacheprovider", "-c", "/dev/null", "--rootdir", suite]
        command += ["--base-url", base_url, "--admin-token", admin_token, "--jwt-secret", jwt_secret, *options]
        return subprocess.run(command, check=False).returncode


def main() -> int:
    """Both stores; the emulators' run is left out with a visible reason where they are missing."""
    from infra.emulators import EmulatorMissing, firestore_emulator, gcs_emulator

    suite, options = str(Path(sys.argv[1]).resolve()), sys.argv[2:]
    print("acceptance on SQLite and a folder", flush=True)
    failed = run_suite(suite, options, {})
    try:
        with firestore_emulator() as firestore, gcs_emulator() as bucket:
            print("acceptance on the Firestore and Cloud Storage emulators", flush=True)
            failed = run_suite(suite, options, {"AM_STORE": "firestore", "AM_OBJECTS": "gcs", **firestore, **bucket}) or failed
    except EmulatorMissing as reason:
        print(f"acceptance on the emulators skipped: {reason}", flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main())
