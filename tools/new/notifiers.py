"""A notifier: its module, its line in FORMATS, its row in the page for users."""

import argparse
from pathlib import Path

from .plan import Plan, RefusedError, as_module, checked_name, example, words

HELP = "a notifier: a format in which endpoints are told of incidents"

LIST = "alerts/notify/__init__.py"
TABLE = "docs/notifications.md"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", help="what endpoints write as `format`, such as mattermost")


def plan(root: Path, arguments: argparse.Namespace) -> Plan:
    """Return what a notifier changes: the worked example under its own name."""
    name = checked_name(arguments.name, example="mattermost")
    made = Plan(root)
    if f"\n| `{name}` | " in made.text(TABLE):
        raise RefusedError(f"{TABLE} has a format {name}: take another name")
    text = as_module(
        example(root, "notifier_example.py"),
        folder="alerts/notify",
        first_line=f"{words(name)}: one line for each notice.",
    )
    made.make(f"alerts/notify/{name}.py", text.replace('NAME = "text"', f'NAME = "{name}"'))
    made.add_after(LIST, f"    {name},", begins="from . import (")
    made.add_line(LIST, f"    {name}.NAME: {name},", of="FORMATS", before="}")
    made.add_after(TABLE, f"| `{name}` | {words(name)} | none | any |", begins="| `pagerduty` |")
    made.edits = [
        f"alerts/notify/{name}.py: the message, and what its receiver's answers mean",
        f"{TABLE}: the row {name}, for whom it is and what its secret and address are",
    ]
    return made
