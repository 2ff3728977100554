"""A collector that has kept everything exits, whatever a library's thread still waits for."""

import subprocess
import sys

from tests.waiting import PATIENCE_SECONDS

HANGS = """
import threading
from rankscope.collector.process import ending

def waits_for_nobody():
    threading.Event().wait()

threading.Thread(target=waits_for_nobody).start()
ending.within(0.5)
"""


def test_a_thread_that_never_ends_holds_up_no_exit_and_is_shown():
    done = subprocess.run(
        [sys.executable, "-c", HANGS],
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )
    assert done.returncode == 1
    assert "in waits_for_nobody" in done.stderr
