"""`rankscope priors`: the shares of faults in a running collector, moved by people's feedback."""

import argparse
from collections.abc import Mapping, Sequence
from typing import Any

from .. import asking, tables, terminal

HELP = "compare the catalogue's and the learnt share of each fault, or reset what was learnt"
EXTRA: str | None = None

_HEAD = ("FAULT", "CATALOGUE", "LEARNT", "CONFIRMED HERE")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--all", action="store_true", help="faults that nobody confirmed, too")
    parser.add_argument(
        "--reset", action="store_true", help="forget what was learnt; incidents keep their feedback"
    )
    parser.add_argument("--json", action="store_true", help="one fault a line")
    asking.add_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print the shares, those that people's feedback raised most first."""
    try:
        collector = asking.CollectorClient.of(arguments)
        if arguments.reset:
            found = collector.post("priors", "reset")
        else:
            found = collector.get("priors")
    except asking.CollectorAnswerError as error:
        terminal.complain(f"rankscope priors: {error}")
        return 1
    rows = found["items"]
    if arguments.json:
        for row in rows:
            print(terminal.json_line(row))
        return 0
    count = found["incidents"]
    if not count:
        print("no feedback has named a fault yet: every share is the catalogue's")
    if arguments.all or count:
        print(_table(rows, every=arguments.all))
    if count:
        were = "incident was" if count == 1 else "incidents were"
        print(
            f"{count} {were} confirmed here; the catalogue's share is worth {found['strength']:g}"
        )
    return 0


def _table(rows: Sequence[Mapping[str, Any]], *, every: bool) -> str:
    wanted = [row for row in rows if every or row["confirmed"]]
    wanted.sort(key=lambda row: (-row["learnt"] / row["catalogue"], row["fault"]))
    lines = [
        (row["fault"], f"{row['catalogue']:.1%}", f"{row['learnt']:.1%}", str(row["confirmed"]))
        for row in wanted
    ]
    return tables.table([_HEAD, *lines])
