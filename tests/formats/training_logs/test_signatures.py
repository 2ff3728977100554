"""Lines that point at faults: every signature has a real form here, with its role and details."""

# ruff: noqa: E501  lines are as long as they are printed

import tomllib
from datetime import UTC
from pathlib import Path

import pytest

from rankscope.formats import training_logs
from rankscope.formats.training_logs import signatures
from rankscope.vocabulary import events

AT = 1_787_000_000.0
WATCHDOG = (
    "[rank7]:[E810 03:04:11.061727749 ProcessGroupNCCL.cpp:683] [Rank 1] Watchdog caught collective "
    "operation timeout: WorkNCCL(SeqNum=120049, OpType=_ALLGATHER_BASE, NumelIn=80, NumelOut=80, "
    "Timeout(ms)=600000) ran for 600096 milliseconds before timing out."
)
STATUS = (
    "[rank7]:[E1118 20:32:23.957372583 ProcessGroupNCCL.cpp:2168] [PG ID 12 PG GUID "
    "99(EXPERT_MODEL_PARALLEL_GROUP) Rank 4]  failure detected by watchdog at work sequence id: 1 "
    "PG status: last enqueued work: 547, last completed work: -1"
)
_TABLE = Path(__file__).with_name("fault_lines.toml").read_text(encoding="utf-8")
LINES = tomllib.loads(_TABLE)["line"]


@pytest.mark.parametrize("line", LINES, ids=lambda line: line["signature"])
def test_a_line_is_reported_with_its_signature_role_and_details(line):
    (logged,) = training_logs.read([line["text"]], default_at=AT)
    (event,) = (one for one in logged.events if one.name == "log.fault")
    found = event.attributes
    assert (found["signature"], found["role"]) == (line["signature"], line["role"])
    details = line.get("details", {})
    assert {name: found.get(name) for name in details} == details
    assert set(found) <= set(events.catalogue()["log.fault"].attributes)


def test_rows_of_one_name_say_one_end():
    ends = {(one.name, one.ended) for one in signatures.catalogue()}
    assert sorted({name for name, _ in ends}) == sorted(name for name, _ in ends)


@pytest.mark.parametrize(
    ("text", "ended"),
    [
        ("double free or corruption (out)", "process"),
        ("RuntimeError: Found no NVIDIA driver on your system.", "setup"),
        ("RuntimeError: CUDA error: uncorrectable ECC error encountered", "device"),
        ("OSError: [Errno 28] No space left on device", None),
    ],
)
def test_a_line_says_what_has_ended(text, ended):
    (logged,) = training_logs.read([text], default_at=AT)
    assert ended == logged.events[0].attributes.get("ended")


def test_an_exception_that_no_row_has_ends_its_process():
    lines = ["Traceback (most recent call last):", '  File "a.py", line 1, in <module>', "    f()",
             "ValueError: bad sample"]  # fmt: skip
    events = [event for one in training_logs.read(lines, default_at=AT) for event in one.events]
    assert ["process"] == [event.attributes.get("ended") for event in events]


def test_every_signature_has_a_line_here():
    alone = {one.name for one in signatures.catalogue() if one.inside is None}
    assert alone == {line["signature"] for line in LINES}


@pytest.mark.parametrize(
    "line",
    [
        "loading checkpoint, this may take a while",
        "requests.exceptions.ConnectionError: Connection reset by peer",
        "node1:1:2 [0] NCCL INFO Channel 00/0 : 1[1] -> 2[2] via P2P/IPC",
        "node1:1:2 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB [RO]; OOB eth0:10.0.0.1<0>",
        "Detected 8 GPUs",
        "node1:42 NCCL DIAG [OK]   p2p: all 56 directed GPU P2P edges verified",
        "node1:42 NCCL DIAG [INFO] ECC: unavailable via NVML across 8 ranks in comm 0x1f",
        "Possible speed-up: set num_workers",
        "retrying: Broken pipe",
        "Uncorrectable ECC errors: 0",
        "CUDA out of memory detected. Train microbatch size will be decreased from 8 -> 4.",
        "W tsl/framework/bfc_allocator.cc:487] Allocator (GPU_0_bfc) ran out of memory trying to x",
        "cuda_driver.cc:806] failed to allocate 7.17G from device: CUDA_ERROR_OUT_OF_MEMORY",
        "grpc._channel._InactiveRpcError: RESOURCE_EXHAUSTED: Received message larger than max",
        "429 ResourceExhausted: Quota exceeded for requests per minute, out of memory of none",
        "OOM when allocating tensor with shape[32] on /device:CPU:0 by allocator cpu",
        "*** SIGTERM (@0x0) received by PID 123 (TID 0x7f) from PID 0; stack trace: ***",
        "DefaultCPUAllocator: can't allocate memory: you tried to allocate 123 bytes",
        "cudaMalloc failed: out of memory, will retry after the cache is emptied",
        "WARNING (nnet3-train[5.4]:MallocPitchInternal():cu-allocator.cc:97) Allocation of 8 x 6 failed",
        "If no heartbeat from a worker comes within 300 s it will be restarted",
        "set heartbeat timeout of workers to 600 s",
        "sent heartbeat to master, no errors",
    ],
)
def test_an_ordinary_line_reports_nothing(line):
    assert list(training_logs.read([line], default_at=AT)) == []


def test_counters_of_a_group_with_a_name_are_samples():
    group = {"EXPERT_MODEL_PARALLEL_GROUP": "ep:0123"}
    (logged,) = training_logs.read([STATUS], default_at=AT, groups=group)
    pairs = (("group", "ep:0123"), ("rank", 7), ("source", "log"))
    assert [(one.metric, one.value, one.attributes) for one in logged.samples] == [
        ("collective.enqueued", 547.0, pairs),
        ("collective.completed", -1.0, pairs),
    ]
    (logged,) = training_logs.read([STATUS], default_at=AT)
    assert logged.samples == ()


def test_a_fault_behind_anothers_unfinished_line_is_of_the_rank_in_the_line():
    logged = training_logs.read(["Epoch 1/2: 24it [05:55,  1.47s/it, loss=5.46]" + WATCHDOG])
    assert [7] == [event.attributes["rank"] for one in logged for event in one.events]


BLOCK = """torch.distributed.elastic.multiprocessing.errors.ChildFailedError:
============================================================
train.py FAILED
------------------------------------------------------------
Failures:
[1]:
  time      : 2026-06-08_19:04:45
  host      : node-7
  rank      : 2 (local_rank: 2)
  exitcode  : -9 (pid: 102932)  (SIGKILL)
  error_file: <N/A>
  traceback : Signal 9 (SIGKILL) received by PID 102932
------------------------------------------------------------
Root Cause (first observed failure):
[0]:
  time      : 2026-06-08_19:04:44
  host      : node-7
  rank      : 0 (local_rank: 0)
  exitcode  : 1 (pid: 102930)
  error_file: <N/A>
  traceback : To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html
============================================================
rank      : 5 (local_rank: 2)
exitcode  : -9 (pid: 1)
"""


@pytest.mark.parametrize("size", [1, 7, 64, 10_000])
@pytest.mark.parametrize("prefix", ["", "[rank0]: "])
def test_the_processes_that_torchrun_lists_ended(size, prefix):
    data = "".join(f"{prefix}{line}\n" for line in BLOCK.splitlines()).encode()
    parser = training_logs.TrainingLogParser(zone=UTC)
    found = [one for at in range(0, len(data), size) for one in parser.feed(data[at : at + size])]
    exits = [(one.line, event) for one in found for event in one.events if one.line > 1]
    assert [(line, event.at, event.attributes) for line, event in exits] == [
        (10, 1780945485.0, {"rank": 2, "pid": 102932, "signal": 9}),
        (19, 1780945484.0, {"rank": 0, "pid": 102930, "exit_code": 1}),
    ]


def test_a_line_of_nccl_says_which_process_has_which_device_in_which_communicator():
    line = (
        "node-1:1234:5678 [0] NCCL INFO ncclCommInitRank comm 0x55d4 rank 24 nranks 32 cudaDev 0 "
        "nvmlDev 0 busId 7000 commId 0x2114bc51af4fb978 - Init COMPLETE"
    )
    (logged,) = training_logs.read([line], rank=24)
    (event,) = logged.events
    assert event.name == "collective.communicator"
    assert event.attributes == {
        "rank": 24, "host": "node-1", "pid": 1234, "communicator": "0x2114bc51af4fb978",
        "communicator.rank": 24, "communicator.size": 32, "device": 0,
        "pci.bus_id": "0000:07:00.0",
    }  # fmt: skip


def test_a_line_of_rccl_does_so_in_nccls_words():
    """Constructed: NCCL's line with what RCCL adds to it. There is no capture of one."""
    line = (
        "node-1:1234:5678 [3] NCCL INFO comm 0x55d4 rank 3 nranks 8 cudaDev 3 busId c1000 "
        "commId 0x2114bc51af4fb978 localSize 296 used 158616 bytes - Init COMPLETE"
    )
    (logged,) = training_logs.read([line], rank=3)
    (event,) = logged.events
    assert (3, 8) == tuple(event.attributes[f"communicator.{what}"] for what in ("rank", "size"))
    assert "0000:c1:00.0" == event.attributes["pci.bus_id"]


def test_the_year_of_a_time_without_one_is_the_nearest():
    near = 1_798_761_600.0  # 2027-01-01
    line = WATCHDOG.replace("E810", "E1231")
    (logged,) = training_logs.read([line], default_at=near, zone=UTC)
    assert near - 90_000 < (logged.at or 0) < near
