"""Actions tried: `python -m bench.remedies [--trials N] [--seed FIRST] [--kills SHARE]`.

Each trial is a cluster of its own on a stepped clock, and a collector that is killed between any
two writes. Printed: how often what happened, and each promise that was broken; exit code 1 if any
was.
"""

import argparse
import logging
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import structlog

from . import trial


def main() -> int:
    """Run the trials one after the other."""
    parser = argparse.ArgumentParser(prog="python -m bench.remedies", description=__doc__)
    parser.add_argument("--trials", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1, help="of the first trial")
    parser.add_argument("--kills", type=float, default=0.04, help="chance of a kill at each point")
    parser.add_argument("--faulty", type=float, default=0.1, help="chance that an executor fails")
    parser.add_argument("--folder", type=Path, help="where the stores are; default: a new one")
    given = parser.parse_args()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    began, broken = time.monotonic(), 0
    sums: dict[str, Counter[str]] = {
        name: Counter() for name in ("states", "outcomes", "effects", "killed", "answers")
    }
    faults = 0
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        for seed in range(given.seed, given.seed + given.trials):
            found = trial.run(seed, Path(folder), kill_share=given.kills, faulty=given.faulty)
            for path in Path(folder).iterdir():
                path.unlink()
            faults += found.faults
            for name, counted in sums.items():
                counted.update(getattr(found, name))
            broken += bool(found.broken)
            for text in found.broken:
                print(f"seed {seed}: {text}", flush=True)
    took = time.monotonic() - began
    print(f"{given.trials} trials, {faults} faults, {took:.0f} s; broken in {broken}")
    for name, counted in sums.items():
        print(f"{name}: {', '.join(f'{key} {count}' for key, count in counted.most_common())}")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
