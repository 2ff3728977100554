"""What alerts need of a window beside findings."""

from dataclasses import replace

import numpy as np
import pytest

from rankscope.collector.pipeline.job_state import step_seconds
from rankscope.detectors.sketch import sketch
from rankscope.detectors.window import StepValues


def test_a_step_takes_as_long_as_its_steps_are_apart():
    assert step_seconds(sketch(np.full((4, 20), 59.8))) == pytest.approx(60.0)


def test_where_one_step_in_ten_is_reported_a_tenth_of_that():
    window = sketch(np.full((4, 20), 59.8))
    sparse = StepValues(window.steps.index * 10, window.steps.at, window.steps.planes)
    assert step_seconds(replace(window, steps=sparse)) == pytest.approx(6.0)


def test_of_a_job_without_steps_nobody_can_tell():
    assert 0.0 == step_seconds(sketch(np.zeros((4, 0))))
