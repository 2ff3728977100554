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
from .shapes import SpikeFault, SpikeShape


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
    parser.add_argument("--layout", action="append", choices=sorted(shapes.layouts()))
    parser.add_argument("--mixed", choices=["faulty", "clean"],
                        help="draw layout and fault too, of --runs seeds (20)")  # fmt: skip
    parser.add_argument("--jobs", type=int, default=2, help="runs at once (default: 2)")
    parser.add_argument("--folder", type=Path, default=Path("bench-results") / "spikes")
    parser.add_argument("--replay", action="store_true", help="replay recordings, train nothing")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    file = given.folder / "runs.jsonl"
    done = {} if given.replay else {_key(row): row for row in _rows(file)}
    if given.mixed:
        seeds = range(given.first_seed, given.first_seed + (given.runs or 20))
        wanted = [shapes.mixed(faults, seed, clean=given.mixed == "clean") for seed in seeds]
    else:
        counts = {name: given.runs or faults[name].runs for name in given.only or faults}
        # One of each fault after the other: an interrupted set has of all of them.
        wanted = [
            shapes.drawn(faults[name], given.first_seed + number, shapes.layouts()[layout])
            for number in range(max(counts.values()))
            for name, count in counts.items()
            if number < count
            for layout in given.layout or [shapes.REPLICAS.name]
        ]
    missing = [shape for shape in wanted if _of_shape(shape) not in done]
    failed = 0
    if not given.replay:
        os.nice(5)
        os.environ["OMP_NUM_THREADS"] = "1"
        runs.prepare()
    with ThreadPoolExecutor(1 if given.replay else given.jobs) as pool:
        made = [
            pool.submit(_scored, faults[shape.fault], shape, given.folder, replay=given.replay)
            for shape in missing
        ]
        for shape, one in zip(missing, made, strict=True):
            try:
                row = one.result()
            except runs.FailedTrainingError as error:
                failed += 1
                print(error, file=sys.stderr, flush=True)
                continue
            if row is None:
                continue
            done[_of_shape(shape)] = dict(row)
            print(json.dumps(row), file=sys.stderr, flush=True)
            if not given.replay:
                with file.open("a") as out:
                    print(json.dumps(row), file=out)
    print(
        json.dumps(summed([done[key] for key in map(_of_shape, wanted) if key in done]), indent=1)
    )
    return 1 if failed else 0


def _scored(
    fault: SpikeFault, shape: SpikeShape, folder: Path, *, replay: bool
) -> Mapping[str, Any] | None:
    """Return the row of a run; None where there is no recording of it to replay."""
    of = "" if shape.layout == shapes.REPLICAS.name else f"{shape.layout}-"
    recording = folder / f"{of}{fault.name}-{shape.seed}.jsonl"
    if not replay:
        return score(fault, runs.run(shape, recording)).document()
    if not recording.exists():
        return None
    return score(fault, runs.of_recording(shape, recording)).document()


def _key(row: Mapping[str, Any]) -> tuple[str, str, int]:
    return row.get("layout", shapes.REPLICAS.name), row["fault"], row["seed"]


def _of_shape(shape: SpikeShape) -> tuple[str, str, int]:
    return shape.layout, shape.fault, shape.seed


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
