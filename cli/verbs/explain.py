"""`rankscope explain`: an incident of a running collector, or what happened to a job in a range."""

import argparse
from typing import Any

from .. import asking, terminal

HELP = "explain an incident, or a time range of a job's past: causes, evidence, what to do"
EXTRA: str | None = None


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "id", nargs="?", help="the incident's id, or its beginning where that is unique"
    )
    parser.add_argument("--job", help="explain a time range of this job's past instead")
    parser.add_argument("--from", dest="start", help="its begin (RFC 3339 or epoch seconds)")
    parser.add_argument("--to", dest="end", help="its end (RFC 3339 or epoch seconds)")
    parser.add_argument("--json", action="store_true", help="print the answer of the API")
    asking.add_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print the incident."""
    ranged = (arguments.job, arguments.start, arguments.end)
    if (arguments.id is None) != all(ranged) or (arguments.id is not None and any(ranged)):
        terminal.complain("rankscope explain: give an incident's id, or --job, --from and --to")
        return 2
    if arguments.id is None:
        return _explain_range(arguments)
    try:
        collector = asking.CollectorClient.of(arguments)
        document = collector.incident(arguments.id)
    except asking.CollectorAnswerError as error:
        terminal.complain(f"rankscope explain: {error}")
        return 1
    if arguments.json:
        print(terminal.json_line(document))
        return 0
    from .. import report  # noqa: PLC0415  only this way of printing needs it

    print(report.incident_report(document))
    if alike := _similar(collector, document["id"]):
        print(f"\n{report.similar_report(alike)}")
    return 0


def _similar(collector: asking.CollectorClient, identity: str) -> list[dict[str, Any]]:
    """Return past incidents like one; an older collector has no such list."""
    try:
        rows: list[dict[str, Any]] = collector.get("incidents", identity, "similar")["items"]
    except asking.CollectorAnswerError:
        return []
    return rows


def _explain_range(arguments: argparse.Namespace) -> int:
    """Print what happened to a job in a time range."""
    parameters = {"job": arguments.job, "from": arguments.start, "to": arguments.end}
    try:
        answer = asking.CollectorClient.of(arguments).slowly("root-cause", **parameters)
    except asking.CollectorAnswerError as error:
        terminal.complain(f"rankscope explain: {error}")
        return 1
    if arguments.json:
        print(terminal.json_line(answer))
        return 0
    from .. import report  # noqa: PLC0415  only this way of printing needs it

    print(report.range_report(answer))
    return 0
