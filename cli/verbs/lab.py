"""`rankscope lab`: the fault laboratory. Lists scenarios and writes seeded recordings of them."""

import argparse
import sys
from pathlib import Path

HELP = "the fault laboratory: list scenarios, record one as OTLP JSON lines"
EXTRA: str | None = "lab"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the actions and their arguments."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    listing = actions.add_parser("list", help="list the scenarios of the cluster simulator")
    listing.add_argument("--json", action="store_true", help="one JSON object a line")
    running = actions.add_parser("run", help="simulate a scenario and record its telemetry")
    running.add_argument("scenario", help="a name that `rankscope lab list` shows")
    running.add_argument(
        "--out",
        type=Path,
        required=True,
        metavar="FILE",
        help="recording to write, *.jsonl or *.jsonl.gz",
    )
    running.add_argument("--seed", type=int, default=0, metavar="N", help="default: 0")
    running.add_argument("--json", action="store_true", help="print the ground truth as JSON")
    actions.add_parser("score", help="score the answers over many scenarios")


def run(arguments: argparse.Namespace) -> int:
    """Run the action."""
    if arguments.action == "score":
        print("rankscope lab score is not in this version.", file=sys.stderr)
        return 2
    from ...lab import recordings  # noqa: PLC0415  only this verb needs numpy

    if arguments.action == "list":
        return recordings.show(as_json=arguments.json)
    return recordings.record(
        arguments.scenario, out=arguments.out, seed=arguments.seed, as_json=arguments.json
    )
