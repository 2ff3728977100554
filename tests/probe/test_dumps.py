"""The stack that a process leaves when no thread of it can run any more."""

import subprocess
import sys

from rankscope.agent.hung import main_thread
from rankscope.probe.dumps import StackDumps, refused

HOLDS = """
import ctypes, faulthandler, os, sys, time
from rankscope.probe import dumps

dumps.TIMEOUT_SECONDS = 0.3
file = dumps.StackDumps().beat()

def hold():
    ctypes.PyDLL(None).sleep(1)

hold()
sys.stdout.buffer.write(os.pread(file, 65536, 0))
"""


def test_the_main_threads_stack_is_there_while_the_interpreters_lock_is_held():
    done = subprocess.run([sys.executable, "-c", HOLDS], capture_output=True, check=True)
    stack = main_thread(done.stdout.decode())
    assert "hold (<string>:" in stack.splitlines()[-1]


YIELDS = """
import faulthandler
from rankscope.probe import dumps

made = dumps.StackDumps()
assert made.beat() is not None
original = faulthandler.dump_traceback_later
faulthandler.dump_traceback_later(1000)
assert made.beat() is None, "the job's own watchdog stays set"
assert faulthandler.dump_traceback_later is not original
faulthandler.cancel_dump_traceback_later()
made.close()
"""


def test_a_job_that_uses_the_watchdog_itself_keeps_it():
    subprocess.run([sys.executable, "-c", YIELDS], check=True)


def test_it_can_be_turned_off_and_closed_twice():
    assert refused({"RANKSCOPE_STACKS": "0"})
    assert not refused({})
    made = StackDumps()
    made.close()
    made.close()
    assert made.beat() is None
