"""What a steady run says of its readings."""

from types import SimpleNamespace
from typing import Any, cast

from bench.steady import PartReadings


def track(readings: list[tuple[float, int, float]]) -> PartReadings:
    """Return a track of a part that nobody has to run."""
    return PartReadings(cast("Any", SimpleNamespace(name="agent")), readings)


def test_steady_growth_is_told_in_kib_a_minute():
    rows = [(float(at), (30 << 20) + at * 1024, at * 0.01) for at in range(30, 300, 5)]
    assert 60.0 == track(rows).summary()["pss_growth_kib_per_minute"]
    assert 0.01 == track(rows).summary()["cpu_cores"]


def test_one_jump_is_no_growth():
    """A buffer that doubles once is not a leak."""
    rows = [(float(at), (30 << 20) + (at > 290) * (1 << 20), 0.0) for at in range(30, 300, 5)]
    assert 0.0 == track(rows).summary()["pss_growth_kib_per_minute"]
    assert 31.0 == track(rows).summary()["pss_mib_most"]


def test_what_happens_before_it_settles_is_left_out():
    rows = [(float(at), (90 - min(at, 30)) << 20, 0.0) for at in range(0, 300, 5)]
    assert 0.0 == track(rows).summary()["pss_growth_kib_per_minute"]
    assert 60.0 == track(rows).summary()["pss_mib_most"]
