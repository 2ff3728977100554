"""How right step times without a cause are: `python -m bench.counterfactual worlds|real|...`."""

import argparse
import json
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

from rankscope.alerts.causes.catalogue import cause_of
from rankscope.lab.suites import drawing, tables
from rankscope.lab.suites.cases import SuiteCase
from rankscope.vocabulary import findings as kinds
from rankscope.vocabulary.ids import Fault

from . import cost, figures, real, traces, worlds
from .episodes import KINDS
from .figures import MeasuredCase


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m bench.counterfactual", description=__doc__)
    verbs = parser.add_subparsers(dest="verb", required=True)
    simulated = verbs.add_parser("worlds", help="simulated cases, with and without their fault")
    simulated.add_argument("--suite", default="fresh")
    simulated.add_argument("--seed", type=int, default=1, help="of the suite fresh; default: 1")
    simulated.add_argument("--most", type=int, default=10_000, help="cases at most")
    simulated.add_argument("--jobs", type=int, default=2, help="processes; default: 2")
    simulated.add_argument("--out", type=Path, help="keep the cases here, as JSON lines")
    gloo = verbs.add_parser("real", help="torch jobs over gloo whose fault ends while they run")
    gloo.add_argument("--runs", type=int, default=13, help="jobs; default: 13, one of each kind")
    gloo.add_argument("--seed", type=int, default=1)
    gloo.add_argument("--out", type=Path, help="keep the cases here, as JSON lines")
    gloo.add_argument(
        "--kinds",
        type=lambda text: text.split(","),
        default=list(KINDS),
        help=f"some of {','.join(KINDS)}; default: all of them, in turn",
    )
    published = verbs.add_parser("traces", help="traces that others published, with slowdowns")
    published.add_argument("folder", type=Path, help="`data` of ByteDance-Seed/StragglerAnalysis")
    large = verbs.add_parser("cost", help="CPU of evaluation with the meter and without")
    large.add_argument("--ranks", type=int, default=1024)
    large.add_argument("--kind", default="slow_gpu", help="of the simulator's faults")
    large.add_argument(
        "--slowest", action="store_true", help="only of a job without its slowest, drawn by hand"
    )
    chosen = parser.parse_args(arguments)
    if chosen.verb == "traces":
        found = traces.document(chosen.folder)
        print(json.dumps(found, indent=1))
        return 0 if found["close"] else 1
    if chosen.verb == "cost":
        drawn = chosen.slowest
        found = cost.slowest_cost(chosen.ranks) if drawn else cost.cost(chosen.ranks, chosen.kind)
        print(json.dumps(found))
        return 0
    if chosen.verb == "worlds":
        cases = _cases(chosen.suite, chosen.seed)
        # Cases come by fault: of fewer than all, some of each.
        some = [cases[number * len(cases) // chosen.most] for number in range(chosen.most)]
        rows = _worlds(cases if chosen.most >= len(cases) else some, chosen.jobs, chosen.out)
    else:
        unknown = sorted(set(chosen.kinds) - set(KINDS))
        if unknown:
            gloo.error(f"--kinds: there is no {unknown[0]}; write some of {', '.join(KINDS)}")
        rows = real.cases(chosen.runs, chosen.seed, chosen.kinds)
    if chosen.out is not None:
        chosen.out.write_text(figures.lines(rows), encoding="utf-8")
    print(json.dumps(figures.groups(rows), indent=1))
    return 0


def _cases(suite: str, seed: int) -> list[SuiteCase]:
    chosen = tables.tables().suites[suite]
    drawn = drawing.draw(chosen, seed=seed if suite == "fresh" else None)
    return [case for case in drawn if case.fault is not None and _slows(Fault(case.fault))]


def _slows(fault: Fault) -> bool:
    """Tell whether a fault makes steps longer."""
    cause = cause_of(fault)
    return cause is not None and any(kinds.catalogue()[kind].slowdown for kind in cause.symptoms)


def _worlds(cases: Sequence[SuiteCase], jobs: int, out: Path | None) -> list[MeasuredCase]:
    rows: list[MeasuredCase] = []
    with ProcessPoolExecutor(jobs) as pool:
        waiting = {pool.submit(worlds.measured, case): case for case in cases}
        for done, future in enumerate(as_completed(waiting), 1):
            rows += future.result()
            if out is not None:
                out.write_text(figures.lines(rows), encoding="utf-8")
            print(f"\r{done}/{len(cases)}", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    return sorted(rows, key=lambda row: row.name)


if __name__ == "__main__":
    sys.exit(main())
