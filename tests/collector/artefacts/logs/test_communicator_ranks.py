"""Whose device it is, in a log of several ranks without prefixes, by NCCL's own lines."""

from datetime import UTC

import pytest
from tests.collector.artefacts.launches.launched_job import cause

INIT = (
    "gpu-3:{pid}:9 [{rank}] NCCL INFO ncclCommInitRank comm 0x6f1c00a{rank} rank {rank} nranks "
    "{size} cudaDev {rank} nvmlDev {rank} busId {bus}000 commId 0x{comm} - Init COMPLETE\n"
)
STEPS = "".join(
    f"2026-05-13 12:00:0{step} INFO iteration {step}/ 100 | loss 2.5 | time 1.0\n"
    for step in range(9)
)
GONE = (
    "May 13 12:00:09 gpu-3 kernel: NVRM: Xid (PCI:0000:21:00): 79, pid=71, GPU has fallen off the "
    "bus.\n"
)


@pytest.fixture
def first(explain, tmp_path):
    """Return a function that explains the log of a job."""

    def of(text):
        (tmp_path / "job.log").write_text(text)
        return explain(tmp_path, zone=UTC).document()

    return of


def inits(size, ranks, comm="75f0", pids=70):
    return "".join(
        INIT.format(rank=rank, pid=pids + rank, size=size, bus=f"{1 + rank}1", comm=comm)
        for rank in ranks
    )


def test_a_device_is_that_of_the_rank_in_the_communicator_of_the_whole_job(first):
    fault, ranks, host = cause(first(inits(4, range(4)) + STEPS + GONE))
    assert ("gpu.lost", [1], "gpu-3") == (fault, ranks, host)


@pytest.mark.parametrize(
    "lines",
    [
        inits(4, range(4)) + inits(4, range(4), "86a1", 80),
        inits(4, range(4)) + "world_size: 8\n",
    ],
    ids=["two of one size", "one of half the job"],
)
def test_communicators_of_parts_of_the_job_name_no_rank(first, lines):
    assert [] == cause(first(lines + STEPS + GONE))[1]
