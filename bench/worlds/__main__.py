"""`python -m bench.worlds make|score`: makes the cases of a seed, scores a replay of them."""

import argparse
import json
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from . import making, plans, replays, report, scoring
from .replays import ReplayError
from .scoring import WorldScore


def main() -> int:
    """Run a verb; return the exit code."""
    options = _options()
    return _make(options) if options.verb == "make" else _score(options)


def _make(options: argparse.Namespace) -> int:
    chosen = plans.smallest(
        [one for one in plans.planned(options.seed) if options.only in one.id], options.at_most
    )
    folders = [options.out / one.id for one in chosen]
    with ProcessPoolExecutor(options.jobs) as pool:
        for plan, _ in zip(chosen, pool.map(making.make, chosen, folders), strict=True):
            print(plan.id, flush=True)
    return 0


def _score(options: argparse.Namespace) -> int:
    folders = sorted(path.parent for path in options.folder.glob("*/truth.json"))
    try:
        found = replays.all_incidents(folders, options.jobs)
    except ReplayError as error:
        print(error, file=sys.stderr)
        return 1
    score = WorldScore()
    for folder, incidents in zip(folders, found, strict=True):
        truth = json.loads((folder / "truth.json").read_text(encoding="utf-8"))
        score.cases.append(scoring.scored(truth, incidents))
    print(json.dumps(report.document(score)) if options.json else report.text(score))
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.worlds")
    verbs = parser.add_subparsers(dest="verb", required=True)
    make = verbs.add_parser("make", help="make the cases of a seed")
    make.add_argument("--out", type=Path, required=True, metavar="FOLDER")
    make.add_argument("--seed", type=int, required=True, help="1000 and more: held back")
    make.add_argument("--only", default="", metavar="ID", help="cases whose id holds this")
    make.add_argument(
        "--at-most",
        type=int,
        metavar="N",
        help="the N smallest quiet cases and the N smallest others",
    )
    make.add_argument("--jobs", type=int, default=2)
    score = verbs.add_parser("score", help="replay the cases of a folder and score the incidents")
    score.add_argument("folder", type=Path)
    score.add_argument("--jobs", type=int, default=2)
    score.add_argument("--json", action="store_true")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
