"""Very short steps are not all sent, and the same ones on every rank."""

import math

import pytest

from rankscope.probe.step_record import StepRecord
from rankscope.probe.thinning import ReportThinning


def sent(duration: float, steps: int, first: int = 0) -> list[int]:
    thinning = ReportThinning()
    records = [StepRecord(step=first + n, duration=duration) for n in range(steps)]
    return [record.step for record in records if thinning.wanted(record)]


@pytest.mark.parametrize("duration", [0.02, 0.1, 60.0])
def test_from_twenty_milliseconds_on_every_step_is_sent(duration):
    assert [*range(1000)] == sent(duration, 1000)


def test_shorter_ones_are_sent_by_index_at_most_fifty_a_second():
    said = sent(0.001, 2000)
    assert [*range(255)] == said[:255]
    assert all(step % 32 == 0 for step in said[256:])
    assert len(said[256:]) * 0.02 <= 2000 * 0.001 + 0.02


def test_ranks_that_joined_at_different_steps_tell_the_same_ones():
    one, other = set(sent(0.005, 3000)), set(sent(0.005, 2000, first=1000))
    assert {step for step in one if step > 1500} == {step for step in other if step > 1500}


def test_a_step_that_stands_out_is_always_sent():
    thinning = ReportThinning()
    for number in range(600):
        thinning.wanted(StepRecord(step=number, duration=0.001))
    bad = StepRecord(step=601, duration=0.001, loss_sum=math.nan, loss_count=1)
    saved = StepRecord(step=603, duration=0.001, checkpoint=0.5)
    counted = StepRecord(step=605, duration=0.001)
    counted.set("training.nonfinite", 4.0, of="grad_local")
    assert [True] * 3 == [thinning.wanted(each) for each in (bad, saved, counted)]
    assert not thinning.wanted(StepRecord(step=607, duration=0.001))
