"""A cause: the row of its fault in the catalogue, and its runbook."""

import argparse
import re
from pathlib import Path

from .plan import Plan, RefusedError, checked_name, example, rows, words

HELP = "a cause: a fault, what it predicts, what speaks against it, what to do"

FAULTS = "vocabulary/faults"
TEMPLATE = "gpu.firmware_hang"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", help="the fault's id, FAMILY.NAME, such as gpu.fan_failed")


def plan(root: Path, arguments: argparse.Namespace) -> Plan:
    """Return what a cause changes: the row and the page of the worked example under its id."""
    family, _, name = arguments.name.partition(".")
    checked_name(name, example="gpu.fan_failed")
    families = sorted(path.stem for path in root.glob(f"{FAULTS}/*.toml") if path.stem != "unknown")
    if family not in families:
        raise RefusedError(
            f"there is no family of faults {family!r}; use one of {', '.join(families)}"
        )
    table, fault = f"{FAULTS}/{family}.toml", f"{family}.{name}"
    if re.search(rf'^id = "{re.escape(fault)}"$', Plan(root).text(table), re.MULTILINE):
        raise RefusedError(f"{table} has a fault {fault}: take another name")
    made = Plan(root)
    runbook = f"docs/runbooks/{fault}.md"
    page = example(root, "cause_example.md").split("\n", 1)[1]
    made.make(runbook, f"# {fault}: {words(name).lower()}\n{page}")
    row = rows(example(root, "cause_example.toml"), "fault").replace(TEMPLATE, fault)
    made.append(table, re.sub(r'(?m)^title = ".*"$', f'title = "{words(name)}"', row))
    made.edits = [
        f"{runbook}: what to look at and what to do",
        f"{table}: the row {fault}; alerts/causes/catalogue.toml explains its keys",
    ]
    return made
