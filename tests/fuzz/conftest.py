"""The functions in this process, as in tests/functions."""

from tests.functions.conftest import agent, app, nobody, services  # noqa: F401
