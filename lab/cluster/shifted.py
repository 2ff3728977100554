"""`python -m rankscope.lab.cluster.shifted SECONDS ...`: rankscope with a clock so far ahead.

The system's clock of one process cannot be set; what Python reads of it can.
"""

import sys
import time


def main() -> int:
    """Shift the clock, then run `rankscope` with the other arguments."""
    seconds = float(sys.argv.pop(1))
    real, real_ns = time.time, time.time_ns
    time.time = lambda: real() + seconds
    time.time_ns = lambda: real_ns() + int(seconds * 1e9)
    from ...cli.main import main as rankscope  # noqa: PLC0415  whatever keeps the clock has this one

    return rankscope()


if __name__ == "__main__":
    sys.exit(main())
