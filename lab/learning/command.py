"""`rankscope lab learn`: collects cases, learns the catalogue's numbers, says what changed.

Only `tuning` and `fresh` are ever learned from. What is learned is kept where it makes held-out
faults and held-out shapes both likelier and no first cause worse; the probability's temperature is
fitted in any case, to what the held-out cases show.
"""

import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from importlib import resources
from pathlib import Path

from ...alerts.causes.calibration import UNCALIBRATED
from ...alerts.causes.catalogue import Catalogue, catalogue
from .. import suites
from ..suites import Case, SuiteError
from . import applying, collecting, examples, validation
from .examples import Example
from .options import Options
from .parameters import Parameter, values
from .validation import HeldOut, Learner

SEEDS = (11, 12)

FIXED = ("prior", "scope")
"""What is not learned: the laboratory draws every fault equally often, and clusters do not; and how
well ranks are covered is geometry, of which few cases show much."""

LEARNERS = (
    Learner("shared", 5.0, FIXED),
    Learner("shared", 20.0, FIXED),
    Learner("single", 40.0, FIXED),
)
"""What is tried. Run tests/alerts/causes after --write: held-out cases have no say over physics."""

BETTER = 1e-3
"""Nats a case by which held-out cases must become likelier."""


def learn(options: Options) -> int:
    """Collect, learn, and print what is gained; return the exit code."""
    knowledge = catalogue()
    try:
        found = learnt_from(options, knowledge)
    except (OSError, SuiteError) as error:
        print(error, file=sys.stderr)
        return 1
    if not found:
        print(f"{options.results}: no case is collected", file=sys.stderr)
        return 1
    before = Learner(None)
    tried = {
        learner: {
            by: validation.held_out(found, knowledge, learner, by) for by in validation.HELD_OUT
        }
        for learner in (before, *LEARNERS)
    }
    best = chosen(tried, before)
    fit = best.learn(found, knowledge)
    numbers = applying.learned(knowledge, fit.multipliers)
    temperature = round(sum(row.temperature for row in tried[best].values()) / len(tried[best]), 2)
    cases = f"{len(found)} of tuning, fresh {', '.join(map(str, options.seeds))}"
    fitted = replace(knowledge.calibration or UNCALIBRATED, temperature=temperature, cases=cases)
    changes = changed(knowledge, numbers)
    if options.as_json:
        print(json.dumps(_document(tried, best, temperature, changes)))
    else:
        _show(tried, best, temperature, changes)
    if options.write:
        folder = Path(str(resources.files("rankscope")))
        version = options.version or knowledge.version
        for path in applying.write(folder, numbers, fitted, version):
            print(f"wrote {path}", file=sys.stderr)
    return 0


def learnt_from(options: Options, knowledge: Catalogue) -> list[Example]:
    """Return the examples of every suite that may be learned from. Raises OSError, SuiteError."""
    drawn: list[Case] = suites.draw(suites.suite("tuning"))
    for seed in options.seeds:
        drawn += suites.draw(suites.suite("fresh"), seed=seed)
    faulty = [case for case in drawn if case.fault is not None and case.observable]
    if options.collected_only:
        faulty = [case for case in faulty if collecting.file(case, options.results).exists()]
    found: list[Example] = []
    for number, tracked in enumerate(collecting.collected(faulty, options.results), start=1):
        if number % 50 == 0:
            print(f"{number} of {len(faulty)} cases", file=sys.stderr, flush=True)
        if (row := examples.example(tracked, knowledge)) is not None:
            found.append(row)
    return found


def chosen(tried: dict[Learner, dict[str, HeldOut]], before: Learner) -> Learner:
    """Return the learner whose held-out cases are likeliest, `before` where none helps on all."""
    good = [
        learner
        for learner, rows in tried.items()
        if all(
            row.loss <= tried[before][by].loss - BETTER and row.first >= tried[before][by].first
            for by, row in rows.items()
        )
    ]
    return min(good, key=lambda learner: sum(row.loss for row in tried[learner].values()),
               default=before)  # fmt: skip


def changed(
    knowledge: Catalogue, numbers: dict[Parameter, float]
) -> list[tuple[Parameter, float, float]]:
    """Return what changes by more than a hundredth: parameter, before, after."""
    held = values(knowledge)
    return [
        (parameter, held[parameter], value)
        for parameter, value in numbers.items()
        if abs(value - held[parameter]) > 0.01
    ]


def _document(
    tried: dict[Learner, dict[str, HeldOut]],
    best: Learner,
    temperature: float,
    changes: Sequence[tuple[Parameter, float, float]],
) -> dict[str, object]:
    return {
        "tried": [
            {
                "learner": str(learner),
                "held_out_by": by,
                "loss": round(row.loss, 4),
                "first": round(row.first, 4),
                "calibration_error": round(row.calibration_error, 4),
                "temperature": round(row.temperature, 3),
            }
            for learner, rows in tried.items()
            for by, row in rows.items()
        ],
        "chosen": str(best),
        "temperature": temperature,
        "changes": [
            {"parameter": list(parameter), "before": before, "after": after}
            for parameter, before, after in changes
        ],
    }


def _show(
    tried: dict[Learner, dict[str, HeldOut]],
    best: Learner,
    temperature: float,
    changes: Sequence[tuple[Parameter, float, float]],
) -> None:
    print("learner, held out by: loss (nats a case), first cause right, calibration error")
    for learner, rows in tried.items():
        for by, row in rows.items():
            print(
                f"  {learner}, {by}: {row.loss:.4f}, {row.first:.3f}, {row.calibration_error:.3f} "
                f"at temperature {row.temperature:.2f}"
            )
    print(f"chosen: {best}; temperature {temperature:g}")
    for parameter, before, after in changes:
        where = " ".join(str(part) for part in parameter if part != "")
        print(f"  {where}: {before:g} -> {after:g}")
