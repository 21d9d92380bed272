"""What the provider double notices, so that a plan that passes means something."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.terraform.conftest import Terraform

HEAD = """
terraform {
  required_providers {
    google = { source = "hashicorp/google" }
  }
}
"""
SCHEDULE = 'resource "google_firestore_backup_schedule" "x" {{\n  retention = "86400s"\n  {}\n}}'
FIELD = 'resource "google_firestore_field" "x" {{\n  collection = "notes"\n  {}\n}}'

MISTAKES = {
    "unknown argument": (SCHEDULE.format("colour = 1"), "An argument named"),
    "missing argument": (FIELD.format(""), 'The argument "field" is required'),
    "attribute for a block": (SCHEDULE.format("daily_recurrence = 1"), "define a block of type"),
    "two blocks where one may be": (
        FIELD.format('field = "*"' + "\n  index_config {}" * 2),
        "Too many index_config blocks",
    ),
    "wrong type": (FIELD.format('field = ["a"]'), "string required"),
    "unknown resource": ('resource "google_firestore_index_field" "x" {}', "Invalid resource type"),
    "not in the enumeration": (
        FIELD.format('field = "a"\n  index_config {\n    indexes {\n      order = "UPWARDS"\n    }\n  }'),
        "expected one of ASCENDING, DESCENDING",
    ),
    "unknown attribute": (
        FIELD.format('field = "*"') + "\noutput x {\n  value = google_firestore_field.x.colour\n}",
        "has no argument",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_noticed(terraform: Terraform, tmp_path: Path, mistake: str) -> None:
    text, message = MISTAKES[mistake]
    (tmp_path / "main.tf").write_text(HEAD + text)
    terraform.init(str(tmp_path))
    with pytest.raises(AssertionError, match=message):
        terraform.run(str(tmp_path), "validate", "-no-color")
