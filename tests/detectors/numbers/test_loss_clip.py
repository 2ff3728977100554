"""A loss at the end of its scale, in the log of a job that is over."""

import math

import numpy as np
import pytest

from rankscope.detectors.numbers.loss_clip import LossClipDetector, clip_of
from rankscope.detectors.sketch import sketch


def found(values, *, over=0.0):
    loss = np.array([values])
    window = sketch(np.full(loss.shape, 2.0), hosts=1, planes={"training.loss": loss}, first=40)
    return [one.text for one in LossClipDetector(over=over).evaluate(window)]


FLOAT32 = "the smallest float32"


@pytest.mark.parametrize("before", [[], [4.61], [2.2, 2.3, 9.4]])
def test_it_is_told_from_the_step_on_since_which_it_stands(before):
    (text,) = found([*before, *[87.3365] * 3])
    step = 40 + len(before)
    assert text == (
        f"the loss is 87.3365 from step {step} on: answers have no chance above {FLOAT32}"
    )


@pytest.mark.parametrize(
    ("loss", "clip"),
    [
        (87.3365, FLOAT32),
        (87.33654475, FLOAT32),
        (1746.73, FLOAT32),  # twenty times, by its weight
        (139.738, FLOAT32),  # three heads of 1, 0.3 and 0.3
        (16.118096, "1e-7, of Keras"),
        (8.0590477, "1e-7, of Keras"),  # half of the answers
        (18.420681, "1e-8, of MXNet and older Keras"),
        (27.631, "1e-12, of MXNet"),
    ],
)
def test_frameworks_cut_probabilities_off_at_their_own_smallest(loss, clip):
    assert clip == clip_of(loss)


@pytest.mark.parametrize(
    "loss", [87.34, 87.3, 87.41, 0.0, -87.3365, 2.302585, 9.21034, 100.0, 6.9078, 4.0295]
)
def test_another_loss_is_at_no_clip(loss):
    assert clip_of(loss) is None


@pytest.mark.parametrize(
    "values",
    [[87.3365] * 2, [*[87.3365] * 6, 4.2], [2.3, 87.3365, 87.3365, 87.3366], [math.nan] * 4],
    ids=["too few", "it came back", "it moves", "no number"],
)
def test_a_loss_that_only_passes_the_clip_is_not_told(values):
    assert [] == found(values)


def test_nothing_is_said_before_the_job_is_over():
    assert [] == found([87.3365] * 5, over=math.inf)
