"""`rankscope profile`: profile ranks of a running job over a few steps, and compare them."""

import argparse
import time
from pathlib import Path
from typing import Any

from .. import asking, profiles, terminal

HELP = "profile ranks of a running job over a few steps, and show what differs"
EXTRA: str | None = None

_PAUSE_SECONDS = 1.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("job", help="id of the job")
    parser.add_argument(
        "--ranks",
        required=True,
        type=_ranks,
        metavar="37,5",
        help="the suspect, then healthy peers; with one rank a peer is chosen",
    )
    parser.add_argument(
        "--steps", type=asking.count, metavar="N", help="default: the collector's (20)"
    )
    parser.add_argument("--incident", metavar="ID", help="show the result in this incident too")
    parser.add_argument("--by", help="who asks (default: the name of the token)")
    parser.add_argument("--out", type=Path, metavar="FOLDER", help="save the traces there")
    parser.add_argument(
        "--no-wait", action="store_true", help="print the profile's id and do not wait for it"
    )
    parser.add_argument("--json", action="store_true", help="print the answer of the API")
    asking.add_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Ask for it, wait for its traces, print what differs; 1 where no rank could be profiled."""
    wanted = {name: getattr(arguments, name) for name in ("job", "ranks", "steps", "by")}
    try:
        collector = asking.CollectorClient.of(arguments)
        if arguments.incident:
            wanted["incident"] = collector.incident(arguments.incident)["id"]
        body = {name: value for name, value in wanted.items() if value is not None}
        document = collector.post("profiles", body=body)
        if not arguments.no_wait:
            document = _waited(collector, document)
        if arguments.out is not None:
            _save(collector, document, arguments.out)
    except asking.CollectorAnswerError as error:
        terminal.complain(f"rankscope profile: {error}")
        return 1
    except OSError as error:
        terminal.complain(f"rankscope profile: {error.filename}: {error.strerror}")
        return 1
    if arguments.json:
        print(terminal.json_line(document))
    else:
        _show(document)
    return 1 if document["status"] == "failed" else 0


def _ranks(text: str) -> list[int]:
    parts = text.split(",")
    if not all(part.strip().isdecimal() for part in parts):
        raise argparse.ArgumentTypeError("write ranks such as 37,5")
    return [int(part) for part in parts]


def _waited(collector: asking.CollectorClient, document: dict[str, Any]) -> dict[str, Any]:
    """Return the profile once nobody is waited for: the collector gives up after a while."""
    while document["status"] == "waiting":
        time.sleep(_PAUSE_SECONDS)
        document = collector.get("profiles", document["id"])
    return document


def _save(collector: asking.CollectorClient, document: dict[str, Any], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for row in document["ranks"]:
        if row["trace"]:
            name = f"profile-{document['id']}-rank-{row['rank']}.json.gz"
            path = ("profiles", document["id"], "ranks", str(row["rank"]), "trace")
            collector.save(folder / name, *path)
            terminal.complain(f"{folder / name}: open it in https://ui.perfetto.dev")


def _show(document: dict[str, Any]) -> None:
    print(f"profile {document['id']}: {document['status']}")
    for line in profiles.states(document["ranks"]):
        print(f"  {line}")
    if document["comparison"]:
        print()
        for line in profiles.comparison(document["comparison"]):
            print(line)
