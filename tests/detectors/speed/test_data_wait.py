"""Ranks that wait for their next batch while their peers have theirs."""

import numpy as np
import pytest
from tests.detectors.drawn import steady

from rankscope.detectors.features import DATA
from rankscope.detectors.sketch import START, sketch
from rankscope.detectors.speed.data_wait import DataWaitDetector

COMPUTE = "training.compute.duration"


def evaluated(wait, **fields):
    """Evaluate a job by its waits for data, [ranks, steps] in seconds."""
    ranks, steps = wait.shape
    own = steady(ranks=ranks, steps=steps)
    return DataWaitDetector().evaluate(
        sketch(own + wait, planes={DATA: wait, COMPUTE: own}, **fields)
    )


def waits(ranks=4, steps=60, seconds=0.01):
    return np.random.default_rng(3).uniform(0.5, 1.5, (ranks, steps)) * seconds


def kinds(findings):
    return [finding.kind for finding in findings]


def test_the_rank_that_waits_for_data_is_named_and_the_job_is_slow_by_it():
    wait = waits()
    wait[2, 40:] += 0.4
    slow, rank = evaluated(wait)
    assert ("job.slow", "rank.data_wait", "2") == (slow.kind, rank.kind, rank.entity.id)
    assert [2] == list(slow.ranks) == list(rank.ranks)
    assert slow.magnitude == pytest.approx(1.4, abs=0.03)
    assert rank.magnitude == pytest.approx(0.41, abs=0.01)
    assert START + 38 < rank.onset[0] < rank.onset[1] < START + 43


def test_a_loader_that_stalls_at_every_third_batch_counts_by_what_it_costs():
    wait = waits()
    wait[1, 30::3] += 0.9
    assert ["job.slow", "rank.data_wait"] == kinds(evaluated(wait))


@pytest.mark.parametrize(
    ("column", "seconds"),
    [
        pytest.param(slice(58, 59), 2.0, id="one late batch is luck"),
        pytest.param([55, 57], 3.0, id="so are two: the store reads slowly once in thousands"),
        pytest.param(slice(40, None), 0.05, id="a twentieth of a step is little"),
    ],
)
def test_little_or_single_waits_are_no_finding(column, seconds):
    wait = waits()
    wait[2, column] += seconds
    assert [] == evaluated(wait)


def test_a_wait_that_the_rank_always_had_needs_to_be_long():
    wait = waits()
    wait[2] += 0.15
    assert [] == evaluated(wait)
    wait[2] += 0.4
    assert ["job.slow", "rank.data_wait"] == kinds(evaluated(wait))


def test_a_wait_that_keeps_nobody_waiting_is_no_finding():
    """The rank has time to spare: the others are busy for as long."""
    own, wait = steady(), waits()
    wait[2, 40:] += 0.3
    own[2, 40:] -= 0.3
    window = sketch(own + wait, planes={DATA: wait, COMPUTE: own})
    assert [] == DataWaitDetector().evaluate(window)


def test_where_all_ranks_wait_longer_than_before_the_job_starves():
    wait = waits()
    wait[:, 40:] += 0.6
    slow, starved, share = evaluated(wait)
    assert ["job.slow", "job.data_wait", "job.data_lost"] == kinds([slow, starved, share])
    assert slow.magnitude == pytest.approx(1.6, abs=0.05)
    always = waits() + 0.01
    assert [] == evaluated(always)


@pytest.mark.parametrize(("seconds", "found"), [(0.2, 0), (0.7, 3)])
def test_a_job_that_has_always_waited_for_much_of_its_steps_starves(seconds, found):
    wait = waits(steps=120) + seconds
    assert found == len(evaluated(wait))


def test_waits_at_every_eighth_step_are_said_to_be_so():
    """Eight workers prepare a batch each; the job waits once in a round."""
    wait = waits(steps=200)
    wait[:, 7::8] += 8.0
    assert "at every 8th step" in evaluated(wait)[1].text


def test_a_host_whose_ranks_all_wait_is_named_by_its_ranks():
    wait = waits(ranks=8)
    wait[2:4, 40:] += 0.4
    findings = evaluated(wait, hosts=4)
    assert ["2", "3"] == [f.entity.id for f in findings if f.kind == "rank.data_wait"]


def test_two_ranks_of_one_pipeline_stage_are_compared_with_that_stage():
    """The first stage reads data, the second does not."""
    wait = waits(ranks=8)
    wait[:4] += 0.2
    assert [] == evaluated(wait, role_of=np.repeat([0, 1], 4))


def test_untimed_loaders_are_no_finding():
    """The docstring's failure mode."""
    own = steady()
    own[2, 40:] += 0.4
    assert [] == DataWaitDetector().evaluate(sketch(own))


def test_a_wait_that_no_step_had_time_for_is_another_unit():
    """From step 40 on waits of 20 ms are reported as 20."""
    own, wait = steady(), np.full((4, 60), 0.02)
    wait[:, 40:] *= 1000.0
    window = sketch(own + 0.02, planes={DATA: wait, COMPUTE: own})
    assert [] == DataWaitDetector().evaluate(window)


def test_half_of_the_ranks_are_named_where_they_wait_longer_than_they_used_to():
    wait = waits(ranks=8)
    wait[:4, 40:] += 0.3
    named = [f.entity.id for f in evaluated(wait) if f.kind == "rank.data_wait"]
    assert ["0", "1", "2", "3"] == named


ON_ONE_HOST = np.array([0, 1, 0, 1, 2, 3, 2, 3])
"""Roles of a job of two stages, each with its two replicas on a host of its own."""


def test_the_ranks_of_a_host_that_fill_their_roles_are_named_beside_others():
    wait = waits(ranks=8)
    wait[:4, 40:] += np.random.default_rng(5).uniform(0.3, 0.9, 20)
    named = [f.entity.id for f in evaluated(wait, role_of=ON_ONE_HOST) if f.entity.type == "rank"]
    assert ["0", "1", "2", "3"] == named


def test_where_all_roles_wait_longer_nobody_is_named_beside_others():
    wait = waits(ranks=8)
    wait[:, 40:] += np.random.default_rng(5).uniform(0.3, 0.9, 20)
    assert "rank.data_wait" not in kinds(evaluated(wait, role_of=ON_ONE_HOST))


def test_a_rank_that_is_alone_in_its_role_is_compared_with_its_own_past():
    wait = waits()
    wait[0] += 0.1
    assert [] == evaluated(wait, role_of=np.arange(4))
    wait[0, 40:] += 0.5
    named = [f.entity.id for f in evaluated(wait, role_of=np.arange(4)) if f.entity.type == "rank"]
    assert ["0"] == named


def test_a_small_wait_that_lasts_for_a_minute_is_found():
    wait = waits(steps=120)
    wait[2, 60:] += 0.07
    assert ["job.slow", "rank.data_wait"] == kinds(evaluated(wait))


def test_a_wait_of_a_small_share_of_half_minute_steps_is_found_within_twelve_of_them():
    own = np.random.default_rng(5).normal(25.0, 0.2, (8, 30))
    wait = waits(ranks=8, steps=30, seconds=0.2)
    wait[4:, 16:] += 2.0
    window = sketch(own + wait, planes={DATA: wait, COMPUTE: own})
    named = [f.entity.id for f in DataWaitDetector().evaluate(window) if f.kind == "rank.data_wait"]
    assert ["4", "5", "6", "7"] == named


def test_a_job_that_waits_a_little_longer_for_a_minute_is_worth_knowing():
    wait = waits(steps=160)
    wait[:, 100:] += 0.06
    found = evaluated(wait)
    assert {"job.slow", "job.data_wait"} <= set(kinds(found))
    assert all(f.score < 1 for f in found if f.kind == "job.slow")
    assert START + 80 < found[0].onset[0]


def test_waits_that_come_and_go_are_no_lasting_ones():
    wait = waits(steps=160)
    wait[:, 5::4] += 0.2
    assert [] == evaluated(wait)


@pytest.mark.parametrize(("more", "named"), [(0.25, []), (0.9, ["2"])])
def test_where_all_wait_longer_a_rank_is_named_only_by_more_than_they_share(more, named):
    """A slow file system makes every rank wait; whose shard is the largest is no culprit."""
    wait = waits(ranks=8)
    wait[:, 40:] += 0.5
    wait[2, 40:] += more
    found = evaluated(wait)
    assert named == [f.entity.id for f in found if f.kind == "rank.data_wait"]
    assert bool(named) != ("job.data_wait" in kinds(found))


def test_where_all_have_always_waited_the_one_that_waits_longest_is_no_culprit():
    wait = waits(ranks=8, steps=120) + 2.0
    wait[2] += 1.6
    assert ["job.slow", "job.data_wait", "job.data_lost"] == kinds(evaluated(wait))


def test_where_another_rank_waits_longest_at_each_step_the_storage_is_slow_and_no_rank():
    """Reads of a busy server take now ten times as long on one rank, now on another."""
    drawn = np.random.default_rng(4)
    named = set()
    for _ in range(20):
        wait = waits(ranks=16, steps=60)
        wait[:, 30:] += 0.15 + drawn.exponential(0.4, (16, 30)) * (drawn.random((16, 30)) < 0.4)
        named |= {f.kind for f in evaluated(wait)} - {"job.slow"}
    assert {"job.data_wait"} == named
