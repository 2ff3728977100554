"""`rankscope lab score`: runs a suite and shows, writes or compares its result."""

import json
import math
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from .. import suites
from ..suites import SuiteCase, SuiteError
from . import comparing, document, page, report, withheld
from .comparing import CompareError
from .results import CaseResult
from .work import ScoringWork

DEFAULT_RESULTS = Path("lab-results")
EVERY_SOURCE = "all"
HOURS = 24.0


@dataclass(frozen=True, slots=True)
class ScoringOptions:
    """What was asked on the command line; `jobs` 0 is one for each core."""

    suite: str
    seed: int | None = None
    hours: float | None = None
    """Of quiet, None for a day; the other suites have a size of their own."""
    only: tuple[str, ...] = ()
    jobs: int = 0
    results: Path = DEFAULT_RESULTS
    restart: bool = False
    with_baselines: bool = True
    as_json: bool = False
    docs: Path | None = None
    without: tuple[str, ...] = ()
    """Sources that are withheld one at a time; ("all",) is each of them."""
    at_most: int | None = None
    """So many cases are run without them, spread over the faults; None for all."""


def score(options: ScoringOptions) -> int:
    """Run a suite and print its result; return the exit code (1: a case raised, or no file)."""
    try:
        suite = suites.suite(options.suite)
        cases = _chosen(options, suite)
        if options.without:
            cases = withheld.cases_of(cases, _sources(options), options.at_most)
        if not cases:
            raise SuiteError(f"suite {suite.name} has no case that these options leave")
    except SuiteError as error:
        print(error, file=sys.stderr)
        return 2
    seed = suite.seed if options.seed is None else options.seed
    named = options.suite if options.seed is None else f"{options.suite}-{seed}"
    named += "-without" if options.without else ""
    work = ScoringWork(
        cases,
        jobs=options.jobs or len(os.sched_getaffinity(0)),
        file=options.results / f"{named}.jsonl",
        restart=options.restart,
        with_baselines=options.with_baselines and _compares(options),
    )
    try:
        with report.progress(len(cases), sys.stderr) as progress:
            results = work.run(progress)
    except KeyboardInterrupt:
        print(f"stopped; the same command goes on from {work.file}", file=sys.stderr)
        return 130
    except OSError as error:
        print(f"{work.file}: {error.strerror}", file=sys.stderr)
        return 1
    if options.without:
        return _show_costs(options, work, results)
    made = document.document(suite, results, command=_command(options), seed=seed)
    if options.docs is not None:
        try:
            for path in page.write(made, options.docs):
                print(f"wrote {path}", file=sys.stderr)
        except OSError as error:
            print(f"{options.docs}: {error.strerror}", file=sys.stderr)
            return 1
    if options.as_json:
        print(json.dumps(made, allow_nan=False))
    else:
        report.show(made, sys.stdout)
    return 1 if any(row.failed for row in results) else 0


def compare(files: Sequence[Path], points: float, *, as_json: bool) -> int:
    """Print how two results differ; return 0 where every share is within so many points."""
    try:
        first, second = (comparing.load(path) for path in files)
    except CompareError as error:
        print(error, file=sys.stderr)
        return 1
    rows = comparing.differences(first, second)
    beyond = [row for row in rows if not row.within(points)]
    if as_json:
        document = {
            "within_points": points,
            "first": comparing.made_of(first),
            "second": comparing.made_of(second),
            "beyond": [row.name for row in beyond],
            "points": {
                row.name: None if math.isnan(row.points) else round(row.points, 2) for row in rows
            },
        }
        print(json.dumps(document))
    else:
        report.print_table(comparing.table(first, second, rows, points), sys.stdout)
    return 1 if beyond else 0


def _sources(options: ScoringOptions) -> tuple[str, ...]:
    return suites.sources() if options.without == (EVERY_SOURCE,) else options.without


def _show_costs(options: ScoringOptions, work: ScoringWork, results: Sequence[CaseResult]) -> int:
    """Print what each source costs; return the exit code."""
    found, command = withheld.costs(results), _command(options)
    if options.docs is not None:
        try:
            print(f"wrote {withheld.write(found, command, options.docs)}", file=sys.stderr)
        except OSError as error:
            print(f"{options.docs}: {error.strerror}", file=sys.stderr)
            return 1
    if options.as_json:
        print(json.dumps(withheld.document(work, results, command), allow_nan=False))
    else:
        report.print_table(withheld.table(found), sys.stdout)
    return 1 if any(row.failed for row in results) else 0


def _chosen(options: ScoringOptions, suite: suites.CaseSuite) -> list[SuiteCase]:
    if options.suite == "fresh" and options.seed is None:
        raise SuiteError("suite fresh needs --seed N: its shapes are drawn from that number")
    if options.seed is not None and options.suite not in ("fresh", "pairs", "quiet"):
        raise SuiteError(
            f"suite {options.suite} has a seed of its own; --seed is for fresh, pairs, quiet"
        )
    if options.hours is not None and options.suite != "quiet":
        raise SuiteError(f"suite {options.suite} has a size of its own; --hours is for quiet")
    cases = suites.draw(suite, seed=options.seed, hours=_hours(options))
    if options.only:
        known = {str(case.fault) for case in cases} | {str(case.kind) for case in cases}
        if unknown := [name for name in options.only if name not in known]:
            raise SuiteError(f"suite {suite.name} has no fault {', '.join(unknown)}")
        cases = [case for case in cases if {case.fault, case.kind} & set(options.only)]
    return cases


def _command(options: ScoringOptions) -> str:
    """Return the command that makes the same result again."""
    words = ["rankscope lab score --suite", options.suite]
    if options.seed is not None:
        words.append(f"--seed {options.seed}")
    if options.suite == "quiet":
        words.append(f"--hours {_hours(options):g}")
    words += [f"--only {name}" for name in options.only]
    words += [f"--without {name}" for name in options.without]
    if options.without and options.at_most is not None:
        words.append(f"--at-most {options.at_most}")
    if not options.with_baselines and _compares(options):
        words.append("--no-baselines")
    return " ".join(words)


def _compares(options: ScoringOptions) -> bool:
    """Return whether the simple methods get these cases too unless they are left out."""
    return options.suite != "quiet" and not options.without


def _hours(options: ScoringOptions) -> float:
    return HOURS if options.hours is None else options.hours
