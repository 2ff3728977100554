"""`rankscope feedback`: whether an incident's first cause was right, and what it really was."""

import argparse
from collections.abc import Mapping
from typing import Any

from .. import asking, terminal

HELP = "say whether an incident's first cause was right, and what it really was"
EXTRA: str | None = None

_VERDICTS = ("correct", "wrong", "unsure")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", help="the incident's id, or its beginning where that is unique")
    parser.add_argument(
        "verdict",
        choices=(*_VERDICTS, "withdraw"),
        help="what the first cause was; withdraw takes back the last feedback",
    )
    parser.add_argument("--fault", metavar="ID", help="what it really was, a fault id")
    parser.add_argument("--entity", metavar="ID", help="where it really was, such as a host")
    parser.add_argument("--note", help="what others should know")
    parser.add_argument("--by", help="who says so (default: the name of the token)")
    parser.add_argument("--json", action="store_true", help="print the incident document")
    asking.add_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Send it, and print what the collector counts now."""
    names = ("fault", "entity", "note", "by")
    said = {name: value for name in names if (value := getattr(arguments, name)) is not None}
    if arguments.verdict == "withdraw" and said:
        terminal.complain("rankscope feedback: withdraw takes no --fault, --entity, --note or --by")
        return 2
    try:
        collector = asking.CollectorClient.of(arguments)
        path = ("incidents", collector.incident(arguments.id)["id"], "feedback")
        if arguments.verdict == "withdraw":
            document, applied = collector.act(*path)
        else:
            document, applied = collector.act(*path, body={"verdict": arguments.verdict, **said})
    except asking.CollectorAnswerError as error:
        terminal.complain(f"rankscope feedback: {error}")
        return 1
    if arguments.json:
        print(terminal.json_line(document))
    elif applied:
        print(terminal.plain(_last(document)))
    else:
        print(
            f"incident {document['id']}: taken; the collector is behind and will apply it. "
            "rankscope explain shows it then"
        )
    return 0


def _last(document: Mapping[str, Any]) -> str:
    given = document["handling"]["feedback"]
    if not given:
        return f"incident {document['id']}: all feedback is withdrawn"
    last = given[-1]
    text = f"incident {document['id']}: {last['by']} says that the first cause is {last['verdict']}"
    really = " on ".join(last[name] for name in ("fault", "entity") if last[name])
    return f"{text}: it was {really}" if really else text
