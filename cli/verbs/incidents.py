"""`rankscope incidents`: what a running collector has found."""

import argparse
from collections.abc import Mapping
from typing import Any

from .. import asking, tables, terminal

HELP = "list the incidents of a running collector"
EXTRA: str | None = None

_HEAD = ("ID", "STATUS", "SEVERITY", "OPENED (UTC)", "JOB", "FAULT", "WHERE")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--status", choices=("open", "acknowledged", "resolved"))
    parser.add_argument("--severity", choices=("critical", "warning", "info"))
    parser.add_argument("--job", help="only incidents of this job")
    parser.add_argument("--fault", help="only incidents with this fault as first cause")
    parser.add_argument("--since", help="only with any change since then (RFC 3339 or epoch)")
    parser.add_argument("--limit", type=asking.count, default=50, metavar="N", help="default: 50")
    parser.add_argument("--json", action="store_true", help="one incident document a line")
    asking.add_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print the incidents, the newest onset first."""
    try:
        documents = asking.CollectorClient.of(arguments).first(
            arguments.limit,
            "incidents",
            status=arguments.status,
            severity=arguments.severity,
            job=arguments.job,
            fault=arguments.fault,
            since=arguments.since,
        )
    except asking.CollectorAnswerError as error:
        terminal.complain(f"rankscope incidents: {error}")
        return 1
    tables.show(documents, _HEAD, _row, as_json=arguments.json, nothing="no incident")
    return 0


def _row(document: Mapping[str, Any]) -> tuple[str, ...]:
    causes = document["root_cause"]["hypotheses"]
    fault, where = "unknown", ""
    if causes:
        entity = causes[0]["entity"]
        fault, where = causes[0]["fault"], f"{entity['type']} {entity['id']}"
        if entity["host"] and entity["type"] == "rank":
            where += f" on {entity['host']}"
    return (
        document["id"],
        document["status"],
        document["severity"],
        tables.moment(document["opened_at"]),
        document["job"] or "-",
        fault,
        where,
    )
