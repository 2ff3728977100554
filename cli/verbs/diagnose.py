"""`rankscope diagnose`: the post-mortem of a folder of artefacts. Not in this version."""

import argparse
import sys

HELP = "post-mortem of a folder of artefacts: dumps, NCCL, framework and kernel logs"
EXTRA: str | None = "collector"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments that the contract fixes."""
    parser.add_argument("path", help="folder of Flight Recorder dumps, logs, RAS output, ...")
    parser.add_argument("--json", action="store_true", help="print the incident document")


def run(arguments: argparse.Namespace) -> int:
    """Say plainly that there is nothing to run yet."""
    print(
        f"rankscope diagnose is not in this version: it cannot read {arguments.path}. "
        "`rankscope replay PATH` evaluates recorded telemetry (OTLP JSON lines or a journal).",
        file=sys.stderr,
    )
    return 2
