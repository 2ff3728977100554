"""A check's child that is stopped for a share of its time, as by a quota or the hypervisor.

`python -m bench.checks.slowed SHARE`: order and answer pass through. It counts in time that it had
a CPU: beside others, who take most of them, a clock would stop it where it stands already.
"""

import signal
import sys
import time

from rankscope.checks import worker

_PERIOD_SECONDS = 0.05


def main() -> int:
    """Run the child; return its exit code."""
    share = float(sys.argv.pop())
    signal.signal(signal.SIGPROF, lambda *_: time.sleep(share * _PERIOD_SECONDS))
    running = (1 - share) * _PERIOD_SECONDS
    signal.setitimer(signal.ITIMER_PROF, running, running)
    return worker.main()


if __name__ == "__main__":
    sys.exit(main())
