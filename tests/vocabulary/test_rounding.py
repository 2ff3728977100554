"""Numbers of documents: six digits, and words for what is none."""

import math

import pytest

from rankscope.vocabulary.rounding import number, shown


@pytest.mark.parametrize(
    ("value", "fit"),
    [(1 / 3, 0.333333), (123456789.0, 123457000.0), (0.0, 0.0), (None, None), (math.nan, None),
     (math.inf, None), (-math.inf, None)],
)  # fmt: skip
def test_numbers_have_six_significant_digits_and_are_finite(value, fit):
    assert fit == number(value)


@pytest.mark.parametrize(
    ("value", "fit"),
    [("exit code 1", "exit code 1"), (0.123456789, 0.123457), (3, 3.0), (None, None),
     (math.nan, "NaN"), (math.inf, "Inf"), (-math.inf, "-Inf")],
)  # fmt: skip
def test_what_was_observed_is_shown_even_where_it_is_no_number(value, fit):
    assert fit == shown(value)
