"""Terraform in a copy of the repository's Terraform files, so that no test leaves anything behind in them."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.terraform.double.provider import running_double

REPOSITORY = Path(__file__).resolve().parents[2]
FUNCTIONS = ("health", "keys", "maintenance", "mcp", "memories", "space_token")
SECRETS = dict.fromkeys(("JWT_SECRET", "AM_KEY_PEPPER", "AM_ADMIN_TOKEN"), "a value of more than twenty characters")


@dataclass(frozen=True)
class Terraform:
    """The terraform binary and a copy of the files."""

    root: Path
    environment: Mapping[str, str]

    def run(self, folder: str, *arguments: str) -> str:
        """Standard output; fails with what terraform says."""
        answer = subprocess.run(
            ["terraform", *arguments], cwd=self.root / folder, env=self.environment, capture_output=True, text=True, check=False
        )
        assert answer.returncode == 0, f"terraform {' '.join(arguments)} in {folder}:\n{answer.stdout}\n{answer.stderr}"
        return answer.stdout

    def init(self, folder: str) -> None:
        self.run(folder, "init", "-backend=false", "-input=false", "-no-color")

    def plan(self, environment: str) -> dict[str, Any]:
        """The plan of an environment that does not exist yet, as `terraform show -json` tells it."""
        folder = f"terraform/environments/{environment}"
        local_state = 'terraform {\n  backend "local" {}\n}\n'
        (self.root / folder / "backend_override.tf").write_text(local_state)
        self.run(folder, "init", "-input=false", "-no-color")
        variables = [
            "-var=project_id=test-project",
            f"-var=secret_values={json.dumps(SECRETS)}",
            '-var=alert_emails=["a@example.com"]',
        ]
        self.run(folder, "plan", "-input=false", "-no-color", "-refresh=false", "-out=plan", *variables)
        shown: dict[str, Any] = json.loads(self.run(folder, "show", "-json", "plan"))
        return shown


def registry_reachable() -> bool:
    try:
        socket.create_connection(("registry.terraform.io", 443), timeout=2).close()
    except OSError:
        return False
    return True


def provider() -> AbstractContextManager[Mapping[str, str]]:
    """The real provider where it can be downloaded, else the double."""
    if not registry_reachable():
        return running_double()
    cache = REPOSITORY / ".cache" / "terraform"
    cache.mkdir(parents=True, exist_ok=True)
    return nullcontext({"TF_PLUGIN_CACHE_DIR": str(cache), "GOOGLE_OAUTH_ACCESS_TOKEN": "never sent: nothing exists yet"})


def copy_of_the_repository(root: Path) -> None:
    shutil.copytree(REPOSITORY / "terraform", root / "terraform", ignore=shutil.ignore_patterns(".terraform*", "*.tfstate*"))
    (root / "infra").mkdir()
    shutil.copy(REPOSITORY / "infra" / "routes.json", root / "infra")
    (root / "dist").mkdir()
    manifest = {}
    for name in FUNCTIONS:
        (root / "dist" / f"{name}.zip").write_bytes(b"")
        manifest[name] = {
            "file": f"{name}.zip",
            "object": f"functions/{name}/0123456789abcdef.zip",
            "entry_point": name,
            "runtime": "python311",
        }
    (root / "dist" / "manifest.json").write_text(json.dumps(manifest))


@pytest.fixture(scope="session")
def terraform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Terraform]:
    if shutil.which("terraform") is None:
        pytest.skip("terraform is not installed")
    root = tmp_path_factory.mktemp("terraform")
    copy_of_the_repository(root)
    settings = {"CHECKPOINT_DISABLE": "1", "TF_IN_AUTOMATION": "1", "TF_CLI_CONFIG_FILE": os.devnull}
    with provider() as found:
        yield Terraform(root, {**os.environ, **settings, **found})
