"""Time that is lost by what a log shows, of a job that is over."""

import math

import numpy as np
import pytest

from rankscope.detectors.findings import INFORMATION
from rankscope.detectors.sketch import START, sketch
from rankscope.detectors.speed.logged_lost_time import LoggedLostTimeDetector
from rankscope.vocabulary.log_lines import (
    COMPILES_OFTEN,
    DATA_WAITS,
    DEVICES_IDLE,
    SAVES_LONG,
)
from rankscope.vocabulary.samples import GUESSED, Event


def evaluated(signature, *, over=0.0, **more):
    said = {"role": "confirmation", "signature": signature, "text": "it waits", **more}
    window = sketch(
        np.full((1, 60), 0.8), events=[Event("log.fault", START + 60, said)], now=START + 65
    )
    return LoggedLostTimeDetector(over=over).evaluate(window)


def found(signature, **changed):
    return [one.kind for one in evaluated(signature, **changed)]


@pytest.mark.parametrize(
    ("signature", "kinds"),
    [
        (SAVES_LONG, ["job.slow", "job.checkpoint_long", "job.checkpoint_lost"]),
        (DATA_WAITS, ["job.slow", "job.data_wait", "job.data_lost"]),
        (COMPILES_OFTEN, ["job.slow", "job.recompiles"]),
        (DEVICES_IDLE, ["job.low_utilization"]),
    ],
)
def test_the_job_is_slow_and_what_it_is_lost_in_is_said(signature, kinds):
    assert kinds == found(signature)


def test_nothing_is_said_of_another_line_or_before_the_job_is_over():
    assert [] == found("storage.no_space") + found(SAVES_LONG, over=math.inf)


def test_a_guess_pages_nobody():
    assert INFORMATION == evaluated(DATA_WAITS, **GUESSED)[0].score
    assert INFORMATION < evaluated(DATA_WAITS)[0].score
