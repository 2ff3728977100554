"""Jobs that somebody stopped, by a scheduler or by hand: no crash."""

import numpy as np
import pytest

from rankscope.detectors.liveness.exits import ExitsDetector
from rankscope.detectors.sketch import START, sketch
from rankscope.detectors.window import StepValues


@pytest.mark.parametrize("how", [{"signal": 15}, {"signal": 2}, {"exit_code": 143}])
def test_a_job_that_somebody_stopped_is_no_crash(evaluated, exited, how):
    assert [] == evaluated(*(exited(rank, 60, **how) for rank in range(4)))


TERM, KILL = {"signal": 15}, {"signal": 9}


def test_sigterm_and_after_the_grace_period_sigkill_is_a_stop_by_the_scheduler(evaluated, exited):
    ended = [exited(rank, 60 + rank / 10, **TERM) for rank in (0, 1)]
    assert [] == evaluated(*ended, *(exited(rank, 90.0, **KILL) for rank in (2, 3)))


def test_a_rank_that_lost_its_peers_to_the_scheduler_is_no_crash(evaluated, exited):
    ended = [exited(rank, 60.0, **TERM) for rank in (0, 1)]
    late = [exited(2, 65.0, exit_code=1), exited(3, 90.0, **KILL)]
    assert [] == evaluated(*ended, *late)


def test_a_kill_that_the_launcher_s_sigterm_follows_is_a_crash(evaluated, exited, named):
    """Seen in one poll they have no order; the launcher's wish is never the first."""
    for at in (61.0, 62.0):
        ended = [exited(2, at, **KILL), *(exited(rank, 62.0, **TERM) for rank in (0, 1, 3))]
        assert ["2"] == named(evaluated(*ended), "rank.first_exit")


def test_sigterm_and_sigkill_in_any_order_within_seconds_on_every_host_are_a_stop(
    evaluated, exited, event
):
    """Half of the ranks end by the one, half by the other: no fault kills on two hosts."""
    mixed = [exited(rank, 60 + 0.4 * rank, signal=9 if rank % 2 else 15) for rank in (1, 0, 3, 2)]
    assert [] == evaluated(*mixed)
    oom = event("host.oom_kill", 59.9, pid=1001)
    assert {"host.oom_killed", "job.crashed", "rank.first_exit"} == {
        finding.kind for finding in evaluated(*mixed, oom)
    }


def test_on_one_host_a_mix_with_many_kills_is_a_first_word_that_names_nobody(evaluated, exited):
    mixed = [exited(rank, 60 + 0.4 * rank, signal=15 if rank == 2 else 9) for rank in range(4)]
    (crashed,) = evaluated(*mixed, hosts=1)
    assert "4 of 4 ranks ended together, as stopped" == crashed.text


def test_kills_that_a_scheduler_announced_are_a_stop(evaluated, exited, event):
    wish = event("scheduler.event", 58, reason="Preempted", text="by a job of higher priority")
    killed = [exited(rank, 60.0, **KILL) for rank in range(4)]
    assert [] == evaluated(wish, *killed)
    lost = event("scheduler.event", 58, reason="NodeFail", text="node not responding")
    assert evaluated(lost, *killed)


@pytest.mark.parametrize(
    ("how", "size", "score"),
    [
        pytest.param({"signal": 9}, 1, 1.0, id="somebody may have killed the whole job"),
        pytest.param({"signal": 11}, 1, 3.0, id="nobody sends a segmentation fault"),
        pytest.param({"signal": 9}, 8, 3.0, id="seven more ranks are not reported"),
        pytest.param({}, 1, 1.0, id="nobody saw its code: it may have ended in order"),
        pytest.param({}, 8, 1.0, id="nor the code of the only one of eight that is reported"),
    ],
)
def test_the_only_rank_that_somebody_may_have_ended_names_nobody(exited, how, size, score):
    window = alone(exited(0, 60, **how), size=size)
    assert score == ExitsDetector().evaluate(window)[0].score


def alone(*events, size=1):
    """Return a job of which one rank is reported."""
    return sketch(np.full((1, 60), 0.8), hosts=1, now=START + 120, world_size=size, events=events)


def test_the_only_rank_that_vanished_after_an_error_of_its_own_crashed(exited, logged):
    blamed = logged(0, 59.0, "root", signature="cuda_oom")
    crashed = ExitsDetector().evaluate(alone(blamed, exited(0, 60)))
    assert 3.0 == max(f.score for f in crashed if f.kind == "job.crashed")


def test_ranks_killed_all_together_are_a_first_word_that_names_nobody(evaluated, exited, event):
    killed = [exited(rank, 60.0 + rank, **KILL) for rank in range(4)]
    assert [] == evaluated(*killed)  # no fault reaches the processes of two hosts with SIGKILL
    (crashed,) = evaluated(*killed, hosts=1)
    assert ("job.crashed", 1.0) == (crashed.kind, crashed.score)
    assert "4 of 4 ranks ended together, as stopped" == crashed.text
    for_memory = event("host.oom_kill", 60, rank=1, pid=1001)
    assert 3.0 == next(
        f.score for f in evaluated(for_memory, *killed, hosts=1) if f.kind == "job.crashed"
    )


def test_a_kill_is_held_for_three_seconds_since_a_scheduler_s_come_one_by_one(evaluated, exited):
    lone = exited(2, 61.0, **KILL)
    assert [] == evaluated(lone, now=START + 63)
    assert {"job.crashed", "rank.first_exit"} == {f.kind for f in evaluated(lone, now=START + 64)}
    other = exited(3, 61.2, exit_code=1)
    assert evaluated(lone, other, now=START + 62)


def test_time_alone_matters_when_a_kill_was_held_for_long_enough(steady, exited):
    window = sketch(steady(), now=START + 62, events=(exited(2, 61.0, **KILL),))
    assert START + 64 == ExitsDetector().next_due(window)


def test_a_mix_is_looked_at_again_when_its_newest_exit_was_held_long_enough(steady, exited):
    exits = [exited(1, 60, signal=9), exited(0, 62, signal=15)]
    window = sketch(steady(), events=exits, now=START + 64)
    assert [] == ExitsDetector().evaluate(window)
    assert START + 65 == ExitsDetector().next_due(window)


def test_a_job_of_one_host_that_the_scheduler_evicts_is_no_stop(evaluated, exited, event, named):
    ends = [exited(rank, 60, signal=15) for rank in range(4)]
    evicted = event("scheduler.event", 55, reason="Evicted", text="low on ephemeral-storage")
    assert "job.crashed" == evaluated(evicted, *ends)[0].kind
    preempted = event("scheduler.event", 55, reason="Preempted", text="by a higher priority")
    assert [] == evaluated(preempted, *ends)


@pytest.mark.parametrize("said", [
    {"reason": "Preempted", "text": "by a pod of higher priority"},
    {"reason": "Evicted", "text": "pod on host-1 evicted: node drain"},
])  # fmt: skip
def test_a_host_that_the_scheduler_took_is_why_the_others_are_ended_later(
    evaluated, exited, event, named, said
):
    taken = event("scheduler.event", 57, host="host-1", **said)
    ends = [exited(rank, 60.0 + rank / 10, **TERM) for rank in (2, 3)]
    later = [exited(rank, 75.0, **TERM) for rank in (0, 1)]
    assert ["2"] == named(evaluated(taken, *ends, *later), "rank.first_exit")
    assert "job.crashed" == evaluated(taken, *ends)[0].kind
    assert [] == evaluated(taken, *ends, now=START + 61)


@pytest.mark.parametrize(("steps", "found"), [(60, False), (29, True)])
def test_a_host_that_a_job_goes_on_without_was_given_back(exited, event, steady, steps, found):
    taken = event("scheduler.event", 27, host="host-1", reason="Preempted")
    ends = [exited(rank, 30.0, **TERM) for rank in (2, 3)]
    ended = np.arange(60) < np.array([steps, steps, 29, 29])[:, None]
    whole = sketch(steady()).steps
    cut = StepValues(whole.index, np.where(ended, whole.at, np.nan), whole.planes)
    window = sketch(steady(), steps=cut, events=(taken, *ends), now=START + 60)
    assert found == bool(ExitsDetector().evaluate(window))


def test_a_scheduler_that_ends_the_ranks_of_all_hosts_together_stops_the_job(
    evaluated, exited, event
):
    """Its event is about one host; a second event that the job is requeued says the same."""
    taken = event("scheduler.event", 57, host="host-1", reason="Preempted")
    together = [exited(rank, 60.0 + rank / 4, **TERM) for rank in (2, 3, 0, 1)]
    assert [] == evaluated(taken, *together)
    apart = [exited(rank, 60.0, **TERM) for rank in (2, 3)]
    apart += [exited(rank, 75.0, **TERM) for rank in (0, 1)]
    assert [] == evaluated(taken, event("scheduler.event", 57, reason="Requeued"), *apart)


def test_the_scheduler_s_word_in_a_log_is_a_wish_and_no_error(evaluated, exited, event):
    said = event("log.fault", 58, rank=0, role="root", signature="slurm.preempted")
    killed = [exited(rank, 60.0, **KILL) for rank in range(4)]
    assert ["rank.root_log"] == [finding.kind for finding in evaluated(said, *killed)]
