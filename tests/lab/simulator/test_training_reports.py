"""Who reports what, how often: probes, lines of logs, sparse and small jobs, resizes."""

import numpy as np
import pytest

from rankscope.lab.simulator import days

from .jobs import events, healthy, of_rank, rows, steps


def test_a_log_reports_the_mean_duration_of_the_steps_since_its_last_line():
    found = healthy(reported_by="log", report_from="last", report_every=5)
    ((named, (at, value)),) = rows(found, "training.step.duration").items()
    assert dict(named) == {"rank": 15, "source": "log"}
    took = (steps(found, "end") - steps(found, "start"))[:, 15]
    np.testing.assert_allclose(
        value[1:], [took[n + 1 : n + 6].mean() for n in range(0, 5 * (len(value) - 1), 5)]
    )
    assert len(at) == len(took[::5])


def test_a_log_says_nothing_of_compute_communication_or_memory():
    found = healthy(reported_by="log", report_from="first")
    named = {row.metric for row in found.series if row.metric.startswith("training.")}
    assert named == {
        "training.rank.info",
        "training.step",
        "training.step.duration",
        "training.loss",
        "training.grad_norm",
        "training.learning_rate",
    }


def test_a_loss_may_come_with_one_report_in_twenty():
    found = healthy(report_every=2, loss_every=20)
    loss, step = of_rank(found, "training.loss")[0], of_rank(found, "training.step")[0]
    assert len(loss[0]) == pytest.approx(len(step[0]) / 20, abs=1)
    assert len(step[0]) == pytest.approx(len(found.attempts[0].steps.index) / 2, abs=1)


def test_only_ranks_that_report_have_a_thread_that_says_how_old_their_step_is():
    found = healthy(report_from="first")
    assert list(of_rank(found, "training.progress.age")) == [0]
    assert len(of_rank(found, "training.rank.info")) == 16


@pytest.mark.parametrize("slots", [1, 2])
def test_jobs_of_one_and_two_ranks_have_nobody_or_one_to_wait_for(slots):
    found = healthy(hosts=1, slots=slots, clips=False)
    assert len(found.attempts[0].seats.groups) == slots - 1
    comm = np.median(steps(found, "comm")[10:])
    assert comm < 0.02 if slots == 1 else comm > 0.1


def test_an_elastic_job_comes_back_with_fewer_hosts():
    found = healthy(restarts=(50.0,), restart_seconds=5.0, sizes=(4, 3))
    assert [16, 12] == [attempt.seats.world for attempt in found.attempts]
    sizes = {dict(row.attributes)["world_size"] for row in found.series
             if row.metric == "training.rank.info"}  # fmt: skip
    assert {16, 12} == sizes


def test_a_first_step_may_take_minutes():
    found = healthy(compile_seconds=90.0, seconds=180.0)
    took = (steps(found, "end") - steps(found, "start"))[:, 0]
    assert took[0] > 60
    assert took[4:].max() < 2
    used = next(row for row in found.series if row.metric == "process.cpu.utilization")
    began = float(steps(found, "start")[0, 0])
    compiles = (used.at > began + 10) & (used.at < began + 60)
    assert used.value[compiles].min() > 0.3  # a compiler burns a CPU


@pytest.mark.parametrize("seconds", [0.1, 40.0])
def test_steps_may_be_short_or_long(seconds):
    found = healthy(step_seconds=seconds, seconds=max(20.0, 6 * seconds))
    took = np.median((steps(found, "end") - steps(found, "start"))[2:])
    assert took == pytest.approx(seconds, rel=0.2)


def test_healthy_hours_have_habits_of_every_kind():
    jobs = [days.healthy(seed).jobs[0] for seed in range(120)]
    clusters = [days.healthy(seed).cluster for seed in range(120)]
    assert {"probe", "log"} == {job.reported_by for job in jobs}
    assert {"all", "first", "last"} == {job.report_from for job in jobs}
    assert {1, 5, 10, 100} == {job.report_every for job in jobs}
    assert {"all", "first", "async"} == {job.checkpoint_by for job in jobs}
    assert {1, 2} <= {cluster.hosts * cluster.slots for cluster in clusters}
    assert any(job.sizes for job in jobs)
    assert any(job.ep > 1 for job in jobs)
    assert any(job.loss_spikes for job in jobs)
    assert any(job.compile_seconds > 120 for job in jobs)
    assert min(job.step_seconds for job in jobs) < 1
    assert max(job.step_seconds for job in jobs) > 60


def test_no_healthy_hour_runs_out_of_memory_or_crashes():
    from rankscope.lab.simulator import recording  # noqa: PLC0415

    for seed in (2, 5, 9, 13, 21, 33):
        found = recording.simulate(days.healthy(seed, seconds=300.0), seed)
        for attempt in found.attempts:
            assert not attempt.crashed
            assert not [death for death in attempt.deaths.values() if death.signature]


def test_each_rank_announces_training_when_its_own_part_of_an_evaluation_is_done():
    """After an evaluation by rank 0 the others wait for it inside the next step's collective."""
    found = healthy(eval_every=20, eval_seconds=15.0, eval_by="first", seconds=100.0)
    took: dict[int, list[float]] = {}
    began: dict[int, float] = {}
    for said in events(found, "training.phase"):
        rank, phase = said.attributes["rank"], said.attributes["phase"]
        if phase == "eval":
            began[rank] = said.at
        elif phase == "train" and rank in began:
            took.setdefault(rank, []).append(said.at - began.pop(rank))
    assert set(took) == set(range(16))
    assert min(took[0]) > 10
    assert max(max(each) for rank, each in took.items() if rank) < 1
