"""Stacks that somebody took of processes standing still, alone or beside logs."""

import pytest
from tests.formats.stacks import dumps

ELSEWHERE, WAITS = dumps.PYSPY_ELSEWHERE, dumps.PYSPY_WAITS


@pytest.fixture
def first(explain, tmp_path):
    """Return a function that gives cause and ranks of the first incident about files, or None."""

    def run(**files):
        for name, text in files.items():
            (tmp_path / f"{name}.txt").write_text(text)
        incident = explain(tmp_path).incident
        if incident is None or incident["severity"] == "info":
            return None
        cause = incident["root_cause"]["hypotheses"][0]
        return cause["fault"], cause["entity"]["ranks"]

    return run


def of_ranks(**texts):
    """Return files of ranks 0 to 3 that wait, but for those that are given."""
    waiting = {f"rank{rank}": WAITS.format(pid=10 + rank) for rank in range(4)}
    return waiting | texts


def in_call(call):
    usual = "all_reduce (torch/distributed/distributed_c10d.py:3252)"
    return WAITS.format(pid=12).replace(usual, call)


def test_the_rank_that_stands_elsewhere_is_stuck(first):
    assert ("software.stuck_process", [2]) == first(**of_ranks(rank2=ELSEWHERE.format(pid=12)))


def test_all_dumps_may_be_in_one_file_under_headings(first):
    text = "".join(
        f"== rank {rank} ==\n{(ELSEWHERE if rank == 1 else WAITS).format(pid=rank)}\n"
        for rank in range(4)
    )
    assert ("software.stuck_process", [1]) == first(dumps=text)


def test_of_two_ranks_the_one_outside_the_collective_is_stuck(first):
    stood = {"rank0": ELSEWHERE.format(pid=1), "rank1": WAITS.format(pid=2)}
    assert ("software.stuck_process", [0]) == first(**stood)


def test_a_process_is_that_of_the_rank_that_a_log_names(first):
    log = "".join(
        f"node1:{10 + rank}:{20 + rank} [{rank}] NCCL INFO ncclCommInitRank comm 0x55d4 "
        f"rank {rank} nranks 4 cudaDev {rank} nvmlDev {rank} busId 8010 commId 0x5a - Init START\n"
        for rank in range(4)
    )
    stood = "".join((ELSEWHERE if pid == 12 else WAITS).format(pid=pid) for pid in range(10, 14))
    assert ("software.stuck_process", [2]) == first(job=log, stood=stood)


def test_ranks_in_different_collectives_did_not_call_the_same(first):
    gathers = in_call("all_gather (torch/distributed/distributed_c10d.py:2846)")
    fault, ranks = first(**of_ranks(rank3=gathers))
    assert ("software.collective_mismatch", [3]) == (fault, ranks)


def test_a_rank_in_a_save_that_its_peers_wait_for_is_stuck_there(first):
    saves = in_call("save (torch/serialization.py:619)")
    assert ("software.stuck_process", [0]) == first(**of_ranks(rank0=saves))


def test_where_all_wait_in_one_collective_no_rank_is_blamed(first):
    assert "unknown" == first(**of_ranks())[0]


def test_one_process_that_waits_says_that_another_does_not_come(first):
    assert "unknown" == first(dump=WAITS.format(pid=7))[0]


@pytest.mark.parametrize(
    "call",
    ["_store_based_barrier (distributed_c10d.py:480)", "wait (torch/utils/file_baton.py:42)"],
)
def test_processes_that_stand_in_the_set_up_never_started(first, call):
    assert "software.init_failed" == first(dump=in_call(call))[0]


def test_a_rank_that_was_looked_at_twice_counts_as_it_stood_last(first):
    twice = ELSEWHERE.format(pid=12) + WAITS.format(pid=12)
    assert "unknown" == first(**of_ranks(rank2=twice))[0]


def test_a_dump_that_steps_follow_was_of_a_job_at_work(first):
    steps = "".join(f"step {step} loss {3.0 - step / 100:.3f}\n" for step in range(1, 40))
    assert first(train=f"{steps}{dumps.FAULTHANDLER}\n{steps}") is None


def test_a_worker_of_a_loader_alone_says_nothing(first):
    worker = in_call("_worker_loop (torch/utils/data/_utils/worker.py:275)")
    log = "".join(f"step {step} loss {3.0 - step / 100:.3f}\n" for step in range(1, 40))
    assert first(worker=worker, train=log) is None
