"""Ranks that do work of their own beside training, which their peers then wait for."""

import numpy as np
import pytest
from tests.detectors.drawn import levels, steady

from rankscope.detectors import parts
from rankscope.detectors.balance.extra_work import ExtraWorkDetector
from rankscope.detectors.features import DATA
from rankscope.detectors.sketch import START, readings, sketch

COMPUTE = "training.compute.duration"
CPU = "process.cpu.utilization"
AT = START + np.arange(0.0, 91, 5)


def evaluated(extra=0.3, *, timed=False, cpu=None, row=0, since=40, **planes):
    """Evaluate a job whose rank 0 works longer from step 40 on."""
    train = steady()
    more = np.zeros(train.shape)
    more[row, since:] = extra
    planes[COMPUTE] = train + more if timed else train
    by_rank = {} if cpu is None else {CPU: readings(AT, np.array(cpu)[:, None])}
    return ExtraWorkDetector().evaluate(sketch(train + more, planes=planes, rank_readings=by_rank))


def kinds(findings):
    return [finding.kind for finding in findings]


def test_a_step_that_nothing_timed_accounts_for_names_the_rank():
    slow, rank = evaluated()
    assert ("job.slow", "rank.extra_work", "0") == (slow.kind, rank.kind, rank.entity.id)
    assert rank.magnitude == pytest.approx(0.3, abs=0.02)
    assert "beside what training accounts for" in rank.text
    assert [0] == list(slow.ranks)


def test_a_little_extra_work_or_work_that_was_always_there_is_info():
    """Rank 0 logs in most jobs."""
    for extra, since in ((0.07, 40), (0.15, 0)):
        slow, rank = evaluated(extra, since=since)
        assert (0.5, "rank.extra_work") == (slow.score, rank.kind)


@pytest.mark.parametrize(("row", "named"), [(0, ["0"]), (3, [])])
def test_rank_0_of_the_only_model_replica_is_compared_with_all_others(row, named):
    """What the other stages spend beside training may be theirs: of a last stage, the loss."""
    train, more = steady(), np.zeros((4, 60))
    more[row] = 0.4
    window = sketch(train + more, planes={COMPUTE: train}, role_of=np.arange(4))
    found = [f for f in ExtraWorkDetector().evaluate(window) if f.kind == "rank.extra_work"]
    assert named == [f.entity.id for f in found]


def test_a_part_that_is_timed_is_no_extra_work():
    wait = np.zeros((4, 60))
    wait[1, 40:] = 0.3
    assert [] == evaluated(row=1, **{DATA: wait})
    gc = np.full((4, 60), np.nan)
    gc[0, 40:] = 0.3
    assert [] == evaluated(**{"training.gc.duration": gc})


def test_rank_0_alone_of_four_prepares_data_where_nobody_reports_its_cpu():
    wait = np.zeros((4, 60))
    wait[0, 40:] = 0.3
    assert ["job.slow", "rank.prepares_data"] == kinds(evaluated(**{DATA: wait}))


def reads(extra, *, ranks=4, row=0, since=0, cpu=None):
    """Evaluate a job of which one rank needs longer for its data."""
    train, data = steady()[:ranks], np.full((ranks, 60), 0.01)
    data[row, since:] += extra
    planes = {COMPUTE: train, DATA: data, "training.comm.duration": data[row] - data + 0.1}
    used = {} if cpu is None else {CPU: levels(ranks, 0.7, cpu, row)}
    window = sketch(train + data, planes=planes, hosts=1, rank_readings=used)
    return ExtraWorkDetector().evaluate(window)


@pytest.mark.parametrize("ranks", [3, 4])
def test_little_time_for_data_that_rank_0_always_needed_is_info(ranks):
    slow, rank = reads(0.065, ranks=ranks)
    assert (0.5, "rank.prepares_data", "0") == (slow.score, rank.kind, rank.entity.id)
    assert [] == reads(0.03, ranks=ranks)


def test_little_time_for_data_of_rank_0_alone_counts_unless_its_cpu_rests_meanwhile():
    slow, rank = reads(0.065, cpu=0.71)
    assert (0.5, "rank.prepares_data", "0") == (slow.score, rank.kind, rank.entity.id)
    assert [] == reads(0.065, cpu=0.65)
    assert [] == reads(0.065, cpu=0.71, row=1)
    assert [] == reads(0.3, cpu=0.71)


def test_of_three_ranks_rank_0_may_be_the_one_by_chance():
    """From the first step on it is code, as info; later, and another rank, it is a slow loader."""
    slow, *_ = reads(0.3, ranks=3)
    assert slow.score < 1
    assert [] == reads(0.3, ranks=3, since=40)
    assert [] == reads(0.065, ranks=3, row=1)
    assert [] == reads(0.065, ranks=2)


@pytest.fixture
def holds():
    """Return a function: what is found where a rank computes longer, and some hold more."""

    def evaluate(more, *, rows=(0,), since=40, slow_since=40, row=0, extra=0.3):
        held = np.random.default_rng(5).normal(30e9, 0.01e9, (4, 60))
        held[np.ix_(rows, range(since, 60))] += more
        planes = {"training.memory.allocated": held}
        cpu = [1.0] * 4
        return evaluated(extra, timed=True, cpu=cpu, row=row, since=slow_since, **planes)

    return evaluate


def test_rank_0_that_computes_longer_and_holds_more_since_then_gathers(holds):
    slow, rank = holds(3e9)
    assert ("job.slow", "rank.extra_work", "0") == (slow.kind, rank.kind, rank.entity.id)
    assert "holds more memory for it" in rank.text


def test_rank_0_that_has_computed_longer_and_held_more_than_its_role_all_along_gathers(holds):
    always = {"since": 0, "slow_since": 0, "extra": 0.4}
    assert ["job.slow", "rank.extra_work"] == kinds(holds(6e9, **always))
    assert [] == holds(2e9, **always)
    assert [] == holds(6e9, rows=(0, 1, 2, 3), **always)


@pytest.mark.parametrize(
    ("more", "job"),
    [
        pytest.param(0.2e9, {}, id="as much as a rank may hold by chance"),
        pytest.param(3e9, {"rows": (0, 1, 2, 3)}, id="all hold more: longer sequences"),
        pytest.param(3e9, {"rows": (1,), "row": 1}, id="another rank: tokens of an expert"),
        pytest.param(3e9, {"since": 5}, id="it held as much before it was slow"),
        pytest.param(-3e9, {}, id="it holds less"),
    ],
)
def test_memory_shows_no_gathering_where_it_may_be_something_else(holds, more, job):
    assert [] == holds(more, **job)


def test_own_time_on_the_cpu_is_extra_work_of_the_process():
    findings = evaluated(timed=True, cpu=[0.5, 0.2, 0.2, 0.2])
    assert ["job.slow", "rank.extra_work"] == kinds(findings)
    assert "on the CPU" in findings[1].text


@pytest.mark.parametrize(
    "cpu",
    [
        pytest.param([0.2, 0.2, 0.2, 0.2], id="a slower device leaves CPU seconds as they are"),
        pytest.param([0.1, 0.2, 0.2, 0.2], id="a missing CPU leaves fewer"),
        pytest.param([1.0, 1.0, 1.0, 1.0], id="peers that spin tell nothing"),
        pytest.param([0.5, np.nan, np.nan, np.nan], id="one that tells alone"),
    ],
)
def test_own_time_without_more_cpu_is_somebody_elses(cpu):
    assert [] == evaluated(timed=True, cpu=cpu)


@pytest.mark.parametrize(("ends", "found"), [(0.55, False), (0.8, True)])
def test_where_the_others_own_time_falls_meanwhile_work_was_moved_and_not_added(ends, found):
    """A router that sends more tokens to the experts of rank 0 sends fewer to those of rank 1."""
    own = steady(ranks=2)
    own[0, 50:] += 0.25
    own[1, 50:] += ends - 0.8
    busy = readings(AT, np.array([0.9, 0.5])[:, None])
    findings = ExtraWorkDetector().evaluate(sketch(own, hosts=1, rank_readings={CPU: busy}))
    assert found == ("rank.extra_work" in kinds(findings))


def test_an_excess_begins_where_the_rank_s_own_time_rises_though_its_peer_falls_far_below():
    own = steady(ranks=2)
    own[0, 50:] += 0.3
    own[1, 50:] -= 0.4
    window = sketch(own, hosts=1)
    bounds = parts.ExcessBounds(least=0.08, least_from_start=0.2)
    found = parts.excess(window, window.features.steps, own, bounds)
    assert found is not None
    assert 50 == found.first


def test_a_whole_host_that_needs_more_cpu_has_slower_ones():
    train = steady()
    train[:2, 40:] += 0.3
    busy = readings(AT, np.array([0.5, 0.5, 0.2, 0.2, 0.2, 0.2, 0.2, 0.2])[:, None])
    own = np.vstack([train, steady()])
    window = sketch(own, hosts=4, rank_readings={CPU: busy})
    assert [] == ExtraWorkDetector().evaluate(window)


def test_next_to_no_extra_work_is_no_finding():
    assert [] == evaluated(0.03)
    assert [] == evaluated(0.05, since=0)
    assert ["job.slow", "rank.extra_work"] == kinds(evaluated(0.5, since=0))


def prepares(cpu, wait=None):
    """Evaluate a job whose rank 0 needs 0.3 s for data from step 40 on."""
    train = steady()
    data, waits = np.full(train.shape, 0.01), np.full(train.shape, 0.5)
    data[0, 40:] = 0.3
    waits[0, 40:] = 0.2
    planes = {COMPUTE: train, DATA: data, "training.comm.duration": waits}
    by_rank = {CPU: readings(AT, np.array(cpu)[:, None])}
    if wait is not None:
        by_rank["process.cpu.wait"] = readings(AT, np.outer(wait, AT - START))
    return ExtraWorkDetector().evaluate(
        sketch(train + data + waits, planes=planes, rank_readings=by_rank)
    )


def test_time_for_data_in_which_the_process_works_is_preparation():
    for cpu in ([0.85, 0.65, 0.65, 0.65], [1.0, 1.0, 1.0, 1.0]):
        assert ["job.slow", "rank.prepares_data"] == kinds(prepares(cpu))


def test_time_for_data_in_which_the_process_waits_for_a_cpu_is_preparation():
    assert [] == prepares([0.7, 0.65, 0.65, 0.65])
    found = prepares([0.7, 0.65, 0.65, 0.65], wait=[0.2, 0.02, 0.02, 0.02])
    assert ["job.slow", "rank.prepares_data"] == kinds(found)


def test_time_for_data_in_which_the_process_sleeps_is_a_wait_for_workers():
    for cpu in ([0.65, 0.65, 0.65, 0.65], [0.8, 1.0, 1.0, 1.0], [0.8, np.nan, np.nan, np.nan]):
        assert [] == prepares(cpu)
