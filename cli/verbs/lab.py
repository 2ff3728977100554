"""`rankscope lab`: the fault laboratory. Injects faults, and measures how well they are found."""

import argparse
import importlib.util
import sys
from collections.abc import Callable

from ..laboratory import arguments as laboratory
from ..laboratory import from_incident, injecting, scoring
from ..laboratory.complaints import wrong

HELP = "the fault laboratory: inject faults into simulated or real jobs, score the detectors"
EXTRA: str | None = "lab"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    laboratory.add_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    return _ACTIONS[arguments.action](arguments)


def _list(arguments: argparse.Namespace) -> int:
    from ...lab import catalogue, recordings  # noqa: PLC0415  only this verb needs numpy

    if not arguments.json:
        print("Faults, by id: rankscope lab run --fault ID [--real]")
    catalogue.show(as_json=arguments.json)
    if not arguments.json:
        print("\nScenarios: rankscope lab run SCENARIO --out FILE")
    return recordings.show(as_json=arguments.json)


def _recovery(arguments: argparse.Namespace) -> int:
    if importlib.util.find_spec("torch") is None:
        return wrong("recovery runs a torchrun job: pip install torch")
    from ...lab.recovery import course  # noqa: PLC0415

    if arguments.fault != "stopped" and not arguments.actions:
        return wrong(f"--fault {arguments.fault} needs --actions: torchrun goes on by itself")
    return course.run(
        as_json=arguments.json,
        out=sys.stderr,
        actions=arguments.actions,
        fault=arguments.fault,
    )


_ACTIONS: dict[str, Callable[[argparse.Namespace], int]] = {
    "list": _list,
    "run": injecting.run,
    "score": scoring.run,
    "recovery": _recovery,
    "from-incident": from_incident.run,
}
