"""`rankscope explain ID`: one incident of a running collector, with its causes and evidence."""

import argparse
from typing import Any

from .. import asking, terminal

HELP = "show one incident of a running collector: causes, evidence, what to do"
EXTRA: str | None = None

_SHORTEST = 4
"""Characters of an id that are enough where they are unique."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    parser.add_argument("id", help="the incident's id, or its beginning where that is unique")
    parser.add_argument("--json", action="store_true", help="print the incident document")
    asking.add_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print the incident."""
    try:
        document = _find(asking.Collector.of(arguments), arguments.id)
    except asking.AskingError as error:
        terminal.complain(f"rankscope explain: {error}")
        return 1
    if arguments.json:
        print(terminal.json_line(document))
        return 0
    from .. import report  # noqa: PLC0415  only this way of printing needs it

    print(report.incident_report(document))
    return 0


def _find(collector: asking.Collector, identity: str) -> dict[str, Any]:
    try:
        return collector.get("incidents", identity)
    except asking.AskingError as error:
        if error.status != 404 or len(identity) < _SHORTEST:
            raise
        fits = [
            document
            for document in collector.every("incidents", limit=200)
            if document["id"].startswith(identity)
        ]
        if len(fits) > 1:
            ids = ", ".join(document["id"] for document in fits[:5])
            raise asking.AskingError(f"{identity} is the beginning of several: {ids}") from None
        if not fits:
            raise
        return fits[0]
