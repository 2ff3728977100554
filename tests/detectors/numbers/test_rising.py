"""A loss that climbs to the end of an excerpt of a log."""

import math

import numpy as np
import pytest

from rankscope.detectors.numbers.rising import RisingLossDetector
from rankscope.detectors.sketch import sketch

CLIMBS = [1.45, 1.41, 1.42, 1.43, 1.46, 1.44, 1.47, 1.5, 1.51, 1.57, 1.56, 1.61, 1.63]
LEFT = [5.5, 5.6, 5.6, 4.8, 5.96, 8.7, 8.0, 17.3]
STAYS = [1.21, 1.18, 2.9, 4.4, 4.1, 3.9, 3.8, 3.8]
COLLAPSED = [2.31, 2.12, 2.04, 2.2, 2.398, 2.397, 2.399, 2.398, 2.396, 2.398, 2.397, 2.398]
GUESSES = [2.16, 2.31, 2.24, 4.6047, 4.6052]
LAST = [4.1, 0.62, 0.61, 0.64, 0.6, 0.63, 9.8]


def found(values, *, over=0.0):
    loss = np.array([values])
    window = sketch(np.full(loss.shape, 2.0), hosts=1, planes={"training.loss": loss})
    return [one.text for one in RisingLossDetector(over=over).evaluate(window)]


def noise(count, spread):
    return np.random.default_rng(3).normal(0.0, spread, count)


@pytest.mark.parametrize("values", [CLIMBS, LEFT, STAYS, LAST, COLLAPSED, GUESSES])
def test_a_loss_that_climbs_until_its_log_ends_is_told(values):
    (text,) = found(values)
    assert text.endswith("where the log ends")


@pytest.mark.parametrize(
    "values",
    [
        2.0 - 0.05 * np.arange(20) + noise(20, 0.02),
        2.0 + noise(30, 0.3),
        [*CLIMBS, 1.40, 1.39, 1.38],
        [5.5, 5.6, 17.3, 5.6, 4.8, 5.9, 5.5, 5.4],
        [2.0, 2.1, 2.3],
        2.0 + 0.001 * np.arange(20),
        np.linspace(0.1, 4.0, 100) + noise(100, 0.01),
        [*STAYS[:-1], 1.9],
        [*STAYS, 3.5, 2.6, 1.9, 1.4],
        [1.2, 1.2, 1.9, 1.8, 1.8, 1.7, 1.7, 1.7],
        [0.0, 0.0, 2.9, 3.1, 3.0, 3.0, 3.1, 3.0],
        [-0.02, 0.01, 0.3, -0.2, 0.4, 0.1, 0.2, 0.5],
        [0.7, 0.1, 0.9, 0.2, 0.6, 0.3, 0.1, 2.5],
        [*LAST[:-1], 3.1],
        [2.7, *COLLAPSED],
        COLLAPSED[3:],
        COLLAPSED[:-2],
        GUESSES[:-1],
        GUESSES[1:],
        [*GUESSES[:-1], 4.66],
        [2.16, 2.31, 2.24, 3.2041, 3.2043],
        [2.2415, 2.2417, 2.2419, 4.6047, 4.6052],
        [0.0, 2.31, 2.24, 4.6047, 4.6052],
    ],
    ids=["falls", "noise", "came back", "one spike", "few", "a trifle", "a whole curve",
         "comes down", "learns again", "harder data", "from nothing", "about zero", "wanders",
         "one odd batch", "no higher than it began", "had not fallen", "too few to say",
         "one of them", "two before", "it moves", "half as high", "as still before", "from zero"],
)  # fmt: skip
def test_another_loss_is_not_told(values):
    assert [] == found(list(values))


def test_nothing_is_said_before_the_job_is_over():
    assert [] == found(CLIMBS, over=math.inf)
