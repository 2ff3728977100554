"""Devices that a job holds and does not use."""

import numpy as np
import pytest

from rankscope.detectors.efficiency.idle_gpus import IdleGpus
from rankscope.detectors.sketch import START, readings, sketch
from rankscope.detectors.window import Readings

SM, USED = "hw.gpu.sm.activity", "hw.gpu.utilization"
AT = START + np.arange(0, 2401, 15.0)


@pytest.fixture
def evaluated():
    """Return a function that evaluates ranks by the activity of their devices, without steps."""

    def evaluate(*levels, metric=USED, own=None, detector=None, **more):
        level = np.array(levels, float)[:, None]
        by_rank = {metric: readings(AT, level)}
        own = np.zeros((len(levels), 0)) if own is None else own
        window = sketch(own, **{"now": AT[-1], "rank_readings": by_rank, **more})
        return (detector or IdleGpus()).evaluate(window)

    return evaluate


@pytest.mark.parametrize("metric", [SM, USED])
def test_devices_of_a_job_that_never_steps_are_counted_with_their_hours(evaluated, metric):
    (found,) = evaluated(0, 0, 0, 0, metric=metric)
    assert ("job.idle_gpus", 4.0) == (found.kind, found.magnitude)
    assert "4 of 4 devices have been idle for 30 min: 2 GPU-hours" == found.text


def test_money_is_named_where_a_price_is_given(evaluated):
    (found,) = evaluated(0, 0, 0, 0, detector=IdleGpus(price=2.5))
    assert found.text.endswith("2 GPU-hours, 5 at 2.5 an hour")


def test_some_idle_devices_of_a_job_that_steps_are_named(evaluated):
    (found,) = evaluated(0, 0.9, 0.9, 0.9, own=np.full((4, 2400), 0.8))
    assert [0] == list(found.ranks)


def test_a_job_that_steps_or_stopped_stepping_is_others_business(evaluated):
    assert [] == evaluated(0, 0, 0, 0, own=np.full((4, 2400), 0.8))
    assert [] == evaluated(0, 0, 0, 0.9, own=np.full((4, 100), 0.8))


def test_what_has_ended_holds_nothing(evaluated):
    assert [] == evaluated(0, 0, 0, 0, last_received=np.full(4, AT[-1] - 300))


def test_a_job_that_has_just_started_is_given_time(evaluated):
    assert [] == evaluated(0, 0, 0, 0, attempt_started_at=AT[-1] - 900)


def test_one_busy_moment_or_a_short_past_is_not_idle(evaluated):
    busy = np.zeros((4, len(AT)))
    busy[:, 60:80] = 0.5
    assert [] == evaluated(0, 0, 0, 0, rank_readings={USED: readings(AT, busy)})
    short = readings(AT[-40:], np.zeros((4, 1)))
    assert [] == evaluated(0, 0, 0, 0, rank_readings={USED: short})
    assert [] == evaluated(0.5, 0.5)
    assert [] == evaluated(0, 0, rank_readings={})


def test_the_thinned_past_counts_where_fine_readings_end():
    class Thinned(Readings):
        def history(self):
            at = AT[-1] - 900 * np.arange(8.0, 0, -1)
            return readings(at, np.zeros((len(self.at), 1)))

        def of(self, rows):
            return Thinned(self.at[rows], self.value[rows])

    fine = readings(AT[-60:], np.zeros((2, 1)))
    window = sketch(
        np.zeros((2, 0)), now=AT[-1], rank_readings={USED: Thinned(fine.at, fine.value)}
    )
    assert 1 == len(IdleGpus().evaluate(window))
