"""Emulators for the whole session, started by the first test that asks; skipped, with the reason, where one is missing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager

import pytest

from infra.emulators import EmulatorMissing, Environment, firestore_emulator, gcs_emulator, s3_emulator


def _environment(emulator: AbstractContextManager[Environment]) -> Iterator[Environment]:
    try:
        with emulator as environment:
            yield environment
    except EmulatorMissing as reason:
        pytest.skip(str(reason))


@pytest.fixture(scope="session")
def firestore_environment() -> Iterator[Environment]:
    """Variables that lead to a running Firestore emulator."""
    yield from _environment(firestore_emulator())


@pytest.fixture(scope="session")
def gcs_environment() -> Iterator[Environment]:
    """Variables that lead to a running Cloud Storage emulator with a bucket."""
    yield from _environment(gcs_emulator())


@pytest.fixture(scope="session")
def s3_environment() -> Iterator[Environment]:
    """Variables that lead to a running S3 emulator with a bucket."""
    yield from _environment(s3_emulator())
