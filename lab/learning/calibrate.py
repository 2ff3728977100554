"""`rankscope lab learn --calibrate`: fits the curve of probabilities, the weights as they are.

To cases of suite `fresh` that nobody tuned on; healthy ones too, since a false incident is a wrong
answer.
"""

import json
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from ...alerts.causes.calibration import UNCALIBRATED, Calibration
from ...alerts.causes.catalogue import Catalogue, catalogue
from .. import suites
from ..scoring import pictures, ranked
from ..suites import Case, SuiteError
from . import applying, calibrating, collecting
from .calibrating import Answer, Calibrated

SEEDS = (20261210, 20261211)


@dataclass(frozen=True, slots=True)
class Options:
    """What was asked on the command line; `picture` is where the reliability is drawn."""

    results: Path
    seeds: tuple[int, ...] = SEEDS
    version: str = ""
    write: bool = False
    as_json: bool = False
    collected_only: bool = False
    picture: Path | None = None


def calibrate(options: Options) -> int:
    """Collect, fit, print what held-out answers say; return the exit code."""
    knowledge = catalogue()
    try:
        rows = list(answers(options, knowledge))
    except (OSError, SuiteError) as error:
        print(error, file=sys.stderr)
        return 1
    if not any(row.right for row in rows) or all(row.right for row in rows):
        print(f"{options.results}: needs right and wrong answers", file=sys.stderr)
        return 1
    cases = f"{len(rows)} answers of fresh {', '.join(map(str, options.seeds))}"
    tried = calibrating.calibrated(rows)
    fitted = calibrating.fitted(rows, tried[0], knowledge.calibration or UNCALIBRATED, cases)
    document = _document(rows, tried, fitted)
    print(json.dumps(document) if options.as_json else _text(document))
    if options.picture is not None:
        options.picture.write_text(pictures.reliability(document["reliability"]), encoding="utf-8")
    if options.write:
        folder = Path(str(resources.files("rankscope.alerts.causes")))
        version = options.version or knowledge.version
        for path in applying.write(folder, {}, fitted, version):
            print(f"wrote {path}", file=sys.stderr)
    return 0


def answers(options: Options, knowledge: Catalogue) -> Iterator[Answer]:
    """Yield the answers of every case of the seeds. Raises OSError, SuiteError."""
    for tracked in collecting.collected(_cases(options), options.results):
        yield from calibrating.answers(tracked, knowledge)


def _cases(options: Options) -> list[Case]:
    drawn = [
        case
        for seed in options.seeds
        for case in suites.draw(suites.suite("fresh"), seed=seed)
        if case.fault is None or case.observable
    ]
    if options.collected_only:
        drawn = [case for case in drawn if collecting.file(case, options.results).exists()]
    return drawn


def _document(rows: list[Answer], tried: list[Calibrated], fitted: Calibration) -> dict[str, Any]:
    pairs = calibrating.said_held_out(rows, calibrating.FITS[tried[0].name])
    sure = [right for chance, right in pairs if chance >= fitted.high]
    return {
        "answers": len(rows),
        "wrong": sum(not row.right for row in rows),
        "tried": [
            {"curve": row.name, "loss": round(row.loss, 4), "error": round(row.error, 4)}
            for row in tried
        ],
        "curve": [list(knot) for knot in fitted.curve],
        "high": fitted.high,
        "held_out_high": len(sure),
        "held_out_high_wrong": sure.count(False),
        "reliability": [
            {"from": row.low, "to": row.high, "incidents": row.count,
             "probability": round(row.probability, 4), "right": round(row.right, 4)}
            for row in ranked.binned(pairs)
        ],
    }  # fmt: skip


def _text(document: dict[str, Any]) -> str:
    sure, wrong = document["held_out_high"], document["held_out_high_wrong"]
    lines: Iterable[str] = (
        f"{document['answers']} first causes, {document['wrong']} of them wrong",
        "curve: loss (nats an answer), calibration error, on faults held out",
        *(f"  {row['curve']}: {row['loss']:.4f}, {row['error']:.3f}" for row in document["tried"]),
        f"high confidence from a probability of {document['high']:g}",
        f"  wrong, faults held out: {wrong} of {sure}",
        *(f"  lead {lead:g}: {chance:g}" for lead, chance in document["curve"]),
    )
    return "\n".join(lines)
