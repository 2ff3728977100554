"""Faults of memory, balance and efficiency: first where their own evidence is, and nowhere else."""

from functools import partial

import pytest
from tests.alerts.explaining import EVERYTHING, explain

from rankscope.alerts.causes.engine import explanations
from rankscope.alerts.severity import severity
from rankscope.vocabulary import entities
from rankscope.vocabulary import findings as kinds
from rankscope.vocabulary.entities import Entity
from rankscope.vocabulary.ranks import RankSet

Row = str | tuple[str, int]

GROUP = Entity("group", "ep:0", None, RankSet((2, 3)))
WORKER = entities.process("host-b", 501, (2,))
SLOW: list[Row] = ["job.slow"]
CRASH: list[Row] = ["job.crashed", ("rank.first_exit", 2)]

FAULTS: dict[str, tuple[list[Row], str, str]] = {
    "memory.gpu_oom": ([*CRASH, ("rank.gpu_oom", 2)], "rank", "2"),
    "memory.gpu_leak": ([("rank.gpu_memory_grows", 2)], "rank", "2"),
    "memory.gpu_leak of the job": (["job.gpu_memory_grows"], "job", "run-1"),
    "memory.gpu_leak that ended": (
        [*CRASH, ("rank.gpu_oom", 2), ("rank.gpu_memory_grows", 2)], "rank", "2",
    ),
    "memory.fragmentation": ([("rank.memory_fragmented", 2)], "rank", "2"),
    "memory.fragmentation that ended": (
        [*CRASH, ("rank.gpu_oom", 2), ("rank.memory_fragmented", 2)], "rank", "2",
    ),
    "memory.rank0_contexts": ([("gpu.foreign_contexts", 0)], "gpu", "GPU-0"),
    "memory.host_leak": ([("process.memory_grows", 2)], "process", "host-b:501"),
    "memory.host_leak near its end": (
        [("process.memory_grows", 2), ("host.memory_low", 2)], "process", "host-b:501",
    ),
    "memory.dataloader_leak": ([("process.worker_memory_grows", 2)], "process", "host-b:501"),
    "memory.copy_on_read": ([("process.shared_memory_copied", 2)], "process", "host-b:501"),
    "memory.host_oom": ([*CRASH, ("host.oom_killed", 2)], "host", "host-b"),
    "memory.host_oom to come": ([("host.memory_low", 2)], "host", "host-b"),
    "memory.shm_exhausted": ([("host.shm_full", 2)], "host", "host-b"),
    "memory.shm_exhausted that ended": ([*CRASH, ("host.shm_full", 2)], "host", "host-b"),
    "balance.rank0_gather": ([*SLOW, ("rank.periodic_work", 0)], "rank", "0"),
    "balance.rank0_gather at each step": (
        [*SLOW, ("rank.extra_work", 0), ("rank.memory_above_peers", 0)], "rank", "0",
    ),
    "balance.rank0_gather beside training": ([*SLOW, ("rank.extra_work", 0)], "rank", "0"),
    "balance.rank0_preprocessing": ([*SLOW, ("rank.prepares_data", 0)], "rank", "0"),
    "balance.pipeline_stage": ([("group.stage_slow", 2)], "group", "ep:0"),
    "balance.sequence_length": (["job.token_imbalance"], "job", "run-1"),
    "balance.expert": (
        [*SLOW, ("group.expert_imbalance", 2), ("rank.slow_compute", 2)], "group", "ep:0",
    ),
    "efficiency.idle_gpu": (["job.idle_gpus"], "job", "run-1"),
    "efficiency.idle_gpu after steps": (["job.stalled", "job.idle_gpus"], "job", "run-1"),
    "efficiency.low_utilization": (["job.low_utilization"], "job", "run-1"),
}  # fmt: skip


@pytest.fixture
def explained(topology, found):
    """Return a function that explains findings, written as a kind or as (kind, rank)."""

    def explain(rows, score=2.0):
        findings = []
        for row in rows:
            kind, rank = (row, 0) if isinstance(row, str) else row
            where = {
                "job": topology.job_entity,
                "rank": topology.rank_entity(rank),
                "gpu": topology.gpu_entity(rank),
                "host": topology.host_entity(topology.host(rank)),
                "process": WORKER,
                "group": GROUP,
            }[kinds.catalogue()[kind].entities[0]]
            findings.append(found(kind, where, score=score))
        return explanations(findings, topology, observed=EVERYTHING)

    return explain


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_first_where_its_own_evidence_is(explained, name):
    rows, kind, entity = FAULTS[name]
    (root,) = explained(rows)
    first = root.cause.hypotheses[0]
    assert (name.split(" ")[0], kind, entity) == (first.fault, first.entity.type, first.entity.id)


@pytest.mark.parametrize("name", FAULTS)
def test_without_its_own_evidence_it_is_never_named(explained, proven, name):
    fault = name.split(" ")[0]
    own = {row if isinstance(row, str) else row[0] for row in FAULTS[name][0]}
    for rows in ([*SLOW, ("rank.waits_least", 0)], CRASH):
        if own - {"job.slow", "job.crashed", "rank.first_exit"}:
            (root,) = explained(rows)
            assert fault not in proven(root.cause)


def test_an_allocator_that_retries_because_the_job_leaks_is_the_leak(explained):
    rows = ["job.gpu_memory_grows", *(("rank.memory_fragmented", rank) for rank in range(4))]
    (root,) = explained(rows)
    first = root.cause.hypotheses[0]
    assert ("memory.gpu_leak", "job") == (first.fault, first.entity.type)


@pytest.mark.parametrize(
    "name",
    ["memory.gpu_leak", "memory.host_leak", "memory.copy_on_read", "memory.host_oom to come"],
)
def test_what_ends_far_away_is_info_and_named_all_the_same(explained, name):
    """A detector that scores a symptom below 1 says: worth knowing, not worth a page."""
    far, near = (partial(explained, FAULTS[name][0], score=score) for score in (0.5, 2.0))
    (root,) = far()
    assert name.split(" ")[0] == root.cause.hypotheses[0].fault
    assert "info" == severity(root.symptoms, root.cause, 3600.0)
    (root,) = near()
    assert severity(root.symptoms, root.cause, 0.0) in ("warning", "critical")


def test_a_rank_that_works_on_its_data_itself_does_not_wait_for_its_loader(topology, found):
    rank = topology.rank_entity(0)
    shown = [found(kind, rank) for kind in ("rank.prepares_data", "rank.data_wait")]
    cause = explain([found("job.slow", topology.job_entity), *shown], topology)
    first, second = cause.hypotheses[:2]
    assert "balance.rank0_preprocessing" == first.fault
    assert first.score - second.score > 1.2
