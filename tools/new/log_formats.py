"""A log format: the file of a training framework, its line in the list."""

import argparse
import re
from pathlib import Path

from .plan import Plan, checked_name, example

HELP = "a log format: the lines that a training framework prints"

FOLDER = "formats/training_logs/frameworks"
LIST = "formats/training_logs/line_formats.py"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", help="the framework, such as my_trainer")


def plan(root: Path, arguments: argparse.Namespace) -> Plan:
    """Return what a log format changes: the worked example under its own name."""
    name = checked_name(arguments.name, example="my_trainer")
    made = Plan(root)
    text = re.sub(r"\A(#.*\n)+", "", example(root, "log_format_example.toml")).lstrip()
    for key in ("name", "framework"):
        text = re.sub(rf'(?m)^{key} = ".*"$', f'{key} = "{name}"', text, count=1)
    made.make(f"{FOLDER}/{name}.toml", text)
    made.add_line(LIST, f'    "{name}",', of="FRAMEWORKS", before=")")
    made.edits = [f"{FOLDER}/{name}.toml: the lines, and an example of each with its values"]
    return made
