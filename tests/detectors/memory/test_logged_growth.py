"""Memory that grows by what a log says, of a job that is over."""

import math

import numpy as np
import pytest

from rankscope.detectors.memory.logged_growth import LoggedGrowthDetector
from rankscope.detectors.sketch import START, sketch
from rankscope.vocabulary.log_lines import DEVICE_GROWS, HOST_GROWS
from rankscope.vocabulary.samples import Event


def found(signature, *, over=0.0):
    said = {"role": "confirmation", "signature": signature, "text": "it grows"}
    window = sketch(
        np.full((1, 60), 0.8), events=[Event("log.fault", START + 60, said)], now=START + 65
    )
    return [(one.kind, one.entity.type) for one in LoggedGrowthDetector(over=over).evaluate(window)]


@pytest.mark.parametrize(
    ("signature", "kind"),
    [
        (DEVICE_GROWS, ("job.gpu_memory_grows", "job")),
        (HOST_GROWS, ("process.memory_grows", "process")),
    ],
)
def test_growth_is_that_of_the_job_on_devices_and_of_a_process_on_a_host(signature, kind):
    assert [kind] == found(signature)


def test_nothing_is_said_of_another_line_or_before_the_job_is_over():
    assert [] == found("storage.no_space") + found(HOST_GROWS, over=math.inf)
