"""`rankscope offenders`: devices, links and nodes that keep appearing across jobs."""

import argparse
from collections.abc import Mapping
from typing import Any

from .. import asking, tables, terminal

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
    parser.add_argument("--type", choices=("gpu", "nic", "host", "switch", "storage"))
    parser.add_argument("--since", help="only incidents since then (RFC 3339 or epoch)")
    parser.add_argument(
        "--at-least", type=int, default=2, metavar="N", help="incidents; default: 2"
    )
    parser.add_argument("--limit", type=asking.count, default=50, metavar="N", help="default: 50")
    parser.add_argument("--record", action="store_true", help="list the incidents behind each")
    parser.add_argument("--json", action="store_true", help="one offender a line")
    asking.add_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print the offenders, those of most jobs first."""
    try:
        rows = asking.CollectorClient.of(arguments).first(
            arguments.limit,
            "offenders",
            type=arguments.type,
            since=arguments.since,
            at_least=arguments.at_least,
        )
    except asking.CollectorAnswerError as error:
        terminal.complain(f"rankscope offenders: {error}")
        return 1
    if arguments.record and rows and not arguments.json:
        for row in rows:
            print(tables.table([_HEAD, tables.plain(_row(row))]))
            lines = [tables.plain(_named(one)) for one in row["record"]]
            print("\n".join(f"    {line}" for line in tables.table(lines).splitlines()))
        return 0
    nothing = "nothing was named so often"
    tables.show(rows, _HEAD, _row, as_json=arguments.json, nothing=nothing)
    return 0


def _row(row: Mapping[str, Any]) -> tuple[str, ...]:
    return (
        row["type"],
        row["id"],
        row["host"] or "-",
        str(len(row["jobs"])),
        str(row["incidents"]),
        str(row["confirmed"]),
        f"{row['gpu_hours_lost']:.1f}",
        tables.moment(row["last_at"]),
        ", ".join(f"{fault} {count}" for fault, count in row["faults"].items()),
    )


def _named(one: Mapping[str, Any]) -> tuple[str, ...]:
    return (
        one["incident"],
        tables.moment(one["opened_at"]),
        one["fault"],
        f"{one['entity_type']} {one['entity']}",
        ", ".join(one["jobs"]) or "-",
        f"{one['gpu_hours_lost']:.1f} GPU-hours",
        one["verdict"] or "no feedback",
    )
