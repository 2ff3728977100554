"""`rankscope dashboards build`: Grafana dashboards and Prometheus rules. Not in this version."""

import argparse
import sys

HELP = "build the Grafana dashboards and Prometheus rules"
EXTRA: str | None = None


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments that the contract fixes."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    actions.add_parser("build", help="write dashboards and rules as files")


def run(arguments: argparse.Namespace) -> int:
    """Say plainly that there is nothing to run yet."""
    print(
        f"rankscope dashboards {arguments.action} is not in this version. The collector's own "
        "console shows the incidents: start `rankscope collector` and open its address.",
        file=sys.stderr,
    )
    return 2
