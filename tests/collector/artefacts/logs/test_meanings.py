"""What a line says of the cause outweighs that a process ended: who waited for whom, and for what."""

# ruff: noqa: E501  lines are as long as they are printed

import json

import pytest
from tests.collector.artefacts.test_always_an_answer import said

FRAMES = (
    'Traceback (most recent call last):\n  File "/opt/train.py", line 8, in <module>\n    go()\n'
)
ENDED = "[2026-05-13 12:00:15,164] torch.distributed.elastic.multiprocessing.api: [ERROR] failed (exitcode: 1) local_rank: 0 (pid: 77) of binary: /usr/bin/python3\n"
MISMATCH = "RuntimeError: Detected mismatch between collectives on ranks. Rank 1 is running collective: CollectiveFingerPrint(SequenceNumber=5, OpType=ALLREDUCE, TensorShape=[3]), but Rank 0 is running collective: CollectiveFingerPrint(SequenceNumber=5, OpType=BROADCAST, TensorShape=[1])\n"
START = ("software.init_failed", "job", "job")


@pytest.fixture
def told(explain, tmp_path):
    def read(text, name="job.log"):
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return said(explain(tmp_path))

    return read


def test_ranks_that_differ_by_their_own_words_outweigh_the_exit_of_one(told):
    assert ("software.collective_mismatch", "rank", "0") == told(FRAMES + MISMATCH + ENDED)


@pytest.mark.parametrize(
    "line",
    [
        "ValueError: host not found: Name or service not known",
        "socket.gaierror: [Errno -3] Temporary failure in name resolution",
        "torch.distributed.DistBackendError: NCCL error in: x.cpp:94, internal error\nncclInternalError: Internal check failed.\nLast error:\nncclSocketInit: connecting to address  with family 1 is neither AF_INET(2) nor AF_INET6(10)",
        "torch.distributed.DistBackendError: NCCL error in: x.cpp:94, system error\nLast error:\nBootstrap : no socket interface found",
    ],
)
def test_a_start_that_finds_no_host_or_interface_is_no_crash(told, line):
    assert START == told(f"{FRAMES}{line}\n")


def test_who_waited_for_a_peer_in_vain_is_no_crash(told):
    text = (
        "[rank1]: RuntimeError: OPS function error: HcclAllreduce, error code is 6\n"
        "[rank1]: [ERROR] 2026-05-13-12:00:20 (PID:7, Device:1, RankID:1) ERR01100 OPS call acl api failed.\n"
        "[rank1]: EI0006: [PID: 7] 2026-05-13-12:00:20.444.436 Getting socket times out. Reason: x\n"
    )
    frames = "".join(f"[rank1]: {line}\n" for line in FRAMES.splitlines())
    assert START == told(frames + text)


def waits(rank, number, op, enqueued, completed):
    return (
        f"[rank{rank}]:[E0513 12:15:00.1 ProcessGroupNCCL.cpp:616] [Rank {rank}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum={number}, OpType={op}, NumelIn=64, NumelOut=32, Timeout(ms)=600000) ran for 600080 milliseconds before timing out.\n"
        f"[rank{rank}]:[E0513 12:15:00.2 ProcessGroupNCCL.cpp:1785] [PG ID 0 PG GUID 0(default_pg) Rank {rank}] Exception (either an error or timeout) detected by watchdog at work: {number}, last enqueued NCCL work: {enqueued}, last completed NCCL work: {completed}.\n"
    )


def test_who_completed_what_another_still_waits_in_called_other_collectives(told):
    late = waits(0, 22, "_REDUCE_SCATTER_BASE", 27, 21)
    fault, entity, _ = told(late + waits(1, 26, "_ALLGATHER_BASE", 28, 25))
    assert ("software.collective_mismatch", "rank") == (fault, entity)


@pytest.mark.parametrize(
    ("op", "number", "enqueued"),
    [("_REDUCE_SCATTER_BASE", 23, 27), ("BROADCAST", 26, 27), ("_REDUCE_SCATTER_BASE", 26, 22)],
)
def test_one_collective_apart_or_one_that_not_all_wait_in_is_no_mismatch(
    told, op, number, enqueued
):
    late = waits(0, 22, op, enqueued, 21)
    fault, _, _ = told(late + waits(1, number, op, number + 2, number - 1))
    assert fault != "software.collective_mismatch"


def first_line(text):
    """Return a rank's words of its time-out alone: how far it is in its group is not known."""
    return text.splitlines(keepends=True)[0]


@pytest.mark.parametrize("lines", [first_line, str])
def test_who_is_behind_and_waits_in_what_others_completed_called_something_else(told, lines):
    late = lines(waits(0, 22, "_ALLGATHER_BASE", 22, 21))
    fault, entity, _ = told(late + waits(1, 24, "ALLREDUCE", 24, 23))
    assert ("software.collective_mismatch", "rank") == (fault, entity)


@pytest.mark.parametrize(
    ("op", "number", "other"),
    [
        ("_ALLGATHER_BASE", 23, "ALLREDUCE"),  # a device that hangs, or what the last message lost
        ("BROADCAST", 24, "ALLREDUCE"),  # the root need not wait for it
        ("_ALLGATHER_BASE", 24, "_ALLGATHER_BASE"),  # the same, counted otherwise
    ],
)
def test_what_is_one_sequence_for_all_that_is_known_is_no_mismatch(told, op, number, other):
    late = first_line(waits(0, 22, op, 22, 21))
    fault, _, _ = told(late + waits(1, number, other, number, number - 1))
    assert fault != "software.collective_mismatch"


def test_a_gather_of_fewer_ranks_than_the_job_has_is_in_another_group(told):
    """Two ranks gather in a group that no line names; what the eight did is counted apart."""
    late = first_line(waits(1, 22, "_ALLGATHER_BASE", 22, 21))
    others = "".join(waits(rank, 24, "ALLREDUCE", 24, 23) for rank in (0, 2, 3, 4, 5, 6, 7))
    fault, _, _ = told(late + others)
    assert "unknown" == fault


HEAD = "[1,0]<stderr>:[2026-05-13 12:0{}:10.000000: W horovod/common/{}] One or more tensors were submitted to be reduced, gathered or broadcasted by subset of ranks.\n"
OLD = HEAD.format("{0}", "operations.cc:588") + "[1,0]<stderr>:Stalled ops:a_0 [missing ranks: 1]\n"
NEW = HEAD.format("{0}", "stall_inspector.cc:105") + (
    "[1,0]<stderr>:Missing ranks:\n[1,0]<stderr>:1: [allreduce.a, allreduce.b ...]\n"
)


@pytest.mark.parametrize("stall", [OLD, NEW])
def test_horovods_missing_rank_is_waited_for(told, stall):
    assert ("software.stuck_process", "rank", "1") == told(stall.format(1) + stall.format(2))


def test_ranks_that_each_miss_what_others_did_called_other_operations(told):
    lists = (
        "[1,0]<stderr>:Missing ranks:\n[1,0]<stderr>:0: [bcast.a]\n[1,0]<stderr>:1: [reduce.b]\n"
    )
    fault, _, _ = told(HEAD.format(1, "stall_inspector.cc:105") + lists)
    assert fault == "software.collective_mismatch"


@pytest.mark.parametrize("stall", [OLD, NEW])
def test_a_stall_that_steps_follow_says_nothing(explain, tmp_path, stall):
    steps = "".join(f"[1,0]<stderr>:Epoch 1 step {n}/99 - loss: 0.{n}\n" for n in range(1, 6))
    (tmp_path / "job.log").write_text(stall.format(1) + steps)
    incident = explain(tmp_path).incident
    assert incident is None or incident["severity"] == "info"


def test_who_failed_to_pass_a_barrier_is_waited_for_though_no_line_has_a_prefix(told):
    text = (
        "2026-05-13 12:01:29,529 INFO Detected uneven workload distribution: Rank 3 successfully reached monitoredBarrier, but received errors while waiting for send/recv from rank 0. Please check rank 0 logs for faulty rank.\n"
        "2026-05-13 12:01:29,531 INFO Detected uneven workload distribution: [Rank 0]: Rank 2 failed to pass monitoredBarrier in 30000 ms\n"
    )
    assert ("software.stuck_process", "rank", "2") == told(text)


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("[ERROR] ME(7:8,MainProcess): Worker process 808 exit with exception.", "software.crash"),
        ("container failed with non-zero exit code: 1", "software.crash"),
        ("PyTorchJob a/b is failed because 1 Worker replica(s) failed.", "software.crash"),
        ("controller.py:118] Cluster is preempted (status: INIT). Recovering...", "host.evicted"),
        ("Message: Preempted to accommodate a workload (UID: 1, JobUID: 2)", "host.evicted"),
    ],
)
def test_a_platform_says_how_its_job_ended_though_it_names_no_rank(told, line, fault):
    assert fault == told(f"{line}\n")[0]


def error(text, at):
    extra = {"py_callstack": "Traceback", "timestamp": str(at)}
    return json.dumps({"message": {"message": text, "extraInfo": extra}})


def test_torchruns_error_files_alone_tell_who_failed_first(explain, tmp_path):
    texts = ("DistBackendError: NCCL error in: x", "ValueError: bad batch 7")
    for attempt in (0, 1):
        for rank, text in enumerate(texts):
            folder = tmp_path / f"run/attempt_{attempt}/{rank}"
            folder.mkdir(parents=True)
            (folder / "error.json").write_text(error(text, 1778673600 + 100 * attempt - rank))
    diagnosis = explain(tmp_path)
    assert ("software.crash", "rank", "1") == said(diagnosis)
    assert 2 == diagnosis.found.world_size


def test_error_files_of_two_nodes_name_no_ranks_for_torchrun_counts_its_own_workers(
    explain, tmp_path
):
    for node, text in (("node-a", "DistBackendError: NCCL x"), ("node-b", "ValueError: batch 7")):
        folder = tmp_path / f"{node}/run/attempt_0/1"
        folder.mkdir(parents=True)
        (folder / "error.json").write_text(error(text, 1778673600))
    diagnosis = explain(tmp_path)
    assert ("software.crash", "job", "job") == said(diagnosis)
    assert "ValueError: batch 7" in diagnosis.document()["summary"]


def test_the_last_attempts_of_two_nodes_have_numbers_of_their_own(explain, tmp_path):
    """With torch 2.13 torchrun counts no restart that another node's failure made."""
    for place, text in (
        ("node-a/run/attempt_0/0", "ValueError: batch 7"),
        ("node-b/run/attempt_0/0", "KeyError: 'of the attempt before'"),
        ("node-b/run/attempt_1/0", "DistBackendError: NCCL x"),
    ):
        (tmp_path / place).mkdir(parents=True)
        (tmp_path / place / "error.json").write_text(error(text, 1778673600))
    assert "ValueError: batch 7" in explain(tmp_path).document()["summary"]


def test_an_error_file_that_cannot_be_read_as_json_is_left_out_with_the_reason(explain, tmp_path):
    texts = {"0": error("ValueError: bad batch 7", 1778673600), "1": '{"message": {"message": "a'}
    texts["2"] = '{"message": {"message": ' + "[" * 100_000
    for rank, text in texts.items():
        (tmp_path / rank).mkdir()
        (tmp_path / rank / "error.json").write_text(text)
    diagnosis = explain(tmp_path)
    assert ("software.crash", "rank", "0") == said(diagnosis)
    assert {"1/error.json", "2/error.json"} == set(diagnosis.found.unread)


OFI = "n{0}:77:91 [0] nccl_net_ofi_create_ep:512 NCCL WARN NET/OFI Couldn't open {1}. RC: -12, ERROR: Cannot allocate memory\n"
STEPPED = "".join(f"step {n} loss {3 - n / 100:.3f} grad_norm 0.5\n" for n in range(1, 9))


def test_a_plugin_that_gets_nothing_from_the_card_is_a_start_that_failed(told):
    assert START == told(OFI.format(1, "a fabric access domain") + OFI.format(2, "AV"))


def test_ports_of_which_a_driver_offers_none_are_a_start_that_failed(told):
    listed = "".join(f"accel{n}\nno interfaces were detected\n" for n in range(4))
    assert START == told("$ manage_network_ifs.sh --status\n" + listed)


def test_the_same_of_a_job_that_trained_is_none(explain, tmp_path):
    (tmp_path / "job.log").write_text(OFI.format(1, "AV") + STEPPED)
    document = explain(tmp_path).document()
    assert document is None or "unknown" == document["root_cause"]["hypotheses"][0]["fault"]


SAMPLES = "[n1] 2026-05-13 12:00:0{0},336 (ctc:71) WARNING: {0}/16 samples got nan grad. These were ignored for CTC loss.\n"
INVALID = "[n1] 2026-05-13 12:{:02}:00,027 (trainer:404) WARNING: The gradients at all steps are invalid in this epoch. Something seems wrong. This training was stopped at 2epoch\n"
EPOCH = "[n1] 2026-05-13 12:{0:02}:00,702 (trainer:762) INFO: 2epoch:train:{0}1-{0}9batch: iter_time=0.1, loss_ctc=80.5, loss={1:.2f}, train_time=1.5\n"


def test_samples_that_differ_under_the_same_parameters_are_bad_data(told):
    assert ("numerics.nan_data", "job", "job") == told(
        "".join(map(SAMPLES.format, range(2, 5))) + INVALID.format(30)
    )


def test_such_samples_are_no_cause_where_finite_losses_followed(told):
    losses = "".join(EPOCH.format(minute, 60 - minute) for minute in range(1, 20))
    assert "unknown" == told(SAMPLES.format(3) + losses + INVALID.format(30))[0]


def test_such_samples_alone_are_normal_life(explain, tmp_path):
    losses = "".join(EPOCH.format(minute, 60 - minute) for minute in range(1, 20))
    (tmp_path / "job.log").write_text(SAMPLES.format(3) + losses)
    assert explain(tmp_path).document() is None
