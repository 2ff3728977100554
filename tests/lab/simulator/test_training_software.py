"""Software of a job: hangs and their counters, slow steps, starts that fail, idle devices."""

import dataclasses

import numpy as np
import pytest

from rankscope.formats.otlp.columns import SeriesTable
from rankscope.lab.simulator import recording
from rankscope.lab.simulator.shape import EPOCH, ReportingHabits

from .jobs import broken, events, healthy, of_rank, rows, scenario, slowdown, split, steps

PLACE = {"host": 1, "place": 2}
CULPRIT = 6
EVERYTHING = ReportingHabits(launch_counts=True, stacks=True)


def last(found, metric, kind="dp", **pairs):
    """Return {rank: last value} of a counter in the groups of a kind."""
    groups = {g.name for g in found.attempts[-1].seats.groups if g.kind == kind}
    return {
        dict(named)["rank"]: int(value[-1])
        for named, (_, value) in rows(found, metric, **pairs).items()
        if dict(named)["group"] in groups
    }


def test_a_mismatch_stops_the_group_at_one_number_that_all_have_launched():
    found = broken("collective_mismatch", PLACE, reporting=EVERYTHING)
    completed, enqueued = (last(found, f"collective.{n}") for n in ("completed", "enqueued"))
    assert len(set(completed.values())) == len(set(enqueued.values())) == 1
    assert completed[0] < enqueued[0]


def test_a_mismatch_shows_in_the_librarys_own_counts_of_one_rank():
    found = broken("collective_mismatch", PLACE, reporting=EVERYTHING)
    assert list(last(found, "collective.launches", op="Broadcast")) == [CULPRIT]
    reduces = last(found, "collective.launches", op="AllReduce")
    assert reduces.pop(CULPRIT) == min(reduces.values()) - 1


def test_a_process_that_stops_for_a_while_is_behind_its_peers_and_asleep_until_it_goes_on():
    found = broken("stuck_process", {"point": 0.6, "seconds": 30.0, **PLACE}, seconds=150.0)
    pauses, comm = steps(found, "pause"), steps(found, "comm")
    (step,) = np.flatnonzero(pauses.max(axis=1))
    assert [CULPRIT] == np.flatnonzero(pauses[step] > 20.0).tolist()
    assert comm[step, CULPRIT] < 2.0
    assert np.delete(comm[step], CULPRIT).min() > 20.0
    groups = {g.name for g in found.attempts[-1].seats.groups if g.kind == "dp"}
    enqueued = {
        dict(named)["rank"]: value[np.searchsorted(at, 80.0)]
        for named, (at, value) in rows(found, "collective.enqueued").items()
        if dict(named)["group"] in groups
    }
    assert enqueued.pop(CULPRIT) < min(enqueued.values())


def test_in_detail_mode_the_process_says_so_itself():
    found = broken("collective_mismatch", {"how": "detail", **PLACE})
    (root,) = [e for e in events(found, "log.fault") if e.attributes["role"] == "root"]
    assert root.attributes["rank"] == CULPRIT
    assert "Detected mismatch" in root.attributes["text"]


@pytest.mark.parametrize("how", ["exits", "evaluates", "waits"])
def test_a_rank_with_fewer_batches_is_behind_in_launches_and_everybody_else_equal(how):
    found = broken("uneven_batches", {"how": how, **PLACE}, reporting=EVERYTHING)
    enqueued = last(found, "collective.enqueued")
    own = enqueued.pop(CULPRIT)
    assert len(set(enqueued.values())) == 1
    assert own < enqueued[0]
    exits = [e.attributes for e in events(found, "process.exit")]
    assert [(e["rank"], e["exit_code"]) for e in exits] == (
        [(CULPRIT, 0)] if how == "exits" else []
    )
    evaluating = {
        e.attributes["rank"]
        for e in events(found, "training.phase")
        if e.attributes["phase"] == "eval"
    }
    assert evaluating == ({CULPRIT} if how == "evaluates" else set())


def test_a_deadlock_leaves_each_side_behind_in_the_other_sides_group():
    found = broken("deadlock", second_group=True, reporting=EVERYTHING)
    reduces, metrics = (last(found, "collective.enqueued", kind) for kind in ("dp", "other"))
    ahead = {rank for rank, value in reduces.items() if value == max(reduces.values())}
    elsewhere = {rank for rank, value in metrics.items() if value == max(metrics.values())}
    assert ahead
    assert elsewhere
    assert ahead.isdisjoint(elsewhere)
    assert ahead | elsewhere == set(range(16))
    for kind in ("dp", "other"):
        assert len(set(last(found, "collective.completed", kind).values())) == 1


def test_stacks_are_taken_of_everybody_when_nothing_moves_and_only_where_agents_may():
    found = broken("stuck_process", PLACE, reporting=EVERYTHING)
    texts = {e.attributes["rank"]: e.attributes["text"] for e in events(found, "process.stack")}
    assert set(texts) == set(range(16))
    assert len(set(texts.values())) == 2
    assert list(texts.values()).count(texts[CULPRIT]) == 1
    assert not events(broken("stuck_process", PLACE), "process.stack")


def test_a_stuck_rank_in_a_model_replica_keeps_its_peers_groups_back_too():
    found = broken("stuck_process", {"point": 0.4, **PLACE}, tp=2, buckets=4)
    completed = last(found, "collective.completed")
    done = len(found.attempts[0].steps.sync) * 4
    assert set(completed.values()) == {done}


@pytest.mark.parametrize(
    ("scope", "slow"), [("rank", {6}), ("host", {4, 5, 6, 7}), ("job", set(range(16)))]
)
def test_late_batches_show_where_they_are_late(scope, slow):
    found = broken("dataloader_slow", {"scope": scope, "seconds": 0.5, **PLACE}, workers=2)
    before, after = split(found, "data")
    assert set(np.flatnonzero(after - before > 0.3).tolist()) == slow
    assert slowdown(found) > 1.4
    busy = rows(found, "process.cpu.utilization", role="dataloader")
    working = {dict(named)["rank"] for named, (_, value) in busy.items() if value[-1] > 0.9}
    assert working == slow


def test_pauses_rotate_over_the_ranks_and_are_measured_or_hidden_in_compute():
    settings = {"seconds": 0.4, "chance": 0.1}
    found = broken("gc_pause", settings, seconds=200.0)
    paused = steps(found, "gc")[70:] > 0
    assert paused.any(axis=0).sum() > 12
    assert slowdown(found) > 1.2
    assert of_rank(found, "training.gc.duration")
    hidden = broken("gc_pause", settings, seconds=200.0, gc_reported=False)
    assert not of_rank(hidden, "training.gc.duration")
    assert steps(hidden, "compute")[70:].max() > steps(found, "compute")[70:].max() + 0.2


def test_checkpoints_stall_from_the_onset_on():
    found = broken("checkpoint_stall", {"factor": 6.0}, checkpoint_every=15, checkpoint_seconds=2.0)
    (at, value) = of_rank(found, "training.checkpoint.duration")[0]
    assert value[at < 60].max() * 3 < value[at > 75].min()


def test_an_asynchronous_checkpoint_hardly_holds_anybody_up():
    found = healthy(checkpoint_by="async", checkpoint_every=20, checkpoint_seconds=10.0)
    (_, value) = of_rank(found, "training.checkpoint.duration")[0]
    assert 0 < value.max() < 0.5


def test_an_announced_regression_comes_with_a_change_and_slows_everybody_alike():
    found = broken("regression", {"factor": 1.3, "announced": True, "what": "driver"})
    (change,) = events(found, "change")
    assert change.attributes["kind"] == "driver"
    before, after = split(found, "compute")
    np.testing.assert_allclose(after / before, 1.3, rtol=0.03)
    assert not events(broken("regression", {"announced": False}), "change")


def test_a_slower_job_is_slower_where_it_has_no_devices_too():
    base = scenario()
    cluster = dataclasses.replace(base.cluster, gpus=False)
    fault = {"kind": "job_slowdown", "onset": 60.0, "factor": 1.3}
    found = recording.simulate(dataclasses.replace(base, cluster=cluster, fault=fault), 1)
    before, after = split(found, "compute")
    np.testing.assert_allclose(after / before, 1.3, rtol=0.05)


def test_a_regression_may_come_with_a_restart():
    found = broken(
        "regression",
        {"factor": 1.3, "announced": False, "restarted": True},
        restarts=(60.0,),
        restart_seconds=10.0,
    )
    compute = [np.median(steps(found, "compute", n)[6:]) for n in (0, 1)]
    assert compute[1] == pytest.approx(1.3 * compute[0], rel=0.05)
    assert found.truth.entity.type == "code"


def test_a_table_gets_the_series_of_an_attempt_when_they_arrive():
    """Else the collector would take the later attempt for the current one from the start on."""
    found = healthy(restarts=(60.0,), restart_seconds=10.0)
    table = SeriesTable()
    sizes = [len(table) for at, _ in found.batches(table) if at < EPOCH + 60]
    assert 0 < sizes[-1] <= len(table) - 16


def test_recompilation_halts_all_ranks_at_single_steps():
    found = broken("recompile", {"chance": 0.2, "seconds": 2.0, "logged": True}, seconds=240.0)
    compute = steps(found, "compute")[70:]
    slow = compute > 1.5
    assert set(slow.sum(axis=1).tolist()) <= {0, 16}
    assert 0.08 < slow.all(axis=1).mean() < 0.35
    assert [e.attributes["signature"] for e in events(found, "log.fault")] == [
        "torch.recompile_limit"
    ]


def test_the_compiler_warns_after_its_eighth_compilation_and_not_before():
    settings = {"chance": 0.02, "seconds": 2.0, "logged": True}
    found = broken("recompile", settings, seconds=240.0)
    compute = np.array(steps(found, "compute"))[70:]
    assert 0 < (compute.min(axis=1) > 1.5).sum() < 8
    assert [] == events(found, "log.fault")


@pytest.mark.parametrize("how", ["waits", "fails"])
def test_a_failed_start_has_processes_and_no_steps(how):
    found = broken("init_failed", {"how": how, "timeout": 40.0}, onset=20.0, starts_after=20.0)
    assert of_rank(found, "training.rank.info")
    assert not rows(found, "training.step")
    assert {e.attributes["phase"] for e in events(found, "training.phase")} == {"init"}
    assert len(events(found, "process.exit")) == 16
    assert found.truth.onset - EPOCH == 20.0


def test_a_job_may_fail_to_start_again_and_again():
    found = broken(
        "init_failed",
        {"how": "fails"},
        onset=0.0,
        restarts_after_crash=True,
        restart_seconds=10.0,
    )
    assert len(found.attempts) > 3
    assert not any(attempt.steps.index for attempt in found.attempts)


def test_an_idle_job_lives_and_has_no_collective_open():
    found = broken("idle_gpu")
    for at, value in of_rank(found, "training.progress.age").values():
        assert value[-1] > 45
        assert at[-1] > 110
    enqueued, completed = (last(found, f"collective.{n}") for n in ("enqueued", "completed"))
    assert enqueued == completed
    for at, value in of_rank(found, "hw.gpu.utilization").values():
        assert value[at > 75].max() == 0
    assert not found.attempts[0].deaths


def test_small_kernels_leave_the_devices_waiting_for_their_host():
    found = broken("low_utilization", {"launch": 4.0}, onset=0.0, spins=False, seconds=200.0)
    usual = healthy(spins=False)
    share = [
        np.median([np.median(value[at > 50]) for at, value in of_rank(f, metric).values()])
        for f in (usual, found)
        for metric in ("hw.gpu.utilization",)
    ]
    assert share[0] > 0.9
    assert share[1] < 0.5


def test_a_slowdown_of_unknown_cause_is_everybodys():
    found = broken("job_slowdown", {"factor": 1.25})
    before, after = split(found, "compute")
    np.testing.assert_allclose(after / before, 1.25, rtol=0.05)
    assert ("unknown", "job") == (found.truth.fault, found.truth.entity.type)


def test_the_onset_of_what_is_so_from_the_start_is_the_first_step():
    found = broken("rank0_gather", {"seconds": 0.3}, onset=0.0)
    assert found.truth.onset - EPOCH == pytest.approx(float(steps(found, "start")[0].min()))


def test_a_hidden_metric_stays_hidden():
    hidden = dataclasses.replace(EVERYTHING, hidden=("training.memory.*", "process.stack"))
    found = broken("stuck_process", PLACE, reporting=hidden)
    assert not [row for row in found.series if row.metric.startswith("training.memory")]
    assert not events(found, "process.stack")
    assert scenario().reporting.shows("process.stack")
