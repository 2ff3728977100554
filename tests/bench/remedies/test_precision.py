"""Which actions were right: by what was there when they took hold, not by what came of them."""

import dataclasses
import random
from dataclasses import dataclass
from typing import Any

import pytest

from bench.remedies import precision
from bench.remedies.cluster import TrialCluster


@dataclass
class ActionRow:
    """What is read of the record of an action."""

    id: str = "a1"
    action: str = "exclude_node"
    host: str | None = "gpu-0"
    job: str = "job-0"
    fault: str = "gpu.lost"
    outcome: str | None = "recovered"
    ended_at: float | None = 20.0
    outcome_at: float | None = 60.0


@pytest.fixture
def cluster():
    return TrialCluster(random.Random(1), nodes=3, sizes=[2])


def truth(cluster, row: Any, *, lied=()):
    (found,) = precision.truths(cluster, [row], set(lied))
    return found


def advanced(cluster, *ats):
    for at in ats:
        cluster.advance(at, 10.0)


def test_a_node_that_had_its_fault_was_taken_out_rightly(cluster):
    cluster.nodes["gpu-0"].fault = "gpu.lost"
    advanced(cluster, 10.0)
    cluster.drain("gpu-0", "a1", 10.0)
    assert truth(cluster, ActionRow()).right


def test_one_whose_fault_went_a_moment_before_was_not(cluster):
    cluster.nodes["gpu-0"].fault = "gpu.lost"
    advanced(cluster, 10.0)
    cluster.nodes["gpu-0"].heal(15.0)
    advanced(cluster, 20.0, 30.0)
    cluster.drain("gpu-0", "a1", 30.0)
    found = truth(cluster, ActionRow())
    assert (False, 20.0) == (found.right, found.late_seconds)


def test_one_that_never_had_any_was_not(cluster):
    advanced(cluster, 10.0)
    cluster.drain("gpu-0", "a1", 10.0)
    found = truth(cluster, ActionRow())
    assert (False, None) == (found.right, found.late_seconds)


def test_a_restart_is_right_where_the_jobs_own_processes_were_stuck(cluster):
    cluster.nodes["gpu-0"].fault = "gpu.lost"
    advanced(cluster, 10.0)
    cluster.restart("job-0", "a1", 10.0)
    row = ActionRow(action="restart", fault="software.deadlock")
    assert truth(cluster, row).late_seconds is None
    cluster.jobs["job-0"].stuck = "software.deadlock"
    advanced(cluster, 20.0)
    cluster.restart("job-0", "a2", 20.0)
    assert truth(cluster, dataclasses.replace(row, id="a2")).right


@pytest.mark.parametrize(
    ("trouble", "why"),
    [
        ("another node", "another fault of the job holds it"),
        ("no node", "no node is free for the job"),
        ("a lie", "its executor said done and did nothing"),
    ],
)
def test_what_did_not_help_says_what_the_job_lacked(cluster, trouble, why):
    cluster.nodes["gpu-0"].fault = "gpu.lost"
    advanced(cluster, 10.0)
    cluster.drain("gpu-0", "a1", 20.0)
    if trouble == "no node":
        cluster.drain("gpu-2", "a person", 20.0)
    cluster.restart("job-0", "a1", 20.0)
    if trouble == "another node":
        cluster.nodes["gpu-1"].fault = "gpu.slow"
        cluster.nodes["gpu-1"].effect = "slow"
    advanced(cluster, 30.0, 40.0, 70.0)
    row = ActionRow(outcome="not_recovered")
    assert why == truth(cluster, row, lied={"a1"} if trouble == "a lie" else ()).unhelped
