"""Every folder of Terraform files is formatted and valid, and the tests beside each module pass."""

import re

import pytest

from tests.terraform.conftest import REPOSITORY, Terraform

ROOT = REPOSITORY / "terraform"
FOLDERS = sorted({str(file.parent.relative_to(REPOSITORY)) for file in ROOT.rglob("*.tf") if ".terraform" not in file.parts})
TESTED = sorted({str(file.parents[1].relative_to(REPOSITORY)) for file in ROOT.rglob("*.tftest.hcl")})


def test_the_files_are_formatted(terraform: Terraform) -> None:
    assert terraform.run("terraform", "fmt", "-check", "-recursive", "-list=true") == ""


def test_every_module_has_tests() -> None:
    assert [folder for folder in FOLDERS if "environments" not in folder] == TESTED


@pytest.mark.parametrize("folder", FOLDERS)
def test_valid(terraform: Terraform, folder: str) -> None:
    terraform.init(folder)
    terraform.run(folder, "validate", "-no-color")


@pytest.mark.parametrize("folder", TESTED)
def test_module(terraform: Terraform, folder: str) -> None:
    terraform.init(folder)
    assert " 0 failed" in terraform.run(folder, "test", "-no-color")


def test_every_variable_and_output_says_what_it_is() -> None:
    for file in ROOT.rglob("*.tf"):
        for kind, name, body in re.findall(r'^(variable|output) "(\w+)" \{\n(.*?)\n\}', file.read_text(), re.M | re.S):
            assert "  description" in body, f"{kind} {name} in {file.relative_to(ROOT)} has no description"


def test_environments_take_the_same_variables() -> None:
    assert len({file.read_text() for file in ROOT.glob("environments/*/variables.tf")}) == 1
