"""`rankscope lab learn --calibrate`: fits the curve of probabilities, the weights as they are.

To cases of suite `fresh` that nobody tuned on; healthy ones too, since a false incident is a wrong
answer.
"""

import json
import sys
from collections.abc import Iterator
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
from .options import Options

SEEDS = (20261210, 20261211)


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
        folder = Path(str(resources.files("rankscope")))
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
    pairs = {
        by: calibrating.said_held_out(rows, calibrating.FITS[tried[0].name], by)
        for by in calibrating.HELD_OUT
    }
    sure = {
        by: [right for chance, right in said if chance >= fitted.high] for by, said in pairs.items()
    }
    return {
        "answers": len(rows),
        "wrong": sum(not row.right for row in rows),
        "tried": [
            {
                "curve": row.name,
                "loss": {by: round(value, 4) for by, value in row.losses.items()},
                "error": {by: round(value, 4) for by, value in row.errors.items()},
            }
            for row in tried
        ],
        "curve": [list(knot) for knot in fitted.curve],
        "high": fitted.high,
        "held_out_high": {by: len(said) for by, said in sure.items()},
        "held_out_high_wrong": {by: said.count(False) for by, said in sure.items()},
        "reliability": [
            {"from": row.low, "to": row.high, "incidents": row.count,
             "probability": round(row.probability, 4), "right": round(row.right, 4)}
            for row in ranked.binned(pairs["shape"])
        ],
    }  # fmt: skip


def _text(document: dict[str, Any]) -> str:
    lines = [
        f"{document['answers']} first causes, {document['wrong']} of them wrong",
        "curve, held out by: loss (nats an answer), calibration error",
        *(
            f"  {row['curve']}, {by}: {row['loss'][by]:.4f}, {row['error'][by]:.3f}"
            for row in document["tried"]
            for by in row["loss"]
        ),
        f"high confidence from a probability of {document['high']:g}",
        *(
            f"  wrong, held out by {by}: {wrong} of {document['held_out_high'][by]}"
            for by, wrong in document["held_out_high_wrong"].items()
        ),
        *(f"  lead {lead:g}: {chance:g}" for lead, chance in document["curve"]),
    ]
    return "\n".join(lines)
