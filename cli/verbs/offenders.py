"""`rankscope offenders`: devices, links and nodes that keep appearing across jobs."""

import argparse
import itertools
from collections.abc import Mapping
from typing import Any

from .. import asking, terminal
from .incidents import table

HELP = "list devices, links and nodes that incidents keep naming, with the record"
EXTRA: str | None = None

_HEAD = (
    "TYPE",
    "ID",
    "HOST",
    "JOBS",
    "INCIDENTS",
    "CONFIRMED",
    "GPU-HOURS",
    "LAST (UTC)",
    "FAULTS",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    parser.add_argument("--type", choices=("gpu", "nic", "host", "switch", "storage"))
    parser.add_argument("--since", help="only incidents since then (RFC 3339 or epoch)")
    parser.add_argument(
        "--at-least", type=int, default=2, metavar="N", help="incidents; default: 2"
    )
    parser.add_argument("--limit", type=int, default=50, metavar="N", help="default: 50")
    parser.add_argument("--record", action="store_true", help="list the incidents behind each")
    parser.add_argument("--json", action="store_true", help="one offender a line")
    asking.add_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print the offenders, those of most jobs first."""
    try:
        found = asking.Collector.of(arguments).every(
            "offenders",
            type=arguments.type,
            since=arguments.since,
            at_least=arguments.at_least,
            limit=max(1, min(arguments.limit, 200)),
        )
        rows = list(itertools.islice(found, arguments.limit))
    except asking.AskingError as error:
        terminal.complain(f"rankscope offenders: {error}")
        return 1
    if arguments.json:
        for row in rows:
            print(terminal.json_line(row))
    elif not rows:
        print("nothing was named so often")
    elif arguments.record:
        for row in rows:
            print(table([_HEAD, _row(row)]))
            lines = [_named(one) for one in row["record"]]
            print("\n".join(f"    {line}" for line in table(lines).splitlines()))
    else:
        print(table([_HEAD, *map(_row, rows)]))
    return 0


def _row(row: Mapping[str, Any]) -> tuple[str, ...]:
    texts = (
        row["type"],
        row["id"],
        row["host"] or "-",
        str(len(row["jobs"])),
        str(row["incidents"]),
        str(row["confirmed"]),
        f"{row['gpu_hours_lost']:.1f}",
        row["last_at"].replace("T", " ")[:19],
        ", ".join(f"{fault} {count}" for fault, count in row["faults"].items()),
    )
    return tuple(terminal.plain(text) for text in texts)


def _named(one: Mapping[str, Any]) -> tuple[str, ...]:
    texts = (
        one["incident"],
        one["opened_at"].replace("T", " ")[:19],
        one["fault"],
        f"{one['entity_type']} {one['entity']}",
        ", ".join(one["jobs"]) or "-",
        f"{one['gpu_hours_lost']:.1f} GPU-hours",
        one["verdict"] or "no feedback",
    )
    return tuple(terminal.plain(text) for text in texts)
