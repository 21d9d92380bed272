import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from am_server import times

NEW_YEAR = 1_767_225_600 * times.SECOND


@pytest.mark.parametrize(
    "text",
    [
        "2026-01-01T00:00:00Z",
        "2026-01-01T00:00:00z",
        "2026-01-01t00:00:00Z",
        "2026-01-01",
        " 2026-01-01T00:00:00 ",
        "2026-01-01 00:00",
        "2026-01-01T08:00:00+08:00",
        "2025-12-31T19:00:00-0500",
        "2026-01-01T05:45:00.000+05:45",
        "2026-01-01T00:00:00.0000000001Z",
    ],
)
def test_every_spelling_of_an_instant(text):
    assert times.parse(text) == NEW_YEAR


@pytest.mark.parametrize(
    "text",
    [
        "",
        "yesterday",
        "12:00",
        "2026-13-01T00:00:00Z",
        "2026-02-30",
        "2026-01-01T24:30:00Z",
        "20260101",
        "1767225600",
        "２０２６-01-01",
    ],
)
def test_what_is_no_time(text):
    with pytest.raises(ValueError):
        times.parse(text)


@pytest.mark.parametrize("text", ["9999-12-31T23:59:59-05:00", "0001-01-01T00:00:00+05:00"])
def test_an_offset_may_not_leave_the_calendar(text):
    with pytest.raises(ValueError, match="years 1 to 9999"):
        times.parse(text)


@pytest.mark.parametrize("text", ["2026-01-01T00:00:00Z", "1969-12-31T23:59:59.000001Z", "2026-06-30T12:26:00.500000Z"])
def test_show_is_the_inverse_of_parse(text):
    assert times.show(times.parse(text)) == text


def test_the_host_time_zone_does_not_matter():
    code = "from am_server import times; print(times.parse('2026-07-01T00:00:00'), times.show(0))"
    said = {
        subprocess.run(
            [sys.executable, "-c", code], env={**os.environ, "TZ": zone}, capture_output=True, text=True, check=True
        ).stdout
        for zone in ("UTC", "Asia/Kathmandu", "America/New_York")
    }
    assert said == {"1782864000000000 1970-01-01T00:00:00Z\n"}


def test_a_clock_never_repeats_under_threads():
    clock = times.Clock()
    with ThreadPoolExecutor(8) as pool:
        seen = list(pool.map(lambda _: [clock.now() for _ in range(500)], range(8)))
    flat = [moment for part in seen for moment in part]
    assert len(set(flat)) == 4_000
    assert all(part == sorted(part) for part in seen)
