"""`python -m bench.timelines make`: makes the cases of a seed; `bench.worlds score` scores them."""

import argparse
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from . import cases


def main() -> int:
    """Make the cases; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m bench.timelines")
    verbs = parser.add_subparsers(dest="verb", required=True)
    make = verbs.add_parser("make", help="make the cases of a seed")
    make.add_argument("--out", type=Path, required=True, metavar="FOLDER")
    make.add_argument("--seed", type=int, required=True, help="1000 and more: held back")
    make.add_argument("--only", default="", metavar="ID", help="cases whose id holds this")
    make.add_argument("--at-most", type=int, metavar="N", help="the N smallest of each sort")
    make.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    chosen = [one for one in cases.planned(options.seed) if options.only in one.id]
    chosen = cases.smallest(chosen, options.at_most)
    folders = [options.out / one.id for one in chosen]
    with ProcessPoolExecutor(options.jobs) as pool:
        for case, _ in zip(chosen, pool.map(cases.make, chosen, folders), strict=True):
            print(case.id, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
