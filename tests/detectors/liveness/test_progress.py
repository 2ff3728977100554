"""Ranks' own reports of how old their step is, where hosts report rarely."""

import numpy as np
import pytest
from tests.detectors.drawn import steady

from rankscope.detectors.liveness import progress
from rankscope.detectors.liveness.stalls import StallsDetector
from rankscope.detectors.sketch import START, readings, sketch

RARE = np.full(2, 13.0)
"""Seconds between two reports, by host."""


def drawn(newest, *, since=60.0, **fields):
    """Draw ranks whose last step ended 60 s after START.

    `newest`: by rank, when its newest report was made; `since`: by rank, when its last step ended.
    """
    own = steady(ranks=4, spread=0.0)
    newest = np.broadcast_to(np.asarray(newest, float), 4)
    age = newest - np.broadcast_to(np.asarray(since, float), 4)
    ages = readings(START + newest[:, None], age[:, None])
    return sketch(
        own,
        now=START + newest.max(),
        rank_readings={progress.AGE: ages},
        host_interval=RARE,
        **fields,
    )


def stalled(window):
    return [found.kind for found in StallsDetector().evaluate(window)]


def test_rare_reports_of_all_ranks_that_no_step_ended_are_enough():
    assert ["job.stalled"] == stalled(drawn([70, 66, 68, 71]))


def test_a_host_whose_report_is_older_than_the_stall_is_waited_for():
    """Its ranks would look as if they were behind the others."""
    assert [] == stalled(drawn([80, 80, 58, 58]))
    assert [] == stalled(drawn([80, 80, 63, 63]))
    assert ["job.stalled"] == stalled(drawn([89, 89, 58, 58]))  # two of its reports


def test_a_rank_that_never_reports_its_age_is_waited_for():
    assert [] == stalled(drawn([80, 80, 80, np.nan]))


def test_steps_that_ended_and_have_not_arrived_are_no_stall():
    assert [] == stalled(drawn(80, since=[60, 60, 78, 60]))


def test_clocks_that_differ_by_less_than_a_second_do_not_matter():
    assert ["job.stalled"] == stalled(drawn(75, since=[60, 60.6, 59.3, 60]))


def test_a_job_without_ages_stands_nowhere_by_them():
    assert not progress.all_stand(sketch(steady()), START + 60, 1.0)
    empty = {progress.AGE: readings(np.zeros(0), np.zeros((0, 0)))}
    nobody = sketch(steady(ranks=0, steps=0), rank_readings=empty)
    assert not progress.all_stand(nobody, START + 60, 1.0)


def test_a_rank_whose_host_has_not_reported_since_is_not_behind():
    """Its agent restarts while the job evaluates: the last step has yet to arrive."""
    window = drawn([89, 89, 89, 58])
    window.steps.at[3, -1] = np.nan
    assert ["job.stalled"] == stalled(window)


@pytest.mark.parametrize(("newest", "named"), [(75, []), (125, ["rank.behind_step"])])
def test_a_rank_that_stays_silent_is_behind_after_a_minute(newest, named):
    window = drawn([newest, newest, newest, 58], last_received=np.full(4, START + newest))
    window.steps.at[3, -1] = np.nan
    assert named == [kind for kind in stalled(window) if kind == "rank.behind_step"]
