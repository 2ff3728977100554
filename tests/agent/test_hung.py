"""Stacks of processes whose probe fell silent, from what the process left or the kernel says."""

import os
import signal
import subprocess
import sys
import time

import pytest

from rankscope.agent.hung import HungProcesses, main_thread
from rankscope.agent.open_file import OpenFile
from rankscope.agent.procfs import PROC
from rankscope.agent.settings import StacksSettings
from rankscope.agent.trainers import TrainerProcess

DUMPED = """Timeout (0:00:11)!
Thread 0x00007fc22 [rankscope-probe] (most recent call first):
  File "/usr/lib/python3.11/threading.py", line 331 in wait
  File "/opt/probe/sender.py", line 140 in _run

Thread 0x00007fc21 (most recent call first):
  File "/home/u/data.py", line 18 in hold
  File "/home/u/train.py", line 19 in <module>
"""
STACK = "<module> (train.py:19)\nhold (data.py:18)"


def trainer(pid: int, silent_since: float) -> TrainerProcess:
    return TrainerProcess(("", pid), "job", 0, 3, pid, None, silent_since)


@pytest.fixture
def hung():
    return HungProcesses(StacksSettings(), proc=PROC, spied=lambda _: None)


def memory(text: str):
    descriptor = os.memfd_create("stacks", os.MFD_ALLOW_SEALING)
    os.write(descriptor, text.encode())
    return OpenFile(descriptor)


def test_the_main_thread_is_what_counts_with_file_names_without_folders():
    assert STACK == main_thread(DUMPED)
    assert "" == main_thread("anything else")


def test_a_silent_process_is_shown_by_what_its_watchdog_wrote_at_most_twice_a_minute(hung):
    mine = trainer(os.getpid(), 100.0)
    hung.hold(mine, memory(DUMPED))
    assert [] == hung.stacks([mine], 111.0)
    (event,) = hung.stacks([mine], 113.0)
    assert ("process.stack", STACK) == (event.name, event.attributes["text"])
    assert (3, os.getpid()) == (event.attributes["rank"], event.attributes["pid"])
    assert [] == hung.stacks([mine], 130.0)
    assert 1 == len(hung.stacks([mine], 143.0))


def test_a_rank_without_a_probe_is_silent_when_its_log_is_for_longer_than_ever(hung):
    """That its process is there says nothing, so its last report does not count."""
    stopped = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    try:
        mine = trainer(stopped.pid, 0.0)
        mine.probed = False
        stopped.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, stopped.pid, os.WSTOPPED | os.WNOWAIT)
        assert [] == hung.stacks([mine], 99.0)  # no log of it was ever read
        for at in (100.0, 105.0, 110.0, 115.0, 120.0, 125.0):
            hung.pauses.logged(("job", 0), at)
        mine.last_received = 141.0
        assert [] == hung.stacks([mine], 139.0)
        (event,) = hung.stacks([mine], 141.0)
        assert "stopped by a signal" in event.attributes["text"]
        hung.pauses.logged(("job", 0), 142.0)
        assert [] == hung.stacks([mine], 190.0)  # the pause that there was is usual from now on
    finally:
        stopped.kill()
        stopped.wait()


def test_a_process_that_reports_or_has_ended_is_left_alone(hung):
    hung.hold(trainer(os.getpid(), 0.0), memory(DUMPED))
    assert [] == hung.stacks([trainer(os.getpid(), 105.0)], 113.0)
    assert [] == hung.stacks([], 114.0)
    assert [] == hung.stacks([trainer(os.getpid(), 0.0)], 115.0)  # its file went with it


def test_only_memory_is_read_since_a_pipe_could_keep_the_agent_waiting(hung):
    reading, writing = os.pipe()
    mine = trainer(os.getpid(), 0.0)
    hung.hold(mine, OpenFile(reading))
    assert [] == hung.stacks([mine], 100.0)
    os.close(writing)


def test_a_process_that_is_stopped_says_so_by_its_state(hung):
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        process.send_signal(19)  # SIGSTOP
        while "T" != (PROC / str(process.pid) / "stat").read_text().rpartition(") ")[2][0]:
            time.sleep(0.01)
        (event,) = hung.stacks([trainer(process.pid, 0.0)], 100.0)
        assert "process is stopped by a signal (state T)" == event.attributes["text"]
        process.kill()
