"""Measure runs of several sizes, fit the model, write the page."""

import argparse
import json
import sys
from dataclasses import replace
from pathlib import Path

from ..budgets.__main__ import machine
from . import messages, model, page
from .runs import SECONDS, JobSize, SizeRun, measured

SIZES = (64, 256, 1_024, 4_096, 16_384)
PERIODS = (10, 30)
SERIES_A_RANK = 37.0
CLUSTERS = (1_000, 10_000, 100_000, 1_000_000)


def main() -> int:
    """Measure, fit, write; print the runs as lines of JSON."""
    parser = argparse.ArgumentParser(prog="python -m bench.capacity", description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="ranks")
    parser.add_argument("--seconds", type=int, default=SECONDS, help="of telemetry, each run")
    parser.add_argument("--out", type=Path, help="page; default: printed")
    asked = parser.parse_args()
    if len(set(asked.sizes)) < 3:
        parser.error("--sizes: at least three different ones")
    where = machine()
    runs: list[SizeRun] = []
    for ranks in asked.sizes:
        for period in PERIODS:
            runs.append(measured(JobSize(ranks, period), seconds=asked.seconds))
            print(json.dumps(runs[-1].document()), file=sys.stderr, flush=True)
    _, others = model.largest(runs)
    fit = model.fitted(others)
    fit = replace(fit, a_message=messages.measured(fit.a_sample))
    wanted = [model.needs(fit, gpus, series_a_rank=SERIES_A_RANK, period=10.0) for gpus in CLUSTERS]
    text = page.page(runs, fit, wanted, where)
    if asked.out is None:
        print(text, end="")
    else:
        asked.out.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
