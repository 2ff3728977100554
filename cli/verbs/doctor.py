"""`rankscope doctor`: what this node can and cannot observe, why, and what would mend it."""

import argparse
import json
import os
import shutil
import textwrap
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ...agent.examination import ExaminedReader, NodeExamination

HELP = "say what this node can and cannot observe, why, and what would mend it"
EXTRA: str | None = "agent"

_STATES = {
    "yes": "reports all it could",
    "part": "reports a part",
    "waits": "nothing to report yet",
    "absent": "no such hardware here, or switched off",
    "profile": "needs the full profile",
    "no": "a problem",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="one JSON object a reader and line")
    parser.add_argument(
        "--profile",
        choices=["restricted", "full"],
        help="what the agent is meant to be able to do here; default: full where the kernel log "
        "may be read",
    )
    parser.add_argument("--config", type=Path, metavar="FILE", help="the agent's settings")


def run(arguments: argparse.Namespace) -> int:
    """Try every reader; 0 when nothing is wrong, 1 when there are problems."""
    from ... import settings  # noqa: PLC0415  needs the extra
    from ...agent import examination  # noqa: PLC0415
    from ...agent.settings import FOREIGN, AgentSettings  # noqa: PLC0415

    loaded = settings.load(
        AgentSettings, path=arguments.config, environ=os.environ, foreign=FOREIGN
    )
    found = examination.examine(loaded, profile=arguments.profile)
    if arguments.json:
        for row in found.rows:
            print(json.dumps(_document(row)))
    else:
        _print(found)
    return 1 if found.problems else 0


def _document(row: "ExaminedReader") -> dict[str, object]:
    return {
        "reader": row.reader,
        "state": row.state,
        "supported": row.state in ("yes", "part", "waits"),
        "reason": row.reason,
        "profile": row.profile,
        "reported": dict(row.reported),
        "missing": dict(row.missing),
        "fix": row.fix,
    }


def _print(found: "NodeExamination") -> None:
    columns = max(60, shutil.get_terminal_size((100, 24)).columns)
    width = max(len(row.reader) for row in found.rows)
    for rows in _alike(found.rows):
        row = rows[0]
        total = sum(row.reported.values())
        reported = f"{total} series of {len(row.reported)} metrics" if total else ""
        line = "; ".join(text for text in (reported, row.reason) if text)
        subject = row.reader if len(rows) == 1 else f"{len(rows)} readers"
        _wrapped(f"{subject:<{width}}  {row.state:<7}  ", line or "events only", columns)
        if len(rows) > 1:
            names = ", ".join(one.reader for one in rows)
            _wrapped(" " * (width + 11), names, columns)
        if row.state == "part":
            for why, metrics in _by_reason(row).items():
                _wrapped(" " * (width + 11), f"without {', '.join(metrics)}: {why}", columns)
        if row.fix:
            _wrapped(" " * (width + 11), f"to mend: {row.fix}", columns)
    print()
    counted: Counter[str] = Counter(row.state for row in found.rows)
    print(f"Profile {found.profile}. {len(found.rows)} readers:")
    for state, meaning in _STATES.items():
        if counted[state]:
            print(f"  {counted[state]:3d} {state:<8} {meaning}")
    if found.events:
        print(f"{len(found.events)} events while the readers were tried, the last ones:")
        for event in list(found.events)[-5:]:
            text = event.attributes.get("text", "")
            print(f"  {event.name} {event.attributes.get('code', '')} {text}".rstrip())


def _alike(rows: "Sequence[ExaminedReader]") -> "list[list[ExaminedReader]]":
    """Return rows in order, those with nothing but the same state, reason and fix together."""
    groups: dict[object, list[ExaminedReader]] = {}
    for row in rows:
        alone = row.reported or row.state == "part" or not row.reason
        key = row.reader if alone else (row.state, row.reason, row.fix)
        groups.setdefault(key, []).append(row)
    return list(groups.values())


def _by_reason(row: "ExaminedReader") -> dict[str, list[str]]:
    reasons: dict[str, list[str]] = {}
    for metric, why in row.missing.items():
        reasons.setdefault(why, []).append(metric)
    return reasons


def _wrapped(head: str, text: str, columns: int) -> None:
    print(
        textwrap.fill(
            text,
            width=columns,
            initial_indent=head,
            subsequent_indent=" " * len(head),
            break_long_words=False,
            break_on_hyphens=False,
        )
        if text
        else head.rstrip()
    )
