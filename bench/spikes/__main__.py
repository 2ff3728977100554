"""`python -m bench.spikes`: real runs of a tiny GPT with one fault each, and clean ones.

Two processes train over gloo on the CPU with the probe attached; what it sends is recorded and
replayed through the collector's pipeline. One JSON line a run, then the sums. Interrupted, the same
command goes on where it stopped.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from rankscope.vocabulary import tables

from . import runs
from .scoring import SpikeFault, score


def main() -> int:
    """Run what is missing; always 0: the figures are read by people."""
    parser = argparse.ArgumentParser(prog="python -m bench.spikes", description=__doc__)
    faults = {
        one.name: one
        for one in tables.packaged(SpikeFault, __package__ or "", "faults.toml", "fault")
    }
    parser.add_argument("--runs", type=int, default=5, help="of each fault (default: 5)")
    parser.add_argument("--first-seed", type=int, default=1000)
    parser.add_argument("--only", action="append", choices=sorted(faults))
    parser.add_argument("--folder", type=Path, default=Path("bench-results") / "spikes")
    parser.add_argument("--replay", action="store_true", help="replay recordings, train nothing")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    file = given.folder / "runs.jsonl"
    done = {} if given.replay else {(row["fault"], row["seed"]): row for row in _rows(file)}
    wanted = [
        (name, seed)
        for seed in range(given.first_seed, given.first_seed + given.runs)
        for name in given.only or faults
    ]
    for name, seed in wanted:
        if (name, seed) in done:
            continue
        recording = given.folder / f"{name}-{seed}.jsonl"
        if given.replay:
            if not recording.exists():
                continue
            run = runs.SpikeRun(name, seed, *runs.replayed(recording), recording)
        else:
            run = runs.run(name, seed, given.folder, resumes=faults[name].resumes)
        done[name, seed] = row = score(faults[name], run).document()
        print(json.dumps(row), file=sys.stderr, flush=True)
        if not given.replay:
            with file.open("a") as out:
                print(json.dumps(row), file=out)
    print(json.dumps(summed([done[key] for key in wanted if key in done]), indent=1))
    return 0


def summed(rows: list[dict[str, Any]]) -> dict[str, dict[str, int]]:
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
