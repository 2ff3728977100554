"""A check's child that is stopped for a share of each tenth of a second, as by a quota.

`python -m bench.checks.slowed SHARE`: order and answer pass through.
"""

import os
import signal
import subprocess
import sys
import time

from rankscope.checks import children

_PERIOD_SECONDS = 0.1


def main() -> int:
    """Run the child; return its exit code."""
    share = float(sys.argv[1])
    environment = {**os.environ, "RANKSCOPE_CHECK_PARENT": str(os.getpid())}
    with subprocess.Popen(children.CHILD, env=environment) as process:
        while process.poll() is None:
            process.send_signal(signal.SIGSTOP)
            time.sleep(share * _PERIOD_SECONDS)
            process.send_signal(signal.SIGCONT)
            time.sleep((1 - share) * _PERIOD_SECONDS)
    return process.returncode


if __name__ == "__main__":
    sys.exit(main())
