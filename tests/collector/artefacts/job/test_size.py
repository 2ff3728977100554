"""What the first and last lines of a log say of a job: its size, its ranks, its year."""

from datetime import UTC, datetime

import pytest

from rankscope.collector.artefacts.job import size
from rankscope.collector.artefacts.job.size import LogSurvey


@pytest.fixture
def survey(tmp_path):
    def read(text):
        (tmp_path / "job.log").write_text(text)
        return size.read(tmp_path / "job.log", UTC)

    return read


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("WORLD_SIZE=16", 16),
        ("using world size: 64, data-parallel size: 8", 64),
        ("{'world_size': 8, 'rank': 3}", 8),
        ("dist_world_size=32", 32),
        ("comm 0x55 rank 3 nranks 4 cudaDev 3", 4),
        ("Num processes: 8", 8),
        ("torchrun --nnodes=2 --nproc_per_node=8 train.py", 16),
        ("torchrun --nproc-per-node 4 train.py", 4),
        ("nnodes=2, num_local_procs=8, node_rank=0", 16),
        ("global_world_sizes=[24, 24]", 24),
        ("Initializing distributed: GLOBAL_RANK: 0, MEMBER: 1/12", 12),
        ("Timed out after 601 seconds waiting for clients. 15/16 clients joined.", 16),
        ("mpirun -x NCCL_DEBUG -np 8 python train.py", 8),
        ("local_world_size=8", 0),
        ("tensor model parallel world size: 4", 0),
        ("tensor_parallel_world_size = 4", 0),
        ("world peace: 4", 0),
    ],
)
def test_the_size_of_a_job_in_the_words_of_launchers_and_frameworks(survey, text, size):
    assert size == survey(f"starting\n{text}\n").size


def test_the_largest_size_counts_and_what_is_no_size_does_not(survey):
    assert 8 == survey("world_size: 2\nworld_size: 8\nworld_size: 99999999\n").size


def test_ranks_are_those_of_prefixes(survey):
    found = survey("[rank3]: starting\nrank 7 is named\n[rank12]:[E513 x] y\n")
    assert {3, 12} == found.ranks


def test_hosts_of_ranks_are_those_of_the_same_prefixes(survey):
    ray = "(Worker pid=7, ip=10.0.0.5) [rank0]: x\n(Worker pid=8, ip=10.0.0.6) [rank1]: x\n"
    assert {0: "10.0.0.5", 1: "10.0.0.6"} == survey(ray).hosts
    ssh = "node-a: [rank0]: x\nnode-b: [rank5]: x\nnode-b: step 1\n"
    assert {0: "node-a", 5: "node-b"} == survey(ssh).hosts
    assert {} == survey("[rank3]: starting\n").hosts


def test_both_ends_of_a_long_log_are_read(survey):
    found = survey("[rank1]: x\n" + "a step\n" * 200_000 + "[rank2]: WORLD_SIZE=4\n")
    assert ({1, 2}, 4) == (found.ranks, found.size)


def test_the_year_is_that_of_a_line_else_of_dumps_else_the_last_before_the_file(survey):
    at = datetime(2026, 5, 13, 12, tzinfo=UTC).timestamp()
    dated = survey("[rank0]: x\n[2026-05-13 12:00:00] y\n")
    assert at == dated.dated
    assert at == size.near([LogSurvey(), dated], at + 9e7, at - 9e7)
    assert at - 9e7 == size.near([LogSurvey()], at + 9e7, at - 9e7)
    before = size.near([LogSurvey()], at, None)
    assert before is not None
    assert at > before > at - 200 * 86400
    assert size.near([], 0.0, None) is None
