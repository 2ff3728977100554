"""Jobs that never reach their first step."""

import numpy as np
import pytest

from rankscope.detectors import activity
from rankscope.detectors.liveness.never_started import NeverStartedDetector
from rankscope.detectors.liveness.stall_signs import AGE
from rankscope.detectors.sketch import START, readings, sketch


def evaluated(seconds, *, cpu=0.02, columns=0, **fields):
    """Evaluate four processes that have reported for some seconds."""
    at = START + np.arange(0.0, seconds + 1, 30)
    held = {
        AGE: readings(at, np.zeros((4, 1))),
        activity.CPU: readings(at, np.full((4, 1), cpu)),
    }
    fields = {"rank_readings": held, "attempt_started_at": START, **fields}
    window = sketch(np.full((4, columns), 0.8), now=START + seconds, **fields)
    return NeverStartedDetector().evaluate(window)


@pytest.mark.parametrize(("seconds", "scores"), [(600, []), (960, [2.0]), (1860, [3.0])])
def test_a_start_that_waits_is_a_symptom_after_a_quarter_of_an_hour(seconds, scores):
    assert scores == [finding.score for finding in evaluated(seconds, cpu=0.1)]


@pytest.mark.parametrize(("seconds", "scores"), [(240, []), (330, [2.0]), (630, [3.0])])
def test_a_start_whose_ranks_are_all_there_and_asleep_is_given_five_minutes(seconds, scores):
    assert scores == [finding.score for finding in evaluated(seconds, cpu=0.01)]


def test_a_start_that_works_is_given_an_hour():
    """Compiling and loading use a CPU."""
    assert [] == evaluated(3000, cpu=0.6)
    assert ["job.never_started"] == [finding.kind for finding in evaluated(3660, cpu=0.6)]


def test_the_first_step_ends_it():
    assert [] == evaluated(2000, columns=1)


def test_ranks_that_never_came_are_counted():
    symptom, missing = evaluated(960, world_size=8)
    assert "4 of 8 ranks never reported" == missing.text
    assert "job.never_started" == symptom.kind


def test_where_no_source_would_show_steps_nothing_is_said(event):
    assert [] == evaluated(2000, rank_readings={})
    init = event("training.phase", 1, rank=0, phase="init")
    assert ["job.never_started"] == [
        finding.kind for finding in evaluated(2000, rank_readings={}, events=[init])
    ]


def test_a_job_that_ended_without_a_step_is_evidence_for_its_crash(event):
    (found,) = evaluated(100, events=[event("process.exit", 40, rank=1, exit_code=1)])
    assert "job.no_step" == found.kind
    assert "the job ended 40 s after its start without one step" == found.text


def test_a_start_of_unknown_time_is_not_measured():
    assert [] == evaluated(2000, attempt_started_at=-np.inf)


def test_a_start_that_failed_before_any_data_has_no_step(event):
    events = [event("training.phase", 1, rank=0, phase="init"),
              event("process.exit", 5, rank=0, exit_code=1)]  # fmt: skip
    window = sketch(np.zeros((4, 0)), now=START + 6, events=events,
                    attempt_started_at=float("-inf"))  # fmt: skip
    assert ["job.no_step"] == [finding.kind for finding in NeverStartedDetector().evaluate(window)]
    events.insert(1, event("training.phase", 4, rank=0, phase="training"))
    window = sketch(np.zeros((4, 0)), now=START + 6, events=events,
                    attempt_started_at=float("-inf"))  # fmt: skip
    assert [] == NeverStartedDetector().evaluate(window)


def test_a_job_that_was_reported_late_is_given_as_long_from_then_on():
    """Its steps of before were not seen: the collector, or an agent, began in its midst."""
    late = {"attempt_started_at": START - 7200, "attempt_reported_at": START}
    assert [] == evaluated(600, cpu=0.1, **late)
    (found,) = evaluated(960, cpu=0.1, **late)
    assert "no step in the 960 s since the job was first reported" == found.text
    assert START - 7200 == found.onset[0]


def test_a_job_that_was_reported_late_and_ended_may_have_stepped(event):
    late = {"attempt_started_at": START - 7200, "attempt_reported_at": START}
    assert [] == evaluated(100, events=[event("process.exit", 40, rank=1, exit_code=1)], **late)


def test_a_start_that_ended_in_logs_alone_had_no_step_either(event):
    lines = [event("log.fault", 118.0, rank=rank, role="root") for rank in range(4)]
    window = sketch(
        np.zeros((4, 0)), now=START + 140, events=lines,
        attempt_started_at=START, last_received=np.full(4, START + 118),
        host_last_received=np.full(2, START + 140),
        rank_readings={AGE: readings(START + np.arange(0.0, 118, 5), np.zeros((4, 1)))},
    )  # fmt: skip
    (found,) = NeverStartedDetector().evaluate(window)
    assert "the job ended 118 s after its start without one step" == found.text
