"""`rankscope diagnose PATH`: what a dead job left behind, explained as one incident."""

import argparse
import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import terminal

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

    from ...collector.artefacts import FolderDiagnosis
    from ...collector.settings.collector import CollectorSettings

HELP = "post-mortem of what a job left: dumps, NCCL, framework and kernel logs"
EXTRA: str | None = "collector"

_SETTINGS = "RANKSCOPE_"
"""What the names of variables begin with that hold settings."""

_LINES = 12
"""Lines of logs that a report quotes; --json has all."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "path",
        type=Path,
        nargs="+",
        help="folder of Flight Recorder dumps, logs of ranks, kernel logs, ...; single files; tar "
        "or zip archives of them; - for standard input",
    )
    parser.add_argument("--json", action="store_true", help="print the incident document")
    parser.add_argument("--job", help="what the job is called (default: the folder's name)")
    parser.add_argument(
        "--time-zone",
        type=_zone,
        metavar="NAME",
        help="of times in logs that name none: UTC, Asia/Shanghai, ... (default: this machine's)",
    )
    parser.add_argument("--config", type=Path, help="the collector's settings file")


def run(arguments: argparse.Namespace) -> int:
    """Explain the folder. Exit 1: nothing in it can be read, or none of it shows a fault."""
    from ...collector.artefacts import diagnose  # noqa: PLC0415
    from ...collector.recordings.otlp_lines import RecordingError  # noqa: PLC0415

    defects: list[str] = []
    try:
        diagnosis = diagnose(
            arguments.path,
            _settings(arguments.config),
            job=arguments.job or _job(arguments.path),
            zone=arguments.time_zone,
            failed=lambda stage, error: defects.append(f"{stage}: {error!r}"),
        )
    except RecordingError as error:
        _complain(str(error))
        return 1
    for defect in defects:
        _complain(f"unexpected error in {defect}")
    document = diagnosis.document()
    if document is None:
        _complain(_nothing(diagnosis))
    elif arguments.json:
        print(terminal.json_line(document))
    else:
        print(_report(document))
    return 1 if defects or document is None else 0


def _job(paths: Sequence[Path]) -> str:
    """Return what a job is called of which nobody says it: as the first path is."""
    return paths[0].resolve().name if paths[0] != Path("-") else "standard input"


def _settings(path: Path | None) -> "CollectorSettings | None":
    """Return the collector's settings, None where nobody has set any: loading them takes time."""
    if path is None and not any(name.startswith(_SETTINGS) for name in os.environ):
        return None
    from . import collector  # noqa: PLC0415

    return collector.settings(path)


def _zone(name: str) -> "ZoneInfo":
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError  # noqa: PLC0415  most never need it

    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise argparse.ArgumentTypeError(f"{name!r} is not a time zone: {error}") from error


def _complain(text: str) -> None:
    terminal.complain(f"rankscope diagnose: {text}")


def _nothing(diagnosis: "FolderDiagnosis") -> str:
    found = diagnosis.found
    lines = [f"no fault shows in the {len(found.read)} files that could be read"]
    lines += [f"  {name}: {how}" for name, how in found.read.items()]
    lines += [f"  not read: {name}: {why}" for name, why in found.unread.items()]
    lines += [f"  missing: {text}" for text in found.missing]
    return "\n".join(lines)


def _report(document: dict[str, Any]) -> str:
    """Return the incident as people read it, and what it rests on."""
    from .. import report  # noqa: PLC0415  not wanted with --json

    left = document["leftovers"]
    parts = [report.incident_report(document), ""]
    quoted = _folded(left["lines"])
    if quoted:
        parts.append("Lines of logs, first errors first:")
        parts += [f"  {line}" for line in quoted[:_LINES]]
        if len(quoted) > _LINES:
            parts.append(f"  ... and {len(quoted) - _LINES} more (--json)")
    if left["layout"]:
        parts.append("Parallel layout, by the groups that ranks were in:")
        parts += [
            f"  {kind}: {len(groups)} groups: {' '.join(groups[:4])}{' ...' * (len(groups) > 4)}"
            for kind, groups in left["layout"].items()
        ]
    unread = f", {len(left['unread'])} not:" if left["unread"] else "."
    parts.append(f"Read {len(left['read'])} files{unread}")
    parts += [f"  {name}: {why}" for name, why in list(left["unread"].items())[:_LINES]]
    parts += [f"Missing: {text}" for text in left["missing"]]
    parts += [f"Beside this: {summary}" for summary in left["others"]]
    return "\n".join(parts)


def _folded(lines: list[dict[str, Any]]) -> list[str]:
    """Return the first line of each signature, and how many more bear it."""
    counts = Counter((line["role"], line["signature"]) for line in lines)
    shown: list[str] = []
    for line in lines:
        more = counts.pop((line["role"], line["signature"]), 0) - 1
        if more >= 0:
            text = f"{line['file']}:{line['line']}: [{line['role']}] {line['text']}"
            shown.append(text + (f" (and {more} more of this kind)" if more else ""))
    return shown
