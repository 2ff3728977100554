"""What a log says of processes that native code or an exit ended: lines as they are written."""

import os
import subprocess
import sys

import pytest

from rankscope.formats import training_logs

AT = 1_787_000_000.0
SEGFAULT = """\
import ctypes
import threading


def wait():
    threading.Event().wait()


def step():
    ctypes.string_at(0)


threading.Thread(target=wait, daemon=True).start()
step()
"""
EXITS = """\
import os, sys, time
if os.environ["RANK"] == "1":
    sys.exit(3)
time.sleep(600)
"""
FAILED = (
    "E1123 08:43:56.738000 18775 torch/distributed/elastic/multiprocessing/api.py:1002] "
    "failed (exitcode: -9) local_rank: 1 (pid: 18817) of binary: /usr/bin/python"
)


@pytest.fixture(scope="module")
def crashed(tmp_path_factory):
    """Return what Python writes when native code under a script ends it."""
    script = tmp_path_factory.mktemp("crashed") / "train.py"
    script.write_text(SEGFAULT)
    command = [sys.executable, "-X", "faulthandler", str(script)]
    ended = subprocess.run(command, capture_output=True, check=False)
    assert ended.returncode < 0, "a signal ended it"
    return ended.stderr


def events(data, *, size=10_000, **whose):
    parser = training_logs.TrainingLogParser(**whose)
    found = [one for at in range(0, len(data), size) for one in parser.feed(data[at : at + size])]
    return [event for one in (*found, *parser.end()) for event in one.events]


def calls(event):
    """Return the names of a stack's functions, the innermost last; no tag passes."""
    return [line.split(" ")[0] for line in str(event.attributes["text"]).splitlines()]


@pytest.mark.parametrize("size", [1, 64, 10_000])
@pytest.mark.parametrize("behind", [b"", b"Extension modules: numpy.core (total: 1)\n"])
def test_a_segmentation_fault_is_a_root_with_the_stack_that_led_to_it(crashed, size, behind):
    fault, stack = events(crashed + behind, size=size, rank=3)
    found = fault.attributes
    assert ("log.fault", "python.segfault", "root", 3) == (
        fault.name, found["signature"], found["role"], found["rank"],
    )  # fmt: skip
    assert ("process.stack", 3) == (stack.name, stack.attributes["rank"])
    assert ["\u2039module>", "step", "string_at"] == calls(stack)


def test_lines_of_other_ranks_between_do_not_tear_a_stack(crashed):
    lines = [b"[rank1]: " + line for line in crashed.splitlines()]
    for place in range(len(lines), 0, -2):
        lines.insert(place, b'[rank0]:   File "other.py", line 7 in elsewhere')
    fault, stack = events(b"\n".join(lines) + b"\n")
    assert (1, 1) == (fault.attributes["rank"], stack.attributes["rank"])
    assert ["\u2039module>", "step", "string_at"] == calls(stack)


def test_a_stack_of_nobody_is_left_out(crashed):
    (fault,) = events(crashed)
    assert "python.segfault" == fault.attributes["signature"]


def test_what_follows_a_crash_is_read_as_ever(crashed):
    data = crashed + b"node-1:1:2 [0] misc/shmutils.cc:87 NCCL WARN Call to posix_fallocate failed"
    found = [event.attributes.get("signature", event.name) for event in events(data, rank=0)]
    assert ["python.segfault", "process.stack", "shm.exhausted"] == found


def test_an_abort_accuses_nobody():
    """It is how a watchdog ends the process too: what it says before counts."""
    command = [sys.executable, "-X", "faulthandler", "-c", "import os; os.abort()"]
    written = subprocess.run(command, capture_output=True, check=False).stderr
    fault, stack = events(written, rank=0)
    assert ("python.aborted", "confirmation") == (
        fault.attributes["signature"], fault.attributes["role"],
    )  # fmt: skip
    assert ["\u2039module>"] == calls(stack)


@pytest.mark.parametrize(
    ("local_ranks", "whose"), [({0: 8, 1: 9}, {"rank": 9}), ({}, {}), (None, {})]
)
def test_the_first_process_that_torchrun_sees_end_is_an_exit(local_ranks, whose):
    """Not only the list at the end: with restarts there is none."""
    fault, exited = events(FAILED.encode(), local_ranks=local_ranks)
    assert {"rank": None, **whose} == {"rank": fault.attributes.get("rank")}
    assert "process.exit" == exited.name
    assert {**whose, "pid": 18817, "signal": 9} == exited.attributes


@pytest.mark.long
def test_torchrun_of_a_script_that_exits(tmp_path):
    script = tmp_path / "train.py"
    script.write_text(EXITS)
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node=2", str(script)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    ended = subprocess.run(command, capture_output=True, check=False, env=environment)
    first, *rest = (
        event.attributes
        for event in events(ended.stderr, local_ranks={0: 0, 1: 1})
        if event.name == "process.exit"
    )
    assert (1, 3) == (first["rank"], first["exit_code"])
    assert {(0, 15), (1, None)} == {(row["rank"], row.get("signal")) for row in rest}
