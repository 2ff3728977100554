"""`rankscope bisect`: a script that recomputes a step, and what its results settle."""

import argparse
import json
import math
import sys
from pathlib import Path
from typing import Any

from .. import asking, terminal

HELP = "write a script that recomputes a step of a job, and read what it settles"
EXTRA: str | None = None

_AFTER = 4
_OBSERVED = 32


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("job", nargs="?", help="id of the job")
    parser.add_argument("step", nargs="?", type=int, help="the step in question")
    parser.add_argument("--rank", type=int, default=0, help="rank to recompute (default: 0)")
    parser.add_argument(
        "--after", type=asking.count, default=_AFTER, metavar="N",
        help=f"steps after it that are recomputed too (default: {_AFTER})",
    )  # fmt: skip
    parser.add_argument(
        "--out", type=Path, metavar="FILE", help="the script (default: bisect-STEP.py)"
    )
    parser.add_argument("--offline", action="store_true", help="ask no collector about the step")
    parser.add_argument("--read", type=Path, metavar="RESULTS", help="say what results settle")
    parser.add_argument("--json", action="store_true", help="print the verdict as JSON")
    asking.add_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Write the script, or read results; 1 where the collector or a file cannot be read."""
    if arguments.read is not None:
        return _read(arguments.read, as_json=arguments.json)
    if arguments.job is None or arguments.step is None:
        terminal.complain("rankscope bisect: give a job and a step, or --read RESULTS")
        return 2
    from ..bisection import script  # noqa: PLC0415  for --help nothing of it is needed

    plan: dict[str, Any] = {
        "job": arguments.job, "step": arguments.step, "rank": arguments.rank,
        "after": arguments.after,
    }  # fmt: skip
    known: list[str] = []
    if not arguments.offline:
        try:
            collector = asking.CollectorClient.of(arguments)
            known = _evidence(collector, arguments.job, arguments.step)
            plan["observed"] = _losses(collector, arguments.job, arguments.step, arguments.rank)
        except asking.CollectorAnswerError as error:
            terminal.complain(f"rankscope bisect: {error}; --offline asks nobody")
            return 1
    out = arguments.out or Path(f"bisect-{arguments.step}.py")
    if out.stem in sys.stdlib_module_names:
        terminal.complain(f"rankscope bisect: a script named {out.name} hides Python's own module")
        return 2
    try:
        out.write_text(script.text(plan, known), encoding="utf-8")
    except OSError as error:
        terminal.complain(f"rankscope bisect: {error.filename}: {error.strerror}")
        return 1
    for line in known:
        print(terminal.plain(line))
    print(f"{out}: run it on the host of rank {arguments.rank}: "
          f"python {out} TRAINER.py --device cuda:0 --other-device cuda:1")  # fmt: skip
    return 0


def _read(path: Path, *, as_json: bool) -> int:
    from ..bisection import verdict  # noqa: PLC0415

    try:
        results = json.loads(path.read_text(encoding="utf-8"))
        found = verdict.of(results)
    except (OSError, ValueError) as error:
        terminal.complain(f"rankscope bisect: {path}: {error}")
        return 1
    if as_json:
        print(terminal.json_line(found.document()))
        return 0
    print(f"settled: {found.settled}")
    for reason in found.reasons:
        print(f"  {terminal.plain(reason)}")
    return 0


def _evidence(collector: asking.CollectorClient, job: str, step: int) -> list[str]:
    """Return what incidents of the job say of this step, each once."""
    found: dict[str, None] = {}
    for row in collector.every("incidents", job=job, limit=50):
        for hypothesis in collector.incident(row["id"])["root_cause"]["hypotheses"][:1]:
            for evidence in hypothesis["evidence"]:
                if f"step {step} " in f"{evidence['text']} ":
                    found[evidence["text"]] = None
    return list(found)


def _losses(collector: asking.CollectorClient, job: str, step: int, rank: int) -> dict[int, float]:
    """Return the losses that the rank reported of the steps around, by step."""
    steps, losses = (
        {
            at: value
            for series in collector.get("jobs", job, "series", metric=metric, rank=rank)["series"]
            for at, value in series["points"]
            if value is not None
        }
        for metric in ("training.step", "training.loss")
    )
    found = {
        int(number): float(losses[at])
        for at, number in steps.items()
        if at in losses and abs(number - step) <= _OBSERVED
    }
    return {number: loss for number, loss in sorted(found.items()) if math.isfinite(loss)}
