"""Folders of jobs that never started: the lines are those of NCCL and torch, read in their source."""

import pytest

ERROR = "[rank{}]: torch.distributed.DistBackendError: NCCL error in: NCCLUtils.hpp:275, {}\n"
WAITED = "[rank{}]: torch.distributed.DistStoreError: wait timeout after 600000ms, keys: /default_pg/0//cuda//0\n"
JOINED = "[rank0]: torch.distributed.DistStoreError: Timed out after 601 seconds waiting for clients. 7/8 clients joined.\n"
NO_STORE = "[rank{}]: torch.distributed.DistNetworkError: The client socket has timed out after 600000ms while trying to connect to (node-0, 29500).\n"
NO_ID = "[rank{0}]: torch.distributed.DistBackendError: [{0}] is setting up NCCL communicator and retrieving ncclUniqueId from [0] via c10d key-value store by key '0', but store->get('0') got error: Socket Timeout\n"
# ruff: noqa: E501  lines are as long as they are printed


def nccl(rank, text):
    return f"node-{rank // 4}:{100 + rank}:{200 + rank} [{rank % 4}] {text}\n"


def began(rank):
    return nccl(rank, f"NCCL INFO Bootstrap : Using eth0:10.0.0.{rank // 4 + 1}<0>")


@pytest.fixture
def left(tmp_path):
    """Return a function that writes the logs of eight ranks on two hosts, "" for no log."""

    def write(log_of):
        for rank in range(8):
            if text := log_of(rank):
                (tmp_path / f"rank_{rank}.log").write_text(text)
        return tmp_path

    return write


def first(diagnosis):
    cause = diagnosis.document()["root_cause"]["hypotheses"][0]
    return cause["fault"], cause["entity"].get("host")


def test_the_host_without_the_named_interface_is_named(explain, left):
    def log(rank):
        if rank < 4:
            return began(rank) + WAITED.format(rank)
        warned = nccl(rank, "misc/socket.cc:530 NCCL WARN Bootstrap : no socket interface found")
        return warned + ERROR.format(rank, "internal error")

    assert ("network.bootstrap_failed", "node-1") == first(explain(left(log)))


def test_the_host_that_cannot_reach_the_others_is_named(explain, left):
    """The address is of a container's bridge: the wrong interface was chosen."""

    def log(rank):
        if rank < 4:
            return began(rank) + WAITED.format(rank)
        warned = nccl(
            rank,
            "misc/socket.cc:484 NCCL WARN socketStartConnect: Connect to 172.17.0.2<45871> failed :"
            " Software caused connection abort",
        )
        return began(rank) + warned + ERROR.format(rank, "unhandled system error")

    assert ("network.bootstrap_failed", "node-1") == first(explain(left(log)))


def test_the_host_with_another_version_of_nccl_is_named(explain, left):
    def log(rank):
        own, other, theirs = (21903, 0, 22105) if rank >= 4 else (22105, 4, 21903)
        return nccl(
            rank,
            f"init.cc:1022 NCCL WARN Mismatched NCCL version detected : rank {other} version "
            f"{theirs} rank {rank} version {own}",
        ) + ERROR.format(rank, "invalid usage")

    # Of two versions on as many hosts the lowest rank's counts as the usual one.
    assert ("host.config_drift", "node-1") == first(explain(left(log)))


@pytest.mark.parametrize("others", [NO_STORE, NO_ID])
def test_ranks_that_never_came_are_listed_and_no_host_that_waited_is_accused(explain, left, others):
    def log(rank):
        return {0: JOINED, 6: ""}.get(rank, others.format(rank))

    diagnosis = explain(left(log))
    assert ("software.init_failed", None) == first(diagnosis)
    assert [
        "1 of 8 ranks never came to the store of rank 0: no log of rank 6"
    ] == diagnosis.found.missing


def test_a_job_that_had_steps_did_not_fail_to_start(explain, left, tmp_path):
    """A rank's store is lost at the end of many jobs."""
    left(NO_ID.format)
    steps = "".join(f"iter {step}: loss 2.5000, time 100.00ms\n" for step in range(30))
    (tmp_path / "rank_0.log").write_text(steps)
    diagnosis = explain(tmp_path)
    assert all("Start failed" not in one["summary"] for one in diagnosis.others)
    assert diagnosis.incident is None or first(diagnosis)[0] != "software.init_failed"


@pytest.mark.parametrize(
    "step",
    ["step {} loss 2.5", "[12:00:01] iter: {}/500 | my_loss=2.5", "{{'step': {}, 'lr': 1e-4}}"],
)
def test_a_job_whose_steps_have_a_form_that_nobody_knows_did_not_fail_to_start(
    explain, left, tmp_path, step
):
    """What lacks is a line that is understood, not a step."""
    left(NO_ID.format)
    (tmp_path / "job.log").write_text("".join(f"{step.format(at)}\n" for at in range(1, 30)))
    assert first(explain(tmp_path))[0] != "software.init_failed"


def test_ranks_without_a_line_that_is_understood_are_no_proof_that_none_stepped(explain, tmp_path):
    lost = "EXC [external/gloo/gloo/transport/tcp/pair.cc:547] Connection closed by peer [::1]:3\n"
    (tmp_path / "rank_0.log").write_text("running\n" + lost)
    (tmp_path / "rank_1.log").write_text("running\n")
    assert ("software.crash", None) == first(explain(tmp_path))
