"""`python -m bench.calibration`: fits the curve of probabilities, the weights as they are.

To cases of suite `fresh` that nobody tuned on, and to those of other generators; healthy ones too,
since a false incident is a wrong answer.
"""

import argparse
import json
import sys
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Any

from bench.worlds.replays import ReplayError
from rankscope.alerts.causes.calibration import UNCALIBRATED, ProbabilityCalibration
from rankscope.alerts.causes.catalogue import CauseCatalogue, catalogue
from rankscope.lab import suites
from rankscope.lab.scoring import pictures, ranked
from rankscope.lab.suites import SuiteCase, SuiteError

from .. import kept_cases
from . import catalogue_file, collecting, curves, elsewhere
from .curves import CalibratedCurve, CalibrationAnswer

SEEDS = (20261210, 20261211)


def main() -> int:
    """Collect, fit, print what held-out answers say; return the exit code."""
    options = _options()
    knowledge = catalogue()
    try:
        rows = list(answers(options, knowledge))
    except (OSError, SuiteError, ReplayError) as error:
        print(error, file=sys.stderr)
        return 1
    if not any(row.right for row in rows) or all(row.right for row in rows):
        print(f"{options.results}: needs right and wrong answers", file=sys.stderr)
        return 1
    drawn = [f"fresh {seed}" for seed in options.seed] + [one.name for one in options.world]
    cases = f"{len(rows)} answers of {', '.join(drawn)}"
    tried = curves.calibrated(rows)
    fitted = curves.fitted(rows, tried[0], knowledge.calibration or UNCALIBRATED, cases)
    document = _document(rows, tried, fitted)
    print(json.dumps(document) if options.json else _text(document))
    if options.picture is not None:
        options.picture.write_text(pictures.reliability(document["reliability"]), encoding="utf-8")
    if options.write:
        path = Path(str(resources.files("rankscope.alerts.causes") / "catalogue.toml"))
        version = options.version or knowledge.version
        text = catalogue_file.rewrite(path.read_text(encoding="utf-8"), fitted, version)
        path.write_text(text, encoding="utf-8")
        print(f"wrote {path}", file=sys.stderr)
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.calibration", description=__doc__)
    parser.add_argument(
        "--results",
        type=Path,
        default=Path("lab-results/calibration"),
        metavar="DIR",
        help="folder that keeps collected cases (default: lab-results/calibration)",
    )
    parser.add_argument(
        "--seed", type=int, action="append", metavar="N", help="a seed of suite fresh"
    )
    parser.add_argument(
        "--world",
        type=Path,
        action="append",
        default=[],
        metavar="DIR",
        help="cases of bench.worlds or bench.timelines, in a folder named after their generator",
    )
    parser.add_argument(
        "--collected", action="store_true", help="take what is in the folder; run nothing"
    )
    parser.add_argument("--picture", type=Path, metavar="FILE", help="the reliability as SVG")
    parser.add_argument("--write", action="store_true", help="write the curve into the catalogue")
    parser.add_argument("--version", default="", help="version of the catalogue to write")
    parser.add_argument("--json", action="store_true", help="the result as one JSON document")
    options = parser.parse_args()
    options.seed = options.seed or SEEDS
    return options


def answers(options: argparse.Namespace, knowledge: CauseCatalogue) -> Iterator[CalibrationAnswer]:
    """Yield the answers of all cases. Raises OSError, SuiteError, ReplayError."""
    for tracked in kept_cases.kept(_cases(options), options.results, collecting.collect):
        yield from curves.answers(tracked, knowledge)
    for folder in options.world:
        yield from elsewhere.answers(folder, jobs=1)


def _cases(options: argparse.Namespace) -> list[SuiteCase]:
    drawn = [
        case
        for seed in options.seed
        for case in suites.draw(suites.suite("fresh"), seed=seed)
        if case.fault is None or case.observable
    ]
    if options.collected:
        drawn = [case for case in drawn if kept_cases.file(case, options.results).exists()]
    return drawn


def _document(
    rows: list[CalibrationAnswer], tried: list[CalibratedCurve], fitted: ProbabilityCalibration
) -> dict[str, Any]:
    pairs = {
        by: curves.said_held_out(rows, curves.FITS[tried[0].name], by, tried[0].lone, tried[0].far)
        for by in curves.HELD_OUT
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
                "lone": row.lone,
                "far": row.far,
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
            f" (one sign {row['lone']:g}, a doubling beyond {row['far']:g} nats)"
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


if __name__ == "__main__":
    sys.exit(main())
