"""`rankscope demo`: a real training job on this machine, one fault, and its incident explained."""

import argparse
import importlib.util
import sys

from ...lab import mechanisms

HELP = "run a training job on this machine, inject one fault, print the explained incident"
EXTRA: str | None = "lab"

FAULTS = mechanisms.faults()
HEALTHY = mechanisms.healthy()
TRAINERS = ("auto", "torch", "numpy")
_PARTS_NEED = ("numpy", "psutil", "pydantic", "sqlalchemy", "uvicorn")
"""Packages of the agent and the collector, which the demo starts as processes of their own: what
is missing is named at the start rather than in a log."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "--fault",
        choices=FAULTS,
        default=FAULTS[0],
        metavar="FAULT_ID",
        help=f"the fault to inject: {', '.join(FAULTS)} (default: %(default)s)",
    )
    parser.add_argument(
        "--mechanism",
        choices=[one.name for one in mechanisms.MECHANISMS],
        metavar="NAME",
        help="how to make it happen, where there are several ways: "
        + "; ".join(f"{fault}: {', '.join(names)}" for fault, names in _ways().items())
        + f"; no fault at all: {', '.join(HEALTHY)}",
    )
    parser.add_argument(
        "--once",
        action="store_true",
        help="end after the report; without it the console stays up",
    )
    parser.add_argument(
        "--trainer",
        choices=TRAINERS,
        default="auto",
        help="the training job: torch with gloo where torch is importable, else numpy",
    )
    parser.add_argument(
        "--json",
        action="store_true",
        help="print the incident document on standard output, progress on standard error",
    )


def _ways() -> dict[str, list[str]]:
    """Return the names of the mechanisms of each fault that has several."""
    named = {fault: [one.name for one in mechanisms.of_fault(fault)] for fault in FAULTS}
    return {fault: names for fault, names in named.items() if len(names) > 1}


def run(arguments: argparse.Namespace) -> int:
    """Run the demo; 0 only when the injected fault is the first cause at the right place."""
    for package in _PARTS_NEED:
        if importlib.util.find_spec(package) is None:
            raise ModuleNotFoundError(f"No module named {package!r}", name=package)
    from ...lab import demo  # noqa: PLC0415  heavy, and only this verb needs it
    from ..report import incident_report  # noqa: PLC0415

    return demo.run(
        mechanism=mechanisms.named(arguments.mechanism)
        if arguments.mechanism
        else mechanisms.of_fault(arguments.fault)[0],
        once=arguments.once,
        trainer=arguments.trainer,
        as_json=arguments.json,
        out=sys.stderr if arguments.json else sys.stdout,
        report=incident_report,
    )
