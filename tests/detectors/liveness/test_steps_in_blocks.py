"""Jobs of which only a log is known that is written in blocks: they are given the time of one."""

import numpy as np
import pytest

from rankscope.detectors.liveness.stalls import StallsDetector
from rankscope.detectors.sketch import START, readings, sketch

AGE = "training.progress.age"


def kinds(findings):
    return [finding.kind for finding in findings]


@pytest.fixture
def info():
    """Return a function that gives the readings of ranks without a probe: that they live."""
    return lambda until, ranks=4: {
        "training.rank.info": readings(START + np.arange(0.0, until + 1, 5), np.ones((ranks, 1)))
    }


def test_a_job_whose_steps_come_in_blocks_stands_once_a_block_is_long_overdue(steady, info):
    own = steady()
    for interval, first in ((60.0, 60 + 180 + 60), (120.0, 60 + 180 + 120)):
        early, late = (
            StallsDetector().evaluate(
                sketch(own, now=START + now, rank_readings=info(now), steps_interval=interval)
            )
            for now in (first - 5, first + 5)
        )
        assert ([], ["job.stalled"]) == (early, kinds(late))


def test_where_probes_report_how_old_the_last_step_is_no_block_is_waited_for(steady):
    at = np.arange(0.0, 76, 5)
    age = {AGE: readings(START + at, np.tile(np.maximum(at - 60, 0.0), (4, 1)))}
    window = sketch(steady(spread=0.0), now=START + 75, rank_readings=age, steps_interval=60.0)
    assert ["job.stalled"] == kinds(StallsDetector().evaluate(window))


def test_a_time_out_in_the_log_says_that_no_block_is_due(steady, info, event):
    timed_out = tuple(
        event("log.fault", 80, rank=rank, text="Watchdog caught collective operation timeout")
        for rank in range(3)
    )
    window = sketch(
        steady(), now=START + 81, rank_readings=info(81), steps_interval=600.0, events=timed_out
    )
    assert "job.stalled" == kinds(StallsDetector().evaluate(window))[0]


def test_collectives_that_move_are_progress_where_steps_come_in_blocks(steady, info, group):
    moves = group([160] * 4, [160] * 4, at=160, changed=159)
    stands = group([161] * 4, [160] * 4, at=185, changed=161)
    for now, groups, found in ((165, (moves,), 0), (185, (stands,), 1)):
        window = sketch(
            steady(), now=START + now, rank_readings=info(now), steps_interval=600.0, groups=groups
        )
        assert found == kinds(StallsDetector().evaluate(window)).count("job.stalled")
