"""What one check settles: `python -m bench.settled [--suite NAME] [--results DIR] [--collected]`.

Cases of a suite whose fault can be seen are run; an incident is close where its first cause leads
by at most two nats. Each close one is asked about in three ways: the check of the highest expected
gain for its cost first, the table's order, all checks at once. Results are simulated from the
truth; they come as events and are ranked by the pipeline. Printed: how many are settled, at what
cost in device-seconds, and the first cause of all cases with and without checks.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rankscope.lab import suites
from rankscope.lab.scoring import matching
from rankscope.lab.scoring.results import PIPELINE
from rankscope.lab.simulator.shape import SimulationScenario
from rankscope.lab.suites import SuiteError

from .. import kept_cases
from . import collecting
from .collecting import CollectedCase
from .courses import CourseResult, IncidentCourses

COURSES = ("by_gain", "in_order", "everything")


@dataclass(frozen=True, slots=True)
class AskedCase:
    """A close incident, without any check and by each course."""

    name: str
    fault: str
    unasked: CourseResult
    courses: dict[str, CourseResult]


def main() -> int:
    """Run the cases, ask about the close ones, print what came of it; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m bench.settled", description=__doc__)
    parser.add_argument("--suite", default="published", help="published, or tuning")
    parser.add_argument("--seed", type=int, default=1, help="of the simulated results")
    parser.add_argument(
        "--results", type=Path, default=Path("lab-results/settled"), help="keeps the cases"
    )
    parser.add_argument(
        "--collected", action="store_true", help="take the cases that are kept; run none"
    )
    parser.add_argument("--part", default="1/1", metavar="N/OF", help="every OFth case alone")
    parser.add_argument("--json", action="store_true", help="the result as one JSON document")
    options = parser.parse_args()
    try:
        cases = _cases(options)
    except SuiteError as error:
        print(error, file=sys.stderr)
        return 2
    found = list(kept_cases.kept(cases, options.results, collecting.collect))
    asked = [
        one
        for case, held in zip(cases, found, strict=True)
        if (one := _asked(held, case.scenario, options.seed)) is not None
    ]
    document = _document(found, asked)
    print(json.dumps(document) if options.json else _text(document, asked))
    failed = [case.result for case in found if case.result.failed]
    for result in failed:
        print(f"{result.case['name']}: {result.error[-300:]}", file=sys.stderr)
    return 1 if failed else 0


def _cases(options: argparse.Namespace) -> list[Any]:
    number, of = (int(part) for part in options.part.split("/"))
    drawn = [case for case in suites.draw(suites.suite(options.suite)) if case.observable]
    # The small ones first: a run that is ended early has seen most kinds.
    drawn.sort(key=lambda case: case.scenario.cluster.hosts * case.scenario.seconds)
    chosen = drawn[number - 1 :: of]
    if options.collected:
        chosen = [case for case in chosen if kept_cases.file(case, options.results).exists()]
    return chosen


def _asked(case: CollectedCase, scenario: SimulationScenario, seed: int) -> AskedCase | None:
    if case.asked is None:
        return None
    courses = IncidentCourses(case, case.asked, scenario, seed)
    return AskedCase(
        str(case.result.case["name"]),
        str(case.result.case["fault"]),
        courses.unasked(),
        {name: getattr(courses, name)() for name in COURSES},
    )


def _document(found: Sequence[CollectedCase], asked: Sequence[AskedCase]) -> dict[str, Any]:
    rights = [right for case in found if (right := _right(case)) is not None]
    changed = {case.name: case.courses["by_gain"].right for case in asked}
    with_checks = [
        changed.get(str(case.result.case["name"]), right)
        for case in found
        if (right := _right(case)) is not None
    ]
    return {
        "cases": len(found),
        "found": len(rights),
        "first": _share(rights),
        "first_with_checks": _share(with_checks),
        "close": len(asked),
        "right_unasked": sum(case.unasked.right for case in asked),
        "no_check_gains": sum(not case.courses["by_gain"].checks for case in asked),
        "settled_by_one": sum(case.courses["by_gain"].after_one for case in asked),
        "courses": {name: _course([case.courses[name] for case in asked]) for name in COURSES},
    }


def _course(rows: Sequence[CourseResult]) -> dict[str, Any]:
    settled, seconds = sum(row.settled for row in rows), sum(row.seconds for row in rows)
    return {
        "settled": settled,
        "settled_wrongly": sum(row.misled for row in rows),
        "right": sum(row.right for row in rows),
        "checks": sum(len(row.checks) for row in rows),
        "device_seconds": seconds,
        "device_seconds_per_settled": seconds / settled if settled else None,
    }


def _right(case: CollectedCase) -> bool | None:
    """Return whether the first cause is right without checks, None where nothing was found."""
    result = case.result
    outcome = matching.outcome(
        result.truth,
        result.found.get(PIPELINE, ()),
        step_seconds=result.step_seconds,
        report_seconds=float(result.case["report_seconds"]),
    )
    return None if outcome.found is None else outcome.right_cause


def _share(rows: Sequence[bool]) -> float | None:
    return round(sum(rows) / len(rows), 4) if rows else None


def _text(document: dict[str, Any], asked: Sequence[AskedCase]) -> str:
    lines = [
        (
            f"{document['cases']} cases, {document['found']} found; first cause "
            f"{document['first']}, with checks {document['first_with_checks']}"
        ),
        (
            f"{document['close']} close, {document['right_unasked']} of them right without a "
            f"check; {document['settled_by_one']} settled by one check; of "
            f"{document['no_check_gains']} no check tells the causes apart"
        ),
    ]
    for name, row in document["courses"].items():
        each = row["device_seconds_per_settled"]
        lines.append(
            f"  {name}: {row['settled']} settled, {row['settled_wrongly']} wrongly, "
            f"{row['checks']} checks, {row['device_seconds']:.0f} device-seconds"
            + (f", {each:.0f} for each settled" if each is not None else "")
        )
    for case in asked:
        best = case.courses["by_gain"]
        lines.append(
            f"  {case.name}: lead {case.unasked.lead:.2f}, then {best.lead:.2f} "
            f"({'right' if best.right else f'wrong: {best.named}'}) "
            f"by {', '.join(best.checks) or 'no check'}"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
