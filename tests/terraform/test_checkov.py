"""checkov's rules hold, but for those that a comment beside the resource explains away."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.terraform.conftest import REPOSITORY

CHECKOV = REPOSITORY / ".cache" / "checkov" / "bin" / "checkov"


def test_no_rule_is_broken(tmp_path: Path) -> None:
    if not CHECKOV.exists():
        pytest.skip("checkov is not installed; `make checkov` installs it into .cache")
    copy = shutil.copytree(REPOSITORY / "terraform", tmp_path / "terraform", ignore=shutil.ignore_patterns(".terraform*"))
    command = [str(CHECKOV), "-d", str(copy), "--framework", "terraform", "--skip-download", "--quiet", "--compact"]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stdout
