"""`python -m rankscope.probe train.py ...`: a job with the probe attached, its code unchanged.

Also `-m package.module ...` instead of a script, and under torchrun: `torchrun ... -m
rankscope.probe train.py ...`. The same as RANKSCOPE_PROBE=1 where the wheel's start-up line is
not installed; RANKSCOPE_PROBE=0 wins over it.
"""

import os
import runpy
import sys
from pathlib import Path

from .autoload import arm


def main(arguments: list[str]) -> int:
    """Run the script or module in this process, as Python itself would."""
    if not arguments or arguments[0] in ("-h", "--help") or arguments == ["-m"]:
        print("usage: python -m rankscope.probe (SCRIPT | -m MODULE) [ARGUMENT ...]")  # noqa: T201
        return 0 if arguments and arguments[0] != "-m" else 2
    os.environ.setdefault("RANKSCOPE_PROBE", "1")
    arm()
    if arguments[0] == "-m":
        sys.argv = arguments[1:]
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
    else:
        sys.argv = arguments
        sys.path[0] = str(Path(arguments[0]).resolve().parent)
        runpy.run_path(arguments[0], run_name="__main__")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
