"""Real loss curves through the detectors of numbers/: what is found, and what is falsely raised.

`python -m bench.curves DATA_FOLDER` reads curves/*.parquet and the labels beside them (they
are no part of this project) and prints a table in Markdown. Each report is seen in order, as a
collector sees it, with default parameters, the same for every run; of findings closer than `JOINED`
reports one episode is made. An episode is true where a labelled event lies in it.
"""

import argparse
import csv
import importlib
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from rankscope.detectors.baselines import JobBaselines
from rankscope.detectors.compute_time import STEP
from rankscope.detectors.numbers import DETECTORS
from rankscope.detectors.sketch import START, sketch
from rankscope.detectors.window import Floats, Ints, StepValues
from rankscope.vocabulary import findings as kinds

FILES = {"megatron_runs.parquet": "training.loss", "nanogpt_runs.parquet": "training.loss|local"}
"""The tables, and what their losses are: unknown in Megatron's log, rank 0's own micro batch."""

HELD, EVERY, JOINED, BASELINE = 512, 10, 20, 100
"""Reports that a window holds; every how many reports it is evaluated (a finding lasts longer);
reports without a finding that part two episodes; reports that a baseline is made of."""

LABEL = "loss_spike"

SHOWN = ("job.loss_spike", "job.loss_diverged", "job.loss_plateau", "job.nonfinite")
"""What a single loss per report can show: the runs have no gradient norms, ranks or attempts."""


@dataclass(slots=True)
class CurveRun:
    """One run: step indices, losses and step times (s), and the steps of labelled spikes."""

    name: str
    plane: str
    index: Ints
    loss: Floats
    seconds: Floats
    labels: list[int] = field(default_factory=list)


@dataclass(slots=True)
class MethodCount:
    """What one method gave on all runs: labelled events found, false episodes."""

    found: int = 0
    false: int = 0
    critical: int = 0
    """False episodes that page somebody: above information."""


def runs(folder: Path) -> Iterator[CurveRun]:
    parquet = importlib.import_module("pyarrow.parquet")  # no dependency of ours

    labels: dict[str, list[int]] = {}
    with (folder / "curves" / "megatron_labels.csv").open(encoding="utf-8") as lines:
        for row in csv.DictReader(lines):
            if row["kind"] == LABEL:
                labels.setdefault(row["run"], []).append(int(row["start"]))
    for file, plane in FILES.items():
        table: dict[str, Any] = parquet.read_table(folder / "curves" / file).to_pydict()
        name = np.array(table["run"])
        scale = 1.0 if "step_s" in table else 1e-3
        seconds = np.array(table.get("step_s") or table["step_ms"], np.float64) * scale
        for run in dict.fromkeys(table["run"]):
            mine = name == run
            yield CurveRun(
                run,
                plane,
                np.array(table["step"], np.int64)[mine],
                np.array(table["loss"], np.float64)[mine],
                np.nan_to_num(seconds[mine], nan=float(np.nanmedian(seconds[mine]))),
                labels.get(run, []),
            )


def episodes(run: CurveRun) -> dict[str, list[tuple[int, int]]]:
    """Return, by kind of finding, the reports [first, last] of the onsets of what was found."""
    between = np.diff(run.index, prepend=run.index[:1] - 1)
    at = START + np.cumsum(run.seconds * np.maximum(between, 1))
    held = JobBaselines()
    shape = sketch(np.ones((1, 1)), hosts=1)
    found: dict[str, list[list[int]]] = {}
    for end in range(1, len(at) + 1, EVERY):
        part = slice(max(end - HELD, 0), end)
        planes = {run.plane: run.loss[None, part], STEP: run.seconds[None, part]}
        steps = StepValues(run.index[part], at[None, part], planes)
        window = replace(shape, steps=steps, now=float(at[end - 1]), held_baselines=held)
        held.record(window.features)
        for finding in (one for detector in DETECTORS for one in detector.evaluate(window)):
            onset = int(np.searchsorted(at, finding.onset[1]))
            held_by = found.setdefault(finding.kind, [])
            if held_by and onset - held_by[-1][1] <= JOINED:
                held_by[-1][1] = max(onset, held_by[-1][1])
            else:
                held_by.append([onset, onset])
    return {kind: [(first, last) for first, last in rows] for kind, rows in found.items()}


def deviations(loss: Floats, sigmas: float) -> list[tuple[int, int]]:
    """Return the reports above mean + so many standard deviations of the 100 before, joined."""
    if len(loss) <= BASELINE:
        return []
    past = sliding_window_view(loss[:-1], BASELINE)
    odd = np.flatnonzero(loss[BASELINE:] > past.mean(axis=1) + sigmas * past.std(axis=1))
    rows: list[tuple[int, int]] = []
    for place in (odd + BASELINE).tolist():
        if rows and place - rows[-1][1] <= JOINED:
            rows[-1] = (rows[-1][0], place)
        else:
            rows.append((place, place))
    return rows


def score(
    run: CurveRun, rows: Sequence[tuple[int, int]], count: MethodCount, *, above_info: bool
) -> None:
    labelled = [int(np.searchsorted(run.index, step)) for step in run.labels]
    hits = {place for place in labelled for first, last in rows if first - 1 <= place <= last + 1}
    true = sum(any(first - 1 <= place <= last + 1 for place in labelled) for first, last in rows)
    count.found += len(hits)
    count.false += len(rows) - true
    count.critical += (len(rows) - true) * above_info


def table(every: Sequence[CurveRun]) -> str:
    """Return the table: by set of runs and method, what was found and what is false."""
    heads = ("runs", "reports", "method", "labelled spikes found", "false episodes",
             "per 10,000 reports", "of these above info")  # fmt: skip
    lines = [f"| {' | '.join(heads)} |", "|" + " --- |" * len(heads)]
    for file, plane in FILES.items():
        mine = [run for run in every if run.plane == plane]
        reports = sum(len(run.loss) for run in mine)
        labels = sum(len(run.labels) for run in mine)
        counts = {kind: MethodCount() for kind in SHOWN}
        naive = {f"mean + {sigmas} sd": MethodCount() for sigmas in (3, 6)}
        for run in mine:
            given = episodes(run)
            for kind, count in counts.items():
                harmful = kinds.catalogue()[kind].effect != "none"
                score(run, given.get(kind, []), count, above_info=harmful)
            for sigmas in (3, 6):
                rows = deviations(run.loss, float(sigmas))
                score(run, rows, naive[f"mean + {sigmas} sd"], above_info=True)
        for method, count in [*counts.items(), *naive.items()]:
            spikes = method == "job.loss_spike" or method in naive
            lines.append(
                f"| {file.partition('_')[0]} ({len(mine)}) | {reports:,} | {method} | "
                f"{f'{count.found} of {labels}' if labels and spikes else '-'} | {count.false} | "
                f"{count.false / max(reports, 1) * 1e4:.2f} | {count.critical} |"
            )
    return "\n".join(lines)


def main(words: Sequence[str]) -> int:
    """Print the table of a data folder; return the exit code."""
    parser = argparse.ArgumentParser(prog="bench.curves", description=__doc__)
    parser.add_argument("folder", type=Path, help="where curves/ lies")
    chosen = parser.parse_args(words)
    try:
        every = list(runs(chosen.folder))
    except (OSError, ImportError) as error:
        print(f"cannot read the curves: {error}", file=sys.stderr)
        return 1
    print(table(every))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
