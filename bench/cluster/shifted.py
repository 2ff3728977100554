"""`python -m bench.cluster.shifted SECONDS ...`: rankscope with a clock so far ahead.

The system's clock of one process cannot be set; what Python reads of it can.
"""

import runpy
import sys
import time


def main() -> None:
    """Shift the clock, then run `rankscope` with the other arguments."""
    seconds = float(sys.argv.pop(1))
    real, real_ns = time.time, time.time_ns
    time.time = lambda: real() + seconds
    time.time_ns = lambda: real_ns() + int(seconds * 1e9)
    runpy.run_module("rankscope.cli.main", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
