"""Jobs that step while their devices do little."""

import numpy as np

from rankscope.detectors.efficiency.low_utilization import LowUtilizationDetector
from rankscope.detectors.sketch import START, readings, sketch

SM, USED = "hw.gpu.sm.activity", "hw.gpu.utilization"
AT = START + np.arange(0, 3601, 15.0)
OWN = np.full((4, 3600), 0.8)


def evaluated(level, *, metric=SM, own=OWN, at=AT, detector=None, **more):
    """Evaluate a job that steps for an hour, by its devices' activity."""
    by_rank = {metric: readings(at, np.full((4, 1), level))}
    window = sketch(own, **{"now": AT[-1], "rank_readings": by_rank, **more})
    return (detector or LowUtilizationDetector()).evaluate(window)


def test_little_activity_over_ten_minutes_is_worth_knowing_and_no_page():
    (found,) = evaluated(0.1)
    assert ("job.low_utilization", 0.5) == (found.kind, found.score)
    assert "the devices work 10% of the time (SM activity); not used: 0.6 GPU-hours" == found.text


def test_utilization_counts_where_activity_is_not_reported():
    (found,) = evaluated(0.3, metric=USED, detector=LowUtilizationDetector(price=2.0))
    assert found.text.endswith("(utilization); not used: 0.467 GPU-hours, 0.9333 at 2 an hour")


def test_a_busy_job_one_that_stopped_and_a_young_one_are_no_finding():
    assert [] == evaluated(0.5)
    assert [] == evaluated(0.1, own=OWN[:, :100])
    assert [] == evaluated(0.1, own=OWN[:, :5])
    assert [] == evaluated(0.1, attempt_started_at=AT[-1] - 590)


def test_it_must_have_been_so_all_the_time():
    level = np.full((4, len(AT)), 0.9)
    level[:, -20:] = 0.1
    assert [] == evaluated(0.1, rank_readings={SM: readings(AT, level)})
    assert [] == evaluated(0.1, at=AT[-20:])


def test_nothing_reported_is_no_finding():
    assert [] == evaluated(0.1, rank_readings={})


def test_a_job_that_became_slower_has_a_fault_and_is_no_finding():
    own = np.concatenate([np.full((4, 1400), 0.8), np.full((4, 1400), 1.6)], axis=1)
    assert [] == evaluated(0.1, own=own)
