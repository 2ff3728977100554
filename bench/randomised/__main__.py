"""`python -m bench.randomised quiet|make`: healthy jobs of the laboratory, habits over any cases.

`bench.worlds score` scores what either writes.
"""

import argparse
import sys
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

from . import cases, quiet


def main() -> int:
    """Run a verb; return the exit code."""
    options = _options()
    with ProcessPoolExecutor(options.jobs) as pool:
        if options.verb == "quiet":
            seeds = range(options.seed, options.seed + options.cases)
            folders = [options.out / f"quiet-{seed}" for seed in seeds]
            made = pool.map(partial(quiet.make, seconds=60.0 * options.minutes), seeds, folders)
        else:
            found = sorted(path.parent for path in options.cases.glob("*/truth.json"))
            chosen = [place for place in found if options.only in place.name]
            folders = [options.out / place.name for place in chosen]
            made = pool.map(partial(cases.make, seed=options.seed), chosen, folders)
        for folder, _ in zip(folders, made, strict=True):
            print(folder.name, flush=True)
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.randomised")
    verbs = parser.add_subparsers(dest="verb", required=True)
    healthy = verbs.add_parser("quiet", help="make healthy jobs of the laboratory's simulator")
    healthy.add_argument("--cases", type=int, default=20, metavar="N")
    healthy.add_argument("--minutes", type=float, default=10.0)
    make = verbs.add_parser("make", help="draw habits over the cases of a folder")
    make.add_argument("cases", type=Path, metavar="FOLDER")
    make.add_argument("--only", default="", metavar="ID", help="cases whose id holds this")
    for parsed in (healthy, make):
        parsed.add_argument("--out", type=Path, required=True, metavar="FOLDER")
        parsed.add_argument("--seed", type=int, required=True)
        parsed.add_argument("--jobs", type=int, default=2)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
