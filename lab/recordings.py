"""Writes simulated recordings to files, and lists what can be simulated."""

import gzip
import io
import json
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from ..vocabulary.times import rfc3339
from .simulator import recording, scenarios
from .simulator.shape import ScenarioError


def show(*, as_json: bool) -> int:
    """Print the scenarios; return the exit code."""
    for scenario in scenarios.catalogue().values():
        kind = scenario.fault["kind"] if scenario.fault else None
        if as_json:
            row = {
                "type": "scenario",
                "name": scenario.name,
                "text": scenario.text,
                "fault": kind,
                "seconds": scenario.seconds,
                "hosts": scenario.cluster.hosts,
                "slots": scenario.cluster.slots,
            }
            print(json.dumps(row))
        else:
            print(f"{scenario.name:<28} {scenario.text}")
    return 0


def record(name: str, *, out: Path, seed: int, as_json: bool) -> int:
    """Simulate a scenario into a file and print the truth about it; return the exit code."""
    begun = time.monotonic()
    try:
        made = recording.simulate(scenarios.named(name), seed)
    except ScenarioError as error:
        print(error, file=sys.stderr)
        return 2
    try:
        lines, size = write(made, out, progress=sys.stderr)
    except OSError as error:
        print(f"{out}: {error.strerror}", file=sys.stderr)
        return 1
    truth = made.truth and {
        "fault": made.truth.fault,
        "entity": made.truth.entity.document(),
        "job": made.truth.job,
        "onset": rfc3339(made.truth.onset),
    }
    if as_json:
        print(json.dumps({"scenario": name, "seed": seed, "file": str(out), "truth": truth}))
        return 0
    seconds = time.monotonic() - begun
    print(f"{out}: {made.samples:,} samples in {lines:,} lines, {size:,} bytes, {seconds:.1f} s")
    if made.truth is None:
        print("truth: nothing is wrong")
    else:
        print(f"truth: {made.truth.fault} at {made.truth.entity} since {rfc3339(made.truth.onset)}")
    return 0


def write(made: recording.Recording, out: Path, *, progress: TextIO | None) -> tuple[int, int]:
    """Write a recording's lines; return how many, and the size of the file in bytes.

    The same recording gives the same bytes, compressed or not. Raises OSError as files do.
    """
    count, valid = 0, time.monotonic()
    with opened(out) as file:
        for line in made.lines():
            file.write(line)
            file.write("\n")
            count += 1
            if progress is not None and progress.isatty() and time.monotonic() - valid > 0.5:
                valid = time.monotonic()
                print(f"\r{out.name}: {count:,} lines", end="", file=progress, flush=True)
    if progress is not None and progress.isatty():
        print("\r\033[K", end="", file=progress, flush=True)
    return count, out.stat().st_size


@contextmanager
def opened(out: Path) -> Generator[TextIO, None, None]:
    """Open a recording for writing; compressed when its name ends in .gz."""
    if out.suffix != ".gz":
        with out.open("w", encoding="utf-8", newline="\n") as file:
            yield file
        return
    # No name and no time in the header: the same recording, the same bytes.
    with (
        out.open("wb") as raw,
        gzip.GzipFile(filename="", fileobj=raw, mode="wb", mtime=0, compresslevel=6) as packed,
        io.TextIOWrapper(packed, encoding="utf-8", newline="\n") as file,
    ):
        yield file
