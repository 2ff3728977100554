"""The actions of `rankscope lab` and their arguments."""

import argparse
from pathlib import Path

from .. import asking

SUITES = ("tuning", "published", "holdout", "fresh", "pairs", "quiet")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the actions and their arguments."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    listing = actions.add_parser("list", help="list the faults and the scenarios")
    listing.add_argument("--json", action="store_true", help="one JSON object a line")
    _add_run(actions.add_parser("run", help="inject one fault, or record a scenario"))
    _add_score(actions.add_parser("score", help="run a suite of cases and score what is found"))
    recovery = actions.add_parser(
        "recovery", help="a real job under a recovery controller: evict, restart, measure"
    )
    recovery.add_argument(
        "--actions",
        action="store_true",
        help="the collector orders the smallest action itself, and says whether it helped",
    )
    recovery.add_argument(
        "--fault",
        choices=("stopped", "crashed", "lost"),
        default="stopped",
        help="a rank is stopped (default); with --actions also: it is killed; its host is lost",
    )
    recovery.add_argument("--json", action="store_true", help="what was measured, as JSON")
    _add_from_incident(
        actions.add_parser("from-incident", help="cut an incident's recording out of the journal")
    )


def _add_run(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "scenario", nargs="?", help="a scenario that `rankscope lab list` shows, to be recorded"
    )
    parser.add_argument("--fault", metavar="ID", help="inject this fault and show what is found")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--simulated", action="store_true", help="into a simulated job (default)")
    where.add_argument(
        "--real", action="store_true", help="into a real training job on this machine, of 4 ranks"
    )
    parser.add_argument(
        "--mechanism",
        metavar="NAME",
        help="how to make it happen in the real job, where `rankscope lab list` shows several ways",
    )
    parser.add_argument(
        "--ranks",
        type=int,
        metavar="N",
        help="ranks of the simulated job, 8, 4, 2 or 1 on each host: as many as leave two hosts "
        "or more, so that 16 are 2 hosts of 8, 32 are 4 of 8 and 7 are 7 of 1 (default: 16, or 32 "
        "where the fault needs 4 hosts)",
    )
    parser.add_argument("--weak", action="store_true", help="an effect of 5-10 %%, or a faint sign")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="0 or more (default: 0)")
    parser.add_argument(
        "--out", type=Path, metavar="FILE", help="recording to write, *.jsonl or *.jsonl.gz"
    )
    parser.add_argument("--json", action="store_true", help="truth and incidents as JSON")


def _add_score(parser: argparse.ArgumentParser) -> None:
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--suite", metavar="NAME", help=f"one of {', '.join(SUITES)}")
    what.add_argument(
        "--recordings",
        type=Path,
        metavar="FOLDER",
        help="recordings with truth files, as from-incident writes them",
    )
    what.add_argument(
        "--compare",
        nargs=2,
        type=Path,
        metavar=("A.json", "B.json"),
        help="compare two results of --json; the exit code is 1 where they differ",
    )
    parser.add_argument(
        "--within",
        type=float,
        metavar="POINTS",
        help="with --compare: how many points two results may differ (default: 3)",
    )
    parser.add_argument("--seed", type=int, metavar="N", help="what fresh (or quiet) is drawn from")
    parser.add_argument(
        "--hours", type=float, metavar="N", help="simulated hours of quiet (default: 24)"
    )
    parser.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="ID",
        help="only the cases of this fault; may be repeated",
    )
    parser.add_argument("--jobs", type=int, metavar="N", help="processes (default: one a core)")
    parser.add_argument(
        "--results",
        type=Path,
        default=Path("lab-results"),
        metavar="DIR",
        help="folder that keeps results, so that a run can be resumed (default: lab-results)",
    )
    parser.add_argument("--restart", action="store_true", help="forget the results of this suite")
    parser.add_argument("--no-baselines", action="store_true", help="leave out the simple methods")
    parser.add_argument("--json", action="store_true", help="the result as one JSON document")
    parser.add_argument("--docs", type=Path, metavar="DIR", help="write accuracy.md and pictures")
    parser.add_argument(
        "--without",
        action="append",
        default=[],
        metavar="SOURCE",
        help="what a missing source costs: the cases once more without it; may be repeated, all is "
        "each source (with --docs: missing-sources.md)",
    )
    parser.add_argument(
        "--at-most",
        type=int,
        metavar="N",
        help="with --without: so many cases, spread over the faults",
    )


def _add_from_incident(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", help="the incident's id")
    parser.add_argument(
        "--data", type=Path, metavar="DIR", help="a collector's data folder, instead of --url"
    )
    asking.add_arguments(parser)
    parser.add_argument(
        "--out",
        type=Path,
        metavar="FILE",
        help="recording to write, *.jsonl or *.jsonl.gz (default: incident-ID.jsonl.gz); with "
        "feedback *.truth.json is written beside it",
    )
    parser.add_argument(
        "--before",
        type=float,
        default=15.0,
        metavar="MINUTES",
        help="how much from before the onset (default: 15)",
    )
    parser.add_argument(
        "--anonymise",
        action="store_true",
        help="replace jobs, hosts, devices, users and log texts, consistently; keep ranks",
    )
    parser.add_argument("--json", action="store_true", help="what was written, as JSON")
