"""A job of four ranks of which nobody saw how its processes ended: only their logs tell.

Its last step ends 60 s after START; a step takes a second.
"""

import numpy as np
import pytest

from rankscope.detectors.liveness.logged_crashes import LoggedCrashesDetector
from rankscope.detectors.liveness.stall_signs import AGE
from rankscope.detectors.sketch import START, readings, sketch


@pytest.fixture
def job(steady):
    """Return a function that makes the job so many seconds after START."""
    return lambda *events, now=65.0, **fields: sketch(
        steady(steps=60), events=events, **{"now": START + now, **fields}
    )


@pytest.fixture
def found(job):
    """Return a function that evaluates it."""
    return lambda *events, **fields: LoggedCrashesDetector().evaluate(job(*events, **fields))


@pytest.fixture
def error(logged):
    """Return a function that makes the line of a rank that dies of an error of its own."""
    return lambda rank, at, **more: logged(rank, at, "root", **more)


@pytest.fixture
def cut(logged):
    """Return a function that makes the lines of ranks whose connections broke."""
    return lambda *ranks, at, **more: [logged(rank, at, "cascade", **more) for rank in ranks]


def test_the_rank_whose_error_came_before_its_peers_broken_connections_ended_first(
    found, error, cut, named
):
    findings = found(*cut(0, 1, 3, at=60.9), error(2, 60.4))
    assert ["job.crashed", "rank.first_exit"] == [finding.kind for finding in findings]
    assert ["2"] == named(findings, "rank.first_exit")
    assert (START + 60.4, START + 60.4) == findings[0].onset
    assert "4 of 4 ranks logged an error and no step followed" == findings[0].text


def test_of_errors_at_the_same_moment_the_first_is_named_with_less_certainty(found, error, cut):
    alone = found(error(2, 60.4), *cut(0, 1, 3, at=60.9))[1]
    several = found(error(2, 60.4), error(3, 60.6), *cut(0, 1, at=60.9))[1]
    assert several.score < alone.score
    assert several.entity == alone.entity


def test_a_word_of_most_peers_is_given_time_for_exits_and_believed(job, error, cut):
    lines = [error(2, 60.4), *cut(0, 3, at=60.9)]
    early = job(*lines, now=62.0)
    assert [] == LoggedCrashesDetector().evaluate(early)
    due = LoggedCrashesDetector().next_due(early)
    assert LoggedCrashesDetector().evaluate(job(*lines, now=due - START))


def test_a_word_of_few_peers_is_believed_when_all_ranks_are_gone_and_hosts_are_not(job, error, cut):
    lines = [error(2, 60.4), *cut(0, at=60.9)]
    gone = {"last_received": np.full(4, START + 61)}
    early = job(*lines, now=65.0, **gone)
    assert [] == LoggedCrashesDetector().evaluate(early)
    due = LoggedCrashesDetector().next_due(early) - START
    assert 71.0 == pytest.approx(due)
    assert LoggedCrashesDetector().evaluate(job(*lines, now=due, **gone))
    ended = {"host_last_received": np.full(2, START + 61)}
    assert [] == LoggedCrashesDetector().evaluate(job(*lines, now=due, **gone, **ended))
    there = {"last_received": np.full(4, START + due)}
    assert [] == LoggedCrashesDetector().evaluate(job(*lines, now=due, **there))


def test_an_error_that_no_peer_suffers_from_is_no_crash(found, error):
    assert [] == found(error(2, 60.4), now=300.0, last_received=np.full(4, START + 61))


def test_peers_that_were_cut_off_after_nobody_s_error_tell_of_no_crash(found, cut):
    assert [] == found(*cut(0, 1, 2, 3, at=60.9), now=300.0)


def test_an_error_that_steps_followed_was_survived(found, error, cut):
    assert [] == found(error(2, 40.0), *cut(0, 1, 3, at=40.5))


def test_where_exits_are_reported_they_tell(found, error, cut, exited):
    assert [] == found(error(2, 60.4), *cut(0, 1, 3, at=60.9), exited(2, 60.5, exit_code=1))


@pytest.mark.parametrize(
    "stopped",
    [
        pytest.param(lambda event: [event("scheduler.event", 60, reason="Preempted")],
                     id="by the scheduler"),
        pytest.param(lambda event: [event("log.fault", 60, rank=0, role="root",
                                          signature="slurm.preempted")],
                     id="by the scheduler, as the log says"),
        pytest.param(lambda event: [event("training.phase", 60, rank=rank, phase="shutdown")
                                    for rank in range(3)],
                     id="in order, as most ranks say"),
    ],
)  # fmt: skip
def test_errors_of_a_job_that_is_being_stopped_are_no_crash(found, error, cut, event, stopped):
    assert [] == found(*stopped(event), error(2, 60.4), *cut(0, 1, 3, at=60.9))


def test_after_a_collective_timed_out_the_stall_is_the_trouble(found, error, cut):
    late = cut(0, at=60.2, text="Watchdog caught collective operation timeout")
    assert [] == found(*late, error(2, 90.4), *cut(0, 1, 3, at=90.9), now=100.0)


def test_a_start_that_most_ranks_gave_up_is_a_crash_once_all_are_silent(error):
    """Nobody was cut off: the rendezvous of each ended by itself."""

    def at(now, *ranks, apart=0.0, **fields):
        fields = {
            "rank_readings": {AGE: readings(START + np.arange(0.0, 118, 5), np.zeros((4, 1)))},
            "last_received": np.full(4, START + 118), **fields,
        }  # fmt: skip
        return sketch(
            np.zeros((4, 0)), events=[error(rank, 118.0 - apart * rank) for rank in ranks],
            now=START + now, attempt_started_at=START,
            host_last_received=np.full(2, START + now), **fields,
        )  # fmt: skip

    assert [] == LoggedCrashesDetector().evaluate(at(122, 0, 1, 2, 3))
    assert [] == LoggedCrashesDetector().evaluate(at(140, 0, 1, 2, 3, rank_readings={}))
    assert [] == LoggedCrashesDetector().evaluate(
        at(140, 0, 1, 2, 3, last_received=np.full(4, -np.inf))
    )
    assert [] == LoggedCrashesDetector().evaluate(at(140, 0, 1, 2, apart=35.0))
    assert [] == LoggedCrashesDetector().evaluate(at(140, 0))
    crash = LoggedCrashesDetector().evaluate(at(140, 0, 1, 2, 3))[0]
    assert "4 of 4 ranks logged an error and no step followed" == crash.text


def test_errors_of_all_ranks_at_the_end_of_training_are_no_crash(found, error):
    lines = [error(rank, 60.4) for rank in range(4)]
    assert [] == found(*lines, now=100.0, last_received=np.full(4, START + 61))
