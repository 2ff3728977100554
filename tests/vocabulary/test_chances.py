"""Probabilities as people read them."""

import pytest

from rankscope.vocabulary.chances import chance


@pytest.mark.parametrize(
    ("probability", "read"),
    [
        (0.931, "93%"),
        (0.99, "99%"),
        (0.9901, "over 99%"),
        (1.0, "over 99%"),
        (0.01, "1%"),
        (0.0, "under 1%"),
    ],
)
def test_nothing_is_certain_and_nothing_impossible(probability, read):
    assert read == chance(probability)
