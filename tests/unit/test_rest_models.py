"""Bodies of the REST routes: every fault is named at once, and nothing else is told."""

import pytest
from am_server.rest import models, timestamps
from am_server.times import show

GOOD = {"content": "good"}


def refusal(model, body):
    with pytest.raises(models.Refused) as refused:
        models.read(model, body)
    return refused.value.message


def test_all_faults_are_named_at_once():
    messages = [{"content": 5, "metadata": {"n": 1}}, {"timestamp": "secret-input"}]
    body = {"org_id": "a b", "types": ["Episodic"], "messages": messages}
    message = refusal(models.AddMemories, body)
    for field in ("org_id: ", "types.0: ", "messages.0.content: ", "messages.0.metadata.n: ", "messages.1.content: required"):
        assert field in message
    assert "messages.1.timestamp: expected ISO 8601" in message
    assert "secret-input" not in message


def test_very_many_faults_are_cut_short():
    message = refusal(models.AddMemories, {"messages": [{}] * 80})
    assert message.count("required") == 50
    assert message.endswith("and 30 more")


def test_defaults():
    body = models.read(models.AddMemories, {"messages": [{**GOOD, "surprise": 1}]})
    assert (body.org_id, body.project_id, body.types) == ("universal", "universal", [])
    message = body.messages[0]
    assert (message.producer, message.produced_for, message.role) == ("user", "", "")
    assert (message.metadata, message.timestamp) == ({}, None)


@pytest.mark.parametrize("value", ["3", 3.0, 3])
def test_whole_numbers_may_be_spelt_otherwise(value):
    assert models.read(models.SearchMemories, {"query": "", "top_k": value}).top_k == 3


@pytest.mark.parametrize("value", [0, -1, None, 2.5, "x", []])
def test_bad_top_k(value):
    assert "top_k" in refusal(models.SearchMemories, {"query": "", "top_k": value})


@pytest.mark.parametrize("field", ["content", "producer", "role", "produced_for"])
def test_half_a_surrogate_pair_is_refused(field):
    assert f"messages.0.{field}" in refusal(models.AddMemories, {"messages": [{**GOOD, field: "\ud83d"}]})


def test_sizes():
    many = models.read(models.AddMemories, {"messages": [GOOD] * 3})
    models.check_sizes(many, 3)
    with pytest.raises(models.TooBig, match="at most 2") as refused:
        models.check_sizes(many, 2)
    assert refused.value.status == 413
    long = models.read(models.AddMemories, {"messages": [GOOD, {"content": "é" * 200_001}]})
    with pytest.raises(models.TooBig, match=r"messages\.1\.content"):
        models.check_sizes(long, 10)


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("2024-01-02T03:04:05Z", "2024-01-02T03:04:05Z"),
        ("2024-01-02T04:04:05+01:00", "2024-01-02T03:04:05Z"),
        ("2024-01-02 03:04:05", "2024-01-02T03:04:05Z"),
        ("2024-01-02", "2024-01-02T00:00:00Z"),
        ("20240102T030405Z", "2024-01-02T03:04:05Z"),
        ("2024-01-02T03Z", "2024-01-02T03:00:00Z"),
        ("2024-W01-2", "2024-01-02T00:00:00Z"),
        ("2024-01-02T03:04:05.123456789Z", "2024-01-02T03:04:05.123456Z"),
        (1704164645, "2024-01-02T03:04:05Z"),
        (1704164645.25, "2024-01-02T03:04:05.250000Z"),
        (1704164645000, "2024-01-02T03:04:05Z"),
        (10**12, "2001-09-09T01:46:40Z"),
        (0, "1970-01-01T00:00:00Z"),
        (-1.5, "1969-12-31T23:59:58.500000Z"),
    ],
)
def test_times(written, expected):
    assert show(timestamps.read(written)) == expected


NO_TIMES = [True, None, [], {}, "", "now", "1704164645", "20240102", "2024-13-01", "2024-02-30", "Tue, 02 Jan 2024 03:04:05 GMT"]
NO_TIMES += ["2024-01-02T24:00:00", "2024-01-02T03:04:05z", "9999-12-31T23:59:59-05:00", "0001-01-01T00:00:00+05:00"]
NO_TIMES += [1e20, -1e20, 10**30, 10**12 - 1, float("nan"), float("inf")]


@pytest.mark.parametrize("written", NO_TIMES)
def test_bad_times(written):
    with pytest.raises(ValueError):
        timestamps.read(written)
