"""`rankscope tokens new`: a bearer token, and the line of the settings with its digest."""

import argparse
import hashlib
import json
import secrets
import sys
from datetime import UTC, datetime, timedelta
from typing import Any

from .. import terminal

HELP = "make bearer tokens for the collector's API; settings hold their digests only"
EXTRA: str | None = None

_PREFIX = "rks_"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True)
    for name, text in (
        ("new", "print a new token once, and its line for api.tokens"),
        ("digest", "print the line for a token that is read from standard input"),
    ):
        action = actions.add_parser(name, help=text, description=text)
        action.add_argument("--role", choices=("ingest", "read", "admin"), required=True)
        action.add_argument(
            "--jobs",
            action="append",
            default=[],
            metavar="PATTERN",
            help="limit it to jobs by pattern (* ? [..]); may be repeated",
        )
        action.add_argument("--name", default="", help="who uses it; signs what is done with it")
        action.add_argument(
            "--days", type=_days, metavar="N", help="valid for so many days; default: for ever"
        )
        action.add_argument("--json", action="store_true", help="print one JSON object")


def run(arguments: argparse.Namespace) -> int:
    """Print the token (of `new`) and the entry of the settings."""
    if arguments.action == "new":
        token = _PREFIX + secrets.token_urlsafe(32)
    else:
        token = sys.stdin.readline().strip()
        if len(token) < 16 or not token.isascii() or not token.isprintable() or " " in token:
            terminal.complain(
                "rankscope tokens: write at least 16 printable ASCII characters without spaces "
                "on standard input"
            )
            return 1
    entry = _entry(arguments, token)
    if arguments.json:
        shown = {"token": token} if arguments.action == "new" else {}
        print(json.dumps({**shown, "entry": entry}))
        return 0
    if arguments.action == "new":
        print(f"token, shown this once:  {token}\n")
    print("entry of api.tokens in the collector's settings; restart the collector after it:\n")
    print(f"    - {json.dumps(entry)}")
    return 0


def _entry(arguments: argparse.Namespace, token: str) -> dict[str, Any]:
    """Return the entry of api.tokens; JSON is YAML too."""
    digest = hashlib.sha256(token.encode()).hexdigest()
    entry: dict[str, Any] = {"token": f"sha256:{digest}", "role": arguments.role}
    if arguments.jobs:
        entry["jobs"] = arguments.jobs
    if arguments.name:
        entry["name"] = arguments.name
    if arguments.days is not None:
        until = datetime.now(UTC) + timedelta(days=arguments.days)
        entry["expires_at"] = until.strftime("%Y-%m-%dT%H:%M:%SZ")
    return entry


def _days(text: str) -> float:
    days = float(text)
    if not 0 < days <= 36_500:
        raise argparse.ArgumentTypeError("write a number of days from 0 to 36500")
    return days
