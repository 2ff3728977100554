"""Processes that ended abnormally, and which of them ended first."""

import numpy as np
import pytest

from rankscope.detectors.liveness.exits import ExitsDetector
from rankscope.detectors.sketch import START, readings, sketch
from rankscope.vocabulary.samples import Event


def test_the_first_abnormal_exit_is_the_suspect_and_the_rest_cascade(evaluated, exited, named):
    findings = evaluated(
        exited(0, 64.0, exit_code=1), exited(2, 60.0, exit_code=1), exited(1, 64.2, exit_code=1)
    )
    crashed, first = findings
    assert ("job.crashed", 3.0) == (crashed.kind, crashed.magnitude)
    assert "3 of 4 ranks ended abnormally" == crashed.text
    assert (START + 60, START + 60) == crashed.onset == first.onset
    assert ("rank.first_exit", "2", "exit code 1", 3.0) == (
        first.kind, first.entity.id, first.observed, first.score,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("skew", "root", "first"), [(0.0, False, "3"), (0.0, True, "0"), (40.0, False, "0")]
)
def test_exits_without_a_log_are_ordered_by_one_clock(
    evaluated, exited, logged, named, skew, root, first
):
    """By its own clock, which is 1.1 s behind, host-0 was first; where a log tells, it is heard."""
    at, offset = START + np.arange(0.0, 120.0, 5.0), np.array([[-1.1], [0.0]])
    ends = (
        exited(0, 60.0, exit_code=1, host="host-0"),
        exited(3, 60.4, exit_code=1, host="host-1"),
    )
    lines = [logged(0, 59.8, "root")] if root else []
    found = evaluated(
        *lines, *ends, clock_skew=skew,
        host_readings={"system.clock.offset": readings(at, offset)},
    )  # fmt: skip
    assert [first] == named(found, "rank.first_exit")


def test_an_exit_in_order_is_no_crash(evaluated, exited):
    assert [] == evaluated(*(exited(rank, 60, exit_code=0) for rank in range(4)))


def test_a_wished_end_counts_where_another_rank_ended_otherwise(evaluated, exited, named):
    findings = evaluated(exited(0, 61, signal=15), exited(2, 60, signal=11))
    assert ["2"] == named(findings, "rank.first_exit")
    assert "2 of 4 ranks ended abnormally" == findings[0].text


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({"exit_code": 1}, "exit code 1"),
        ({"exit_code": "1"}, "exit code 1"),
        ({"exit_code": -9}, "signal 9"),
        ({"exit_code": 139}, "signal 11"),
        ({"signal": 11}, "signal 11"),
        ({"signal": "6"}, "signal 6"),
        ({"exit_code": 200}, "exit code 200"),
        ({}, "exit code unknown"),
    ],
)
def test_how_a_process_ended_is_said_in_words(evaluated, exited, how, words):
    assert words == evaluated(exited(2, 60, **how))[1].observed


def test_a_vanished_process_that_said_it_shuts_down_ended_in_order(evaluated, exited, event):
    farewell = event("training.phase", 59, rank=2, phase="shutdown")
    assert [] == evaluated(farewell, exited(2, 60))


def test_a_shutdown_that_ends_in_an_error_is_a_crash(evaluated, exited, event, named):
    farewell = event("training.phase", 59, rank=2, phase="shutdown")
    assert ["2"] == named(evaluated(farewell, exited(2, 60, exit_code=1)), "rank.first_exit")


def test_a_dataloader_workers_exit_is_not_its_ranks(evaluated, exited):
    assert [] == evaluated(exited(2, 60, exit_code=1, role="dataloader"))


@pytest.mark.parametrize("rank", [None, True, "2"])
def test_an_exit_of_no_rank_is_not_the_jobs(evaluated, event, rank):
    pairs = {} if rank is None else {"rank": rank}
    assert [] == evaluated(event("process.exit", 60, exit_code=1, **pairs))


def test_a_rank_that_only_lost_its_peer_is_not_first_however_early_it_was_seen(
    evaluated, exited, logged, named
):
    findings = evaluated(
        logged(0, 59.9, "cascade", signature="connection_closed"),
        exited(0, 60.0, exit_code=1),
        exited(2, 60.3, signal=11),
    )
    assert ["2"] == named(findings, "rank.first_exit")
    assert (START + 60.0, START + 60.3) == findings[0].onset, "the crash began with the first exit"


@pytest.mark.parametrize(
    ("first", "line", "ended", "suspect"),
    [
        pytest.param({"exit_code": 1}, 60.4, 60.5, "1", id="its own error explains both"),
        pytest.param({}, 60.4, 60.5, "1", id="nobody saw how the first one ended"),
        pytest.param({"signal": 15}, 60.4, 60.5, "1", id="somebody asked the first one to end"),
        pytest.param({"signal": 11}, 60.4, 60.5, "2", id="a signal explains itself"),
        pytest.param({"exit_code": 1}, 62.9, 63.0, "2", id="later than clocks and polling explain"),
        pytest.param({"exit_code": 1}, 20.0, 60.5, "2", id="an error of long ago was survived"),
        pytest.param({"exit_code": 1}, 70.0, 60.5, "2", id="an error since is another process's"),
    ],
)
def test_who_logged_an_error_goes_before_who_ended_just_before_it_without_a_word(
    evaluated, exited, logged, named, first, line, ended, suspect
):
    """A disk fills: its rank logs that, a peer's end is reported half a second earlier."""
    findings = evaluated(
        exited(2, 60.0, **first), logged(1, line, "root"), exited(1, ended, exit_code=1)
    )
    assert [suspect] == named(findings, "rank.first_exit")


def test_where_everybody_blames_a_peer_the_earliest_is_named(evaluated, exited, logged, named):
    findings = evaluated(
        logged(0, 59.9, "cascade"), logged(2, 59.9, "cascade"),
        exited(2, 60.0, exit_code=1), exited(0, 60.3, exit_code=1),
    )  # fmt: skip
    assert ["2"] == named(findings, "rank.first_exit")


def test_a_rank_with_a_root_and_a_cascade_line_stays_a_suspect(evaluated, exited, logged, named):
    findings = evaluated(
        logged(2, 59.8, "root", signature="cuda_oom"), logged(2, 59.9, "cascade"),
        exited(2, 60.0, exit_code=1), exited(0, 60.3, exit_code=1),
    )  # fmt: skip
    assert ["2"] == named(findings, "rank.first_exit")


def test_of_simultaneous_exits_the_one_with_a_root_error_is_first_and_surely_so(
    evaluated, exited, logged, named
):
    findings = evaluated(
        logged(3, 59.9, "root", signature="python_exception", text="ValueError: bad batch\n  at"),
        exited(1, 60.00, exit_code=1),
        exited(3, 60.04, exit_code=1),
    )
    assert ["3"] == named(findings, "rank.root_log") == named(findings, "rank.first_exit")
    assert "rank 3 logged python_exception: ValueError: bad batch" == findings[0].text
    assert 3.0 == findings[-1].score


def test_of_simultaneous_exits_without_a_log_the_first_is_named_weakly(evaluated, exited):
    first = evaluated(exited(1, 60.00, exit_code=1), exited(3, 60.04, exit_code=1))[1]
    assert ("1", 1.5) == (first.entity.id, first.score)


def test_only_the_first_root_line_of_a_rank_is_told(evaluated, logged):
    (line,) = evaluated(
        logged(3, 50, "root", signature="a"), logged(3, 51, "root", signature="b", text="later")
    )
    assert "rank 3 logged a" == line.text


@pytest.mark.parametrize(("rank", "role"), [(9, "root"), (2, "cascade"), (2, "confirmation")])
def test_lines_of_other_roles_and_of_unknown_ranks_are_no_root(evaluated, logged, rank, role):
    assert [] == evaluated(logged(rank, 50, role, signature="a"))


def test_an_unknown_rank_that_ended_is_counted_and_not_named(evaluated, exited, named):
    findings = evaluated(exited(9, 60, exit_code=1))
    assert ["example"] == named(findings, "job.crashed")
    assert [] == named(findings, "rank.first_exit")


def test_a_second_exit_of_one_rank_changes_nothing(evaluated, exited):
    once = evaluated(exited(2, 60, exit_code=1))
    assert once == evaluated(exited(2, 60, exit_code=1), exited(2, 70, exit_code=1))


def test_an_oom_kill_accuses_the_host_and_names_the_rank(evaluated, event):
    (kill,) = evaluated(event("host.oom_kill", 60, host="host-1", job=None, pid=1003, rank=3))
    assert ("host.oom_killed", "host-1", 3.0) == (kill.kind, kill.entity.id, kill.score)
    assert "the kernel killed rank 3 on host host-1 for memory" == kill.text


def test_an_oom_kill_of_somebody_else_is_a_weaker_sign(evaluated, event):
    (kill,) = evaluated(event("host.oom_kill", 60, host="host-1", job=None, pid=77))
    assert (1.0, "pid 77") == (kill.score, kill.observed)


def test_an_oom_kill_on_a_host_of_another_job_says_nothing(evaluated, event):
    assert [] == evaluated(event("host.oom_kill", 60, host="elsewhere", job=None, pid=77))


def test_a_first_process_that_vanished_unseen_leaves_its_peers_to_be_named(
    evaluated, exited, named
):
    """The docstring's failure mode: rank 2 is gone, and only its peers' exits were seen."""
    findings = evaluated(exited(0, 64.0, exit_code=1), exited(1, 64.2, exit_code=1))
    assert ["0"] == named(findings, "rank.first_exit")


def test_an_exit_that_steps_of_the_rank_follow_is_over(evaluated, exited):
    """The launcher restarted it under the same attempt number."""
    assert [] == evaluated(exited(1, 30.0, exit_code=1))


@pytest.mark.parametrize(("before", "over"), [(0.9, False), (1.1, True)])
def test_an_exit_is_not_over_by_steps_of_the_second_to_which_it_is_cut(
    evaluated, exited, steady, before, over
):
    """With torch 2.13 torchrun writes the time of an exception in whole seconds."""
    last = float(sketch(steady()).steps.at.max()) - START
    assert over == (not evaluated(exited(1, last - before, exit_code=1)))


def test_what_the_node_reported_before_the_attempt_started_is_an_earlier_tenant_s(steady, event):
    kill = event("host.oom_kill", -600, job=None, pid=77)
    window = sketch(steady(), events=(kill,), attempt_started_at=START - 10)
    assert [] == ExitsDetector().evaluate(window)
    ours = event("host.oom_kill", 30, job=None, pid=1001, rank=1)
    window = sketch(steady(), events=(kill, ours), attempt_started_at=START - 10)
    assert ["host.oom_killed"] == [f.kind for f in ExitsDetector().evaluate(window)]


@pytest.mark.parametrize(("at", "count"), [(-100, 0), (-50, 1), (5, 1)])
def test_a_line_from_long_before_the_attempt_is_not_its_own_though_it_carries_the_job_s_id(
    steady, event, at, count
):
    oom = event("host.oom_kill", at, rank=2, pid=1002)
    window = sketch(steady(), events=[oom], attempt_started_at=START, now=START + 120)
    assert count == len(ExitsDetector().evaluate(window))


def test_ranks_that_vanish_together_with_codes_unknown_most_likely_ended(evaluated, exited, logged):
    gone = [exited(rank, 61.0 + rank / 10) for rank in range(4)]
    (ended,) = evaluated(*gone)
    assert 1.0 == ended.score
    assert "rank.first_exit" in {f.kind for f in evaluated(gone[2])}
    blamed = logged(2, 60.9, "root", signature="cuda_oom")
    assert "rank.first_exit" in {f.kind for f in evaluated(blamed, *gone)}


def test_exits_after_a_collective_timed_out_name_nobody(evaluated, exited, logged, named):
    """Whoever waited for the whole time-out ends itself; the culprit does neither."""
    findings = evaluated(
        logged(1, 58.0, "cascade", text="Watchdog caught collective operation timeout: WorkNCCL("),
        exited(1, 60.0, signal=6), exited(2, 60.3, signal=6),
    )  # fmt: skip
    assert ["job.crashed"] == [finding.kind for finding in findings]
    assert [] == named(findings, "rank.first_exit")


def test_a_rank_that_ended_before_its_peers_timed_out_is_the_suspect(
    evaluated, exited, logged, named
):
    findings = evaluated(
        exited(3, 60.0, signal=11),
        logged(1, 100.0, "cascade", signature="nccl.watchdog_timeout"),
        exited(1, 106.0, signal=6),
    )
    assert ["3"] == named(findings, "rank.first_exit")


def test_one_of_two_ranks_that_vanished_with_its_code_unknown_may_have_been_asked_to_end(
    steady, exited, logged
):
    """The scheduler waits for the other one until it kills it; who crashed leaves a line."""
    gone = exited(0, 61.0)
    (ended,) = ExitsDetector().evaluate(sketch(steady(ranks=2), events=(gone,), now=START + 80))
    assert 1.0 == ended.score
    blamed = logged(0, 60.9, "root", signature="cuda_oom")
    crashed = ExitsDetector().evaluate(
        sketch(steady(ranks=2), events=(blamed, gone), now=START + 80)
    )
    assert 3.0 == max(f.score for f in crashed if f.kind == "job.crashed")
    signalled = exited(0, 61.0, signal=9)
    killed = ExitsDetector().evaluate(sketch(steady(ranks=2), events=(signalled,), now=START + 80))
    assert 3.0 == max(f.score for f in killed if f.kind == "job.crashed")


GIVEN_UP = {"signature": "nccl.ib_completion_error", "role": "root"}


@pytest.mark.parametrize("whose", [{}, {"rank": 2}])
@pytest.mark.parametrize("how", [{"signal": 6}, {"exit_code": 1}])
def test_who_ended_itself_since_a_transfer_was_given_up_is_not_named(
    evaluated, exited, named, whose, how
):
    line = Event("log.fault", START + 59.9, GIVEN_UP | whose)
    assert [] == named(evaluated(line, exited(2, 60.0, **how)), "rank.first_exit")


@pytest.mark.parametrize(
    ("line", "how"),
    [
        (GIVEN_UP, {"signal": 11}),
        (GIVEN_UP | {"signature": "python.exception"}, {"exit_code": 1}),
        (GIVEN_UP | {"rank": 1}, {"exit_code": 1}),
    ],
    ids=["by a signal", "of an error of its own", "where another rank gave it up"],
)
def test_who_ended_otherwise_is_named(evaluated, exited, named, line, how):
    said = Event("log.fault", START + 59.9, line)
    assert ["2"] == named(evaluated(said, exited(2, 60.0, **how)), "rank.first_exit")
