"""`python -m bench.spikes`: real runs of a tiny GPT with one fault each, and clean ones.

Two to four processes train over gloo on the CPU with the probe attached; what it sends is recorded
and replayed through the collector's pipeline. A seed draws what each run is like. One JSON line a
run, then the sums. Interrupted, the same command goes on where it stopped.
"""

import argparse
import json
import os
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from rankscope.vocabulary import tables

from . import runs, shapes
from .scoring import score
from .shapes import SpikeFault


def main() -> int:
    """Run what is missing; 1 where a training failed of itself: the figures are read by people."""
    parser = argparse.ArgumentParser(prog="python -m bench.spikes", description=__doc__)
    faults = {
        one.name: one
        for one in tables.packaged(SpikeFault, __package__ or "", "faults.toml", "fault")
    }
    parser.add_argument("--runs", type=int, help="of each fault (default: as faults.toml says)")
    parser.add_argument("--first-seed", type=int, default=1000)
    parser.add_argument("--only", action="append", choices=sorted(faults))
    parser.add_argument("--jobs", type=int, default=2, help="runs at once (default: 2)")
    parser.add_argument("--folder", type=Path, default=Path("bench-results") / "spikes")
    parser.add_argument("--replay", action="store_true", help="replay recordings, train nothing")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    file = given.folder / "runs.jsonl"
    done = {} if given.replay else {(row["fault"], row["seed"]): row for row in _rows(file)}
    counts = {name: given.runs or faults[name].runs for name in given.only or faults}
    # One of each fault after the other: an interrupted set has of all of them.
    wanted = [
        (name, given.first_seed + number)
        for number in range(max(counts.values()))
        for name, count in counts.items()
        if number < count
    ]
    missing = [key for key in wanted if key not in done]
    failed = 0
    if not given.replay:
        os.nice(5)
        os.environ["OMP_NUM_THREADS"] = "1"
        runs.prepare()
    with ThreadPoolExecutor(1 if given.replay else given.jobs) as pool:
        made = [
            pool.submit(_scored, faults[name], seed, given.folder, replay=given.replay)
            for name, seed in missing
        ]
        for key, one in zip(missing, made, strict=True):
            try:
                row = one.result()
            except runs.FailedTrainingError as error:
                failed += 1
                print(error, file=sys.stderr, flush=True)
                continue
            if row is None:
                continue
            done[key] = dict(row)
            print(json.dumps(row), file=sys.stderr, flush=True)
            if not given.replay:
                with file.open("a") as out:
                    print(json.dumps(row), file=out)
    print(json.dumps(summed([done[key] for key in wanted if key in done]), indent=1))
    return 1 if failed else 0


def _scored(
    fault: SpikeFault, seed: int, folder: Path, *, replay: bool
) -> Mapping[str, Any] | None:
    """Return the row of a run; None where there is no recording of it to replay."""
    shape = shapes.drawn(fault, seed)
    recording = folder / f"{fault.name}-{seed}.jsonl"
    if not replay:
        return score(fault, runs.run(shape, recording)).document()
    if not recording.exists():
        return None
    return score(fault, runs.of_recording(shape, recording)).document()


def summed(rows: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, int]]:
    """Return for each fault how many runs there were, and of how many cause and batch are right."""
    found: dict[str, dict[str, int]] = {}
    for row in rows:
        held = found.setdefault(row["fault"], {"runs": 0, "right": 0})
        held["runs"] += 1
        held["right"] += row["right"]
        if row["batch"] is not None:
            held["batch"] = held.get("batch", 0) + row["batch"]
    return found


def _rows(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


if __name__ == "__main__":
    sys.exit(main())
