"""Lengths of time as findings write them."""

import math

import pytest

from rankscope.detectors import durations


@pytest.mark.parametrize(
    ("value", "words"),
    [(50, "50 s"), (600, "10 min"), (3 * 3600, "3 h"), (3 * 86400, "3 days"),
     (math.inf, "no known time")],
)  # fmt: skip
def test_times_are_written_as_a_person_writes_them(value, words):
    assert words == durations.duration(value)


@pytest.mark.parametrize(
    ("value", "words"),
    [(1234.5, "1234 s"), (1.2345, "1.23 s"), (0.5, "0.5 s"), (0.0123, "0.0123 s"),
     (0.0042, "4.2 ms"), (1e-05, "under 1 ms"), (0.0, "0 s"), (math.nan, "no known time")],
)  # fmt: skip
def test_short_times_have_three_digits_and_no_exponent(value, words):
    assert words == durations.seconds(value)
