"""A reader of the agent: its file, its line in the list, its row, and its metric if it is new."""

import argparse
import re
from pathlib import Path

from .plan import Plan, RefusedError, as_module, checked_name, class_name, example, rows, words

HELP = "a reader of the agent: a class that reads one thing of the node"

LIST = "agent/readers/__init__.py"
TABLE = "agent/readers/readers.toml"
METRICS = "vocabulary/metrics.toml"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", help="what settings call it, such as uptime")
    parser.add_argument("--metric", required=True, help="the metric that it reads")
    parser.add_argument("--unit", help="its unit, where the metric is new")
    parser.add_argument("--means", metavar="TEXT", help="what it says, where the metric is new")


def plan(root: Path, arguments: argparse.Namespace) -> Plan:
    """Return what a reader changes: the worked example under its own name."""
    name, metric = checked_name(arguments.name, example="uptime"), arguments.metric
    if not re.fullmatch(r"[a-z0-9_]+(\.[a-z0-9_]+)+", metric):
        raise RefusedError(f"{metric!r} is no metric: words with dots, such as system.uptime")
    made = Plan(root)
    if f'name = "{name}"\n' in made.text(TABLE):
        raise RefusedError(f"{TABLE} has a reader {name}: take another name")
    text = as_module(
        example(root, "reader_load_average.py"),
        folder="agent/readers",
        first_line=f"{words(name)}: the first field of a file of the kernel's.",
    )
    sample = "system.cpu.load_average.1m"
    text = text.replace("LoadAverage", class_name(name)).replace(sample, metric)
    made.make(f"agent/readers/{name}.py", text.replace('name = "load_average"', f'name = "{name}"'))
    made.add_after(LIST, f"    {name},", begins="from . import (")
    made.add_line(
        LIST,
        f"        {name}.{class_name(name)}(period=period, proc=proc),",
        of="def _of_host(",
        before="    ]",
    )
    given = example(root, "reader_load_average.toml")
    row = rows(given, "reader").replace(sample, metric)
    made.append(TABLE, row.replace('name = "load_average"', f'name = "{name}"'))
    if f'name = "{metric}"\n' not in made.text(METRICS):
        made.append(METRICS, _metric(rows(given, "metric").replace(sample, metric), arguments))
    made.edits = [
        f"agent/readers/{name}.py: what it reads",
        f"{TABLE}: the row {name}, from which `rankscope doctor` and the reader's page are made",
    ]
    return made


def _metric(row: str, arguments: argparse.Namespace) -> str:
    if not arguments.unit or not arguments.means:
        raise RefusedError(
            f"{METRICS} has no {arguments.metric}: give --unit and --means, or one that it has"
        )
    row = re.sub(r'(?m)^unit = ".*"$', lambda _: f'unit = "{arguments.unit}"', row)
    return re.sub(r'(?m)^help = ".*"$', lambda _: f'help = "{arguments.means}"', row)
