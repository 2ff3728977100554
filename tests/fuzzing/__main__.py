"""Search for inputs that any decoder fails on: `python -m tests.fuzzing --minutes 60 --to FOLDER`.

Each decoder has a slice of CPU time in a process of its own, in turn until the time is over; what
one slice found is where the next begins. Needs the package atheris.
"""

import argparse
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import atheris  # type: ignore[import-untyped]  # it has none
from tests.fuzzing import search

with atheris.instrument_imports(include=["rankscope"]):
    from tests.fuzzing.decoders import DECODERS


def main() -> int:
    """Run until the time is over; return 1 where something failed."""
    arguments = argparse.ArgumentParser(prog="python -m tests.fuzzing", description=__doc__)
    arguments.add_argument("--minutes", type=float, default=60.0)
    arguments.add_argument("--slice", type=float, default=10.0, metavar="SECONDS")
    arguments.add_argument("--only", action="append", metavar="DECODER")
    arguments.add_argument("--to", type=Path, required=True, metavar="FOLDER")
    given = arguments.parse_args()
    chosen = [one for one in DECODERS if not given.only or one.name in given.only]
    ends = time.monotonic() + given.minutes * 60
    while time.monotonic() < ends:
        for decoder in chosen:
            if time.monotonic() < ends:
                _slice(decoder, given.to / decoder.name, given.slice)
    failed = sorted(given.to.glob("*/failures/*"))
    print(f"{len(failed)} files of failures in {given.to}")  # noqa: T201
    return 1 if failed else 0


def _slice(decoder: Any, folder: Path, seconds: float) -> None:
    """Search in a child, which has all modules already."""
    folder.mkdir(parents=True, exist_ok=True)
    counts, slices = folder / "counts.json", folder / "slices.jsonl"
    counts.unlink(missing_ok=True)
    child = os.fork()
    if not child:
        with (folder / "output.log").open("wb") as output:
            os.dup2(output.fileno(), 1)
            os.dup2(output.fileno(), 2)
        search.search(decoder, folder, seconds)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    row = json.loads(counts.read_text()) if counts.exists() else {}
    with slices.open("a") as file:
        file.write(json.dumps({"status": status, **row}) + "\n")
    rows = [json.loads(line) for line in slices.read_text().splitlines()]
    inputs = sum(row.get("inputs", 0) for row in rows)
    failures = len(list((folder / "failures").glob("*")))
    said = f"{decoder.name}: {inputs} inputs, {failures} files of failures, status {status}"
    print(time.strftime("%H:%M:%S"), said, flush=True)  # noqa: T201


if __name__ == "__main__":
    sys.exit(main())
