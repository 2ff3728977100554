"""Busy neighbours: processes that compute nothing, for ever, on the CPUs they are given.

`python -m rankscope.lab.jobs.neighbours COUNT` keeps COUNT processes busy until it is reported to
stop, or until whoever started it is gone.
"""

import os
import signal
import sys
import time
from types import FrameType


def _burn(parent: int) -> None:
    """Keep a CPU busy while the parent lives."""
    # A session of its own: where the kernel shares CPU time out by session (autogroup), one
    # session of twenty loops would only weigh as much as one rank.
    os.setsid()
    while os.getppid() == parent:
        begun = time.monotonic()
        while time.monotonic() - begun < 0.5:
            sum(range(2000))
    os._exit(0)


def main(count: int) -> int:
    """Start the loops and stay until a signal or the end of the starter."""
    starter, children = os.getppid(), []

    def stop(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
        raise SystemExit(0)

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    try:
        for _ in range(count):
            me = os.getpid()
            child = os.fork()
            if child == 0:
                signal.signal(signal.SIGTERM, signal.SIG_DFL)
                signal.signal(signal.SIGINT, signal.SIG_IGN)
                _burn(me)
            children.append(child)
        while os.getppid() == starter:
            time.sleep(0.2)
    finally:
        for child in children:
            os.kill(child, signal.SIGKILL)
    return 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1])))
