"""A loss that is lost by the words of the script that gave up over it."""

import math

import numpy as np
import pytest

from rankscope.detectors.findings import INFORMATION
from rankscope.detectors.numbers.logged_divergence import LoggedDivergenceDetector
from rankscope.detectors.sketch import START, sketch
from rankscope.vocabulary.log_lines import RESUME_CLIMBS
from rankscope.vocabulary.samples import GUESSED, Event

STEP_SECONDS, STEPS, EVERY = 0.8, 60, 1.0
ENDS = EVERY * STEPS


def evaluated(at, *, over=0.0, signature="training.loss_exploded", role="root", **more):
    pairs = {"role": role, "signature": signature, "text": "Loss exploded to 812.0 at step 60!"}
    window = sketch(
        np.full((2, STEPS), STEP_SECONDS),
        events=[Event("log.fault", START + at, pairs | more)],
        now=START + ENDS + 5,
    )
    return LoggedDivergenceDetector(over=over).evaluate(window)


def said(at, **changed):
    return [one.kind for one in evaluated(at, **changed)]


def test_a_script_that_gives_up_over_its_loss_has_lost_it():
    assert ["job.loss_diverged"] == said(ENDS + 0.5)


@pytest.mark.parametrize(
    "changed",
    [
        {"at": ENDS / 2},
        {"at": ENDS + 0.5, "over": math.inf},
        {"at": ENDS + 0.5, "signature": "storage.no_space"},
        {"at": ENDS + 0.5, "role": "confirmation"},
    ],
    ids=["steps followed", "not over yet", "another line", "survived"],
)
def test_another_line_or_one_that_was_survived_says_nothing(changed):
    assert [] == said(**changed)


def test_rows_that_climb_after_a_resume_are_one_that_went_wrong_and_a_guess_is_for_information():
    climbs = {"signature": RESUME_CLIMBS, "role": "confirmation"}
    (sure,) = evaluated(ENDS / 2, **climbs)
    (guess,) = evaluated(ENDS / 2, **climbs, **GUESSED)
    assert "job.loss_high_after_resume" == sure.kind == guess.kind
    assert INFORMATION == guess.score < sure.score
