"""Actions tried: `python -m bench.remedies [--trials N] [--seed FIRST] [--kills SHARE]`.

Each trial is a cluster of its own on a stepped clock, and a collector that is killed between any
two writes. Printed: how often what happened, how many actions were right, each that was not and
each that did not help with its reason, and each promise that was broken; exit code 1 if any was.
With `--into FILE` each trial is kept as a line, and those that the file has are not run again.
"""

import argparse
import logging
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import structlog

from . import trial
from .kept import KeptTrials
from .trial import TrialResult

COUNTED = ("states", "outcomes", "effects", "killed", "answers")


def main() -> int:
    """Run the trials one after the other."""
    parser = argparse.ArgumentParser(prog="python -m bench.remedies", description=__doc__)
    parser.add_argument("--trials", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1, help="of the first trial")
    parser.add_argument("--kills", type=float, default=0.04, help="chance of a kill at each point")
    parser.add_argument("--faulty", type=float, default=0.1, help="chance that an executor fails")
    parser.add_argument("--folder", type=Path, help="where the stores are; default: a new one")
    parser.add_argument("--into", type=Path, help="a file that keeps each trial, to resume from")
    given = parser.parse_args()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    began = time.monotonic()
    found = []
    for result in _results(given):
        found.append(result)
        for text in result.broken:
            print(f"seed {result.seed}: {text}", flush=True)
    _report(found, time.monotonic() - began)
    return 1 if any(result.broken for result in found) else 0


def _results(given: argparse.Namespace) -> Iterator[TrialResult]:
    kept = KeptTrials(given.into) if given.into else None
    for seed in range(given.seed, given.seed + given.trials):
        found = kept.get(seed) if kept else None
        if found is None:
            with tempfile.TemporaryDirectory(dir=given.folder) as folder:
                found = trial.run(seed, Path(folder), kill_share=given.kills, faulty=given.faulty)
            if kept:
                kept.add(found)
        yield found


def _report(found: Sequence[TrialResult], took: float) -> None:
    broken = sum(1 for result in found if result.broken)
    faults = sum(result.faults for result in found)
    print(f"{len(found)} trials, {faults} faults, {took:.0f} s; broken in {broken}")
    for name in COUNTED:
        counted = Counter[str]()
        for result in found:
            counted.update(getattr(result, name))
        print(f"{name}: {', '.join(f'{key} {count}' for key, count in counted.most_common())}")
    acted = [(result.seed, truth) for result in found for truth in result.acted]
    wrong = [(seed, truth) for seed, truth in acted if not truth.right]
    if acted:
        right = len(acted) - len(wrong)
        print(f"right: {right} of {len(acted)} actions, {right / len(acted):.4f}")
    for seed, truth in wrong:
        late = truth.late_seconds
        gone = "its reason never was there" if late is None else f"it had gone {late:.0f} s before"
        print(f"wrong: seed {seed}: {truth.what}: {gone}; {truth.outcome}")
    unhelped = Counter(truth.unhelped for _, truth in acted if truth.unhelped)
    for why, count in unhelped.most_common():
        print(f"not recovered: {why}: {count}")


if __name__ == "__main__":
    sys.exit(main())
