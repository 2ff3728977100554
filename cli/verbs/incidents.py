"""`rankscope incidents`: what a running collector has found."""

import argparse
import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from .. import asking, terminal

HELP = "list the incidents of a running collector"
EXTRA: str | None = None

_HEAD = ("ID", "STATUS", "SEVERITY", "OPENED (UTC)", "JOB", "FAULT", "WHERE")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    parser.add_argument("--status", choices=("open", "acknowledged", "resolved"))
    parser.add_argument("--severity", choices=("critical", "warning", "info"))
    parser.add_argument("--job", help="only incidents of this job")
    parser.add_argument("--fault", help="only incidents with this fault as first cause")
    parser.add_argument("--since", help="only with any change since then (RFC 3339 or epoch)")
    parser.add_argument("--limit", type=_count, default=50, metavar="N", help="default: 50")
    parser.add_argument("--json", action="store_true", help="one incident document a line")
    asking.add_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print the incidents, the newest onset first."""
    try:
        collector = asking.Collector.of(arguments)
        found = collector.every(
            "incidents",
            status=arguments.status,
            severity=arguments.severity,
            job=arguments.job,
            fault=arguments.fault,
            since=arguments.since,
            limit=min(arguments.limit, 200),
        )
        documents = list(itertools.islice(found, arguments.limit))
    except asking.AskingError as error:
        terminal.complain(f"rankscope incidents: {error}")
        return 1
    if arguments.json:
        for document in documents:
            print(terminal.json_line(document))
    elif documents:
        print(table([_HEAD, *map(_row, documents)]))
    else:
        print("no incident")
    return 0


def table(rows: Sequence[Sequence[str]]) -> str:
    """Return rows of text as aligned columns."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = (
        "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True))
        for row in rows
    )
    return "\n".join(line.rstrip() for line in lines)


def _row(document: Mapping[str, Any]) -> tuple[str, ...]:
    causes = document["root_cause"]["hypotheses"]
    fault, where = "unknown", ""
    if causes:
        entity = causes[0]["entity"]
        fault, where = causes[0]["fault"], f"{entity['type']} {entity['id']}"
        if entity["host"] and entity["type"] == "rank":
            where += f" on {entity['host']}"
    texts = (
        document["id"],
        document["status"],
        document["severity"],
        document["opened_at"].replace("T", " ")[:19],
        document["job"] or "-",
        fault,
        where,
    )
    return tuple(terminal.plain(text) for text in texts)


def _count(text: str) -> int:
    count = int(text)
    if count < 1:
        raise argparse.ArgumentTypeError("write a number from 1")
    return count
