"""Writes simulated recordings to files, and lists what can be simulated."""

import gzip
import io
import json
import os
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from ..vocabulary.times import rfc3339
from . import phases
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
        scenario = scenarios.named(name)
        with phases.phase(f"simulating {name}", sys.stderr):
            made = recording.simulate(scenario, seed)
        lines, size = write(made, out, progress=sys.stderr)
    except ScenarioError as error:
        print(error, file=sys.stderr)
        return 2
    except OSError as error:
        print(f"{out}: {error.strerror}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return stopped(out)
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


def write(
    made: recording.SimulatedRecording, out: Path, *, progress: TextIO | None
) -> tuple[int, int]:
    """Write a recording's lines; return how many, and the size of the file in bytes.

    The same recording gives the same bytes, compressed or not. Raises OSError as files do.
    """
    shows = progress is not None and progress.isatty()
    count, shown = 0, time.monotonic()
    try:
        with opened(out) as file:
            for line in made.lines():
                file.write(line)
                file.write("\n")
                count += 1
                if shows and time.monotonic() - shown > 0.5:
                    shown = time.monotonic()
                    print(f"\r{out.name}: {count:,} lines", end="", file=progress, flush=True)
    finally:
        if shows:
            print("\r\033[K", end="", file=progress, flush=True)
    return count, out.stat().st_size


def stopped(unwritten: Path | None) -> int:
    """Say that Ctrl-C ended the work, and which file is not there; return the exit code."""
    print("stopped" + (f"; {unwritten} was not written" if unwritten else ""), file=sys.stderr)
    return 130


@contextmanager
def opened(out: Path) -> Generator[TextIO, None, None]:
    """Open a recording for writing; compressed when its name ends in .gz.

    It gets its name once it is complete: a block that is left by an exception leaves no file, and
    one that was there before as it was.
    """
    target = out.resolve()
    if target.exists() and not target.is_file():
        # A pipe is written as it is; and what cannot be written says so when it is opened.
        with _opened(target, packed=out.suffix == ".gz") as file:
            yield file
        return
    partial = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        with _opened(partial, packed=out.suffix == ".gz") as file:
            yield file
        partial.replace(target)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


@contextmanager
def _opened(path: Path, *, packed: bool) -> Generator[TextIO, None, None]:
    if not packed:
        with path.open("w", encoding="utf-8", newline="\n") as file:
            yield file
        return
    # No name and no time in the header: the same recording, the same bytes.
    with (
        path.open("wb") as raw,
        gzip.GzipFile(filename="", fileobj=raw, mode="wb", mtime=0, compresslevel=6) as zipped,
        io.TextIOWrapper(zipped, encoding="utf-8", newline="\n") as file,
    ):
        yield file
