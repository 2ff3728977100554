"""`rankscope doctor`: what this node can and cannot observe, and why."""

import argparse
import json
from typing import Any

HELP = "say what this node can and cannot observe, and why"
EXTRA: str | None = "agent"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("--json", action="store_true", help="one JSON object a reader and line")


def run(arguments: argparse.Namespace) -> int:
    """Ask every reader; 0 when all can read, 1 when one of them cannot."""
    from ...agent import readers  # noqa: PLC0415  needs the extra

    rows: list[dict[str, Any]] = []
    for reader in readers.everything(readers.Surroundings()):
        supported, reason = reader.supported()
        rows.append({"reader": reader.name, "supported": supported, "reason": reason})
    if arguments.json:
        for row in rows:
            print(json.dumps(row))
    else:
        width = max(len(row["reader"]) for row in rows)
        for row in rows:
            word = "yes" if row["supported"] else "no"
            print(f"{row['reader']:<{width}}  {word:<3}  {row['reason']}".rstrip())
        print()
        print("Not looked at by this version: accelerators, network ports, kernel log.")
    return 0 if all(row["supported"] for row in rows) else 1
