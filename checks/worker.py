"""The child process of one check: an order on standard input, measured rows on standard output.

`python -m rankscope.checks.worker`; with an argument it is one more rank of an all-reduce.
"""

import contextlib
import ctypes
import json
import os
import resource
import signal
import sys

from .measurements import MEASUREMENTS, collectives
from .measurements.rows import CheckOrder

_MOST_FILE = 1 << 30
_PARENT_ENDS = 1
"""PR_SET_PDEATHSIG of prctl(2)."""
_PARENT = "RANKSCOPE_CHECK_PARENT"
_VARIABLES = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT", "RANKSCOPE_PROBE")
"""A check is no rank of the job whose variables it inherited."""


def main() -> int:
    """Measure; what it writes beside the rows goes to standard error."""
    _bounded()
    for name in _VARIABLES:
        os.environ.pop(name, None)
    if len(sys.argv) > 1:
        rank, size, port, index, order = json.loads(sys.argv[1])
        collectives.as_rank(rank, size, port, index, CheckOrder.read(order))
        return 0
    order = CheckOrder.read(json.loads(sys.stdin.readline()))
    answer = os.dup(1)
    os.dup2(2, 1)  # libraries print what they like
    rows = MEASUREMENTS[order.check](order)
    os.write(answer, json.dumps([row.document() for row in rows]).encode() + b"\n")
    return 0


def _bounded() -> None:
    """End with the parent, write no core and no large file, and let others go first."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PARENT_ENDS, signal.SIGKILL)
    parent = os.environ.pop(_PARENT, "")
    if parent and str(os.getppid()) != parent:
        sys.exit(1)  # it was gone before this process asked
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (_MOST_FILE, _MOST_FILE))


if __name__ == "__main__":
    sys.exit(main())
