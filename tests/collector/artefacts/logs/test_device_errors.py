"""What processes say of their devices as they end: the cause, and whose device it was."""

# ruff: noqa: E501  lines are as long as they are printed

import pytest
from tests.collector.artefacts.test_always_an_answer import said

FRAMES = (
    'Traceback (most recent call last):\n  File "/opt/train.py", line 88, in <module>\n    go()\n'
)
STEPS = "".join(f"step {n} loss {3 - n / 100:.3f} grad_norm 0.5\n" for n in range(1, 9))
TABLE = """torch.distributed.elastic.multiprocessing.errors.ChildFailedError:
============================================================
train.py FAILED
------------------------------------------------------------
Root Cause (first observed failure):
[0]:
  time      : 2026-06-08_19:04:44
  host      : node-7
  rank      : 2 (local_rank: 2)
  exitcode  : 1 (pid: 102930)
  error_file: <N/A>
  traceback : To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html
============================================================
"""
ECC = "RuntimeError: CUDA error: uncorrectable ECC error encountered\n"
LINK = "RuntimeError: CUDA error: uncorrectable NVLink error detected during the execution\n"
OOM = "torch.AcceleratorError: CUDA error: out of memory\n"
LOST = "pynvml.NVMLError_GpuIsLost: GPU is lost\n"


def cause(diagnosis):
    """Return the fault, and the ranks of its entity."""
    entity = diagnosis.incident["root_cause"]["hypotheses"][0]["entity"]
    return said(diagnosis)[0], entity["ranks"]


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        (OOM, "memory.gpu_oom"),
        ("jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 8 bytes.\n", "memory.gpu_oom"),
        ("MemoryError: \n\nResourceExhaustedError: \n\nOut of memory error on GPU 0. Cannot allocate 1MB\n", "memory.gpu_oom"),
        (ECC, "gpu.memory_uncorrectable"),
        (LINK, "gpu.nvlink"),
        (LOST, "gpu.lost"),
    ],
    ids=["torch", "xla", "paddle", "ecc", "nvlink", "lost"],
)  # fmt: skip
def test_what_a_device_says_is_the_cause_also_where_no_line_names_a_rank(
    explain, tmp_path, line, fault
):
    (tmp_path / "job.log").write_text(STEPS + FRAMES + line)
    assert (fault, "job") == said(explain(tmp_path))[:2]


@pytest.mark.parametrize(
    ("line", "fault"),
    [(OOM, "memory.gpu_oom"), (ECC, "gpu.memory_uncorrectable"), (LINK, "gpu.nvlink")],
)
def test_it_is_of_the_rank_that_the_launchers_table_names(explain, tmp_path, line, fault):
    (tmp_path / "job.log").write_text(STEPS + FRAMES + line + FRAMES + TABLE)
    assert (fault, [2]) == cause(explain(tmp_path))


def test_a_watchdog_that_says_it_below_the_exception_names_the_rank(explain, tmp_path):
    watchdog = f"[E ProcessGroupNCCL.cpp:916] [Rank 1] NCCL watchdog thread terminated with exception: {ECC}"
    (tmp_path / "job.log").write_text(STEPS + FRAMES + ECC + watchdog)
    assert ("gpu.memory_uncorrectable", [1]) == cause(explain(tmp_path))


FULL = "node-7:4103:4300 [3] include/alloc.h:178 NCCL WARN Cuda failure 'out of memory'\n"


@pytest.mark.parametrize(
    ("starts", "rank"),
    [
        ("node-7:4103:4200 [3] NCCL INFO comm 0x1f rank 11 nranks 16 cudaDev 3 busId c7000 - Init COMPLETE\n", 11),
        ("node-7:4102:4200 [2] NCCL INFO Channel 00/0 : 10[2] -> 11[3] via P2P/IPC\n", 11),
        ("node-7:4103:4200 [3] proxy.cc:1519 NCCL WARN [Proxy Service 5] Failed to execute operation Setup\n", 5),
    ],
    ids=["start", "channel", "proxy"],
)  # fmt: skip
def test_a_line_of_nccl_is_of_the_rank_that_its_other_lines_say(explain, tmp_path, starts, rank):
    closed = "node-7:4100:4200 [0] misc/socket.cc:49 NCCL WARN socketProgress: Connection closed by remote peer node-7<48931>\n"
    (tmp_path / "job.log").write_text(starts + FULL + closed)
    assert ("memory.gpu_oom", [rank]) == cause(explain(tmp_path))


def test_an_error_that_may_be_the_links_or_the_programs_is_no_sure_crash(explain, tmp_path):
    line = "RuntimeError: CUDA error: Invalid access of peer GPU memory over nvlink or a hardware error\n"
    (tmp_path / "job.log").write_text(STEPS + FRAMES + line + FRAMES + TABLE)
    assert "low" == explain(tmp_path).incident["root_cause"]["hypotheses"][0]["confidence"]


def test_memory_of_the_host_is_not_the_devices(explain, tmp_path):
    line = "RuntimeError: DefaultCPUAllocator: can't allocate memory: you tried to allocate 123 bytes.\n"
    (tmp_path / "job.log").write_text(STEPS + FRAMES + line)
    assert "memory.gpu_oom" != said(explain(tmp_path))[0]


@pytest.mark.parametrize(
    ("before", "fault"), [("loading\n", "software.init_failed"), (STEPS, "unknown")]
)
def test_no_device_is_a_start_that_failed_unless_the_job_had_trained(
    explain, tmp_path, before, fault
):
    (tmp_path / "job.log").write_text(
        before + FRAMES + "RuntimeError: No CUDA GPUs are available\n"
    )
    assert fault == said(explain(tmp_path))[0]


def test_memory_that_ran_out_for_one_step_only_is_quiet(explain, tmp_path):
    more = "".join(f"step {n} loss {3 - n / 100:.3f} grad_norm 0.5\n" for n in range(9, 20))
    (tmp_path / "job.log").write_text(STEPS + "| WARNING: " + OOM + more)
    assert explain(tmp_path).document() is None


@pytest.mark.parametrize("end", ["Aborted (core dumped)", "Segmentation fault", "Killed"])
def test_a_shells_word_at_the_end_of_a_log_is_the_crash(explain, tmp_path, end):
    (tmp_path / "job.log").write_text(STEPS + end + "\n")
    assert "software.crash" == said(explain(tmp_path))[0]
