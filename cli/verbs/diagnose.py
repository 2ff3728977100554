"""`rankscope diagnose PATH`: what a dead job left behind, explained as one incident."""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from .. import terminal

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

    from ...collector.artefacts import FolderDiagnosis
    from ...collector.settings.collector import CollectorSettings

HELP = "post-mortem of what a job left: dumps, NCCL, framework and kernel logs"
EXTRA: str | None = "collector"

_WIDTH = 60
_MOST_PORT = 65535
_SETTINGS = "RANKSCOPE_"
"""What the names of variables begin with that hold settings."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
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
    parser.add_argument(
        "--browse",
        action="store_true",
        help="show what was found in the web console of this machine, until Ctrl-C",
    )
    parser.add_argument(
        "--port",
        type=_port,
        default=0,
        metavar="N",
        help="of 127.0.0.1, with --browse (default: any free one)",
    )


def run(arguments: argparse.Namespace) -> int:
    """Explain the folder. Exit 1: nothing in it can be read, or none of it shows a fault."""
    from ...collector.artefacts import diagnose  # noqa: PLC0415
    from ...collector.recordings.otlp_lines import RecordingError  # noqa: PLC0415

    if arguments.port and not arguments.browse:
        _complain("--port goes with --browse")
        return 2
    defects: list[str] = []
    try:
        diagnosis = diagnose(
            arguments.path,
            _settings(arguments.config),
            job=arguments.job or _job(arguments.path),
            zone=arguments.time_zone,
            failed=lambda stage, error: defects.append(f"{stage}: {error!r}"),
            reading=_progress if sys.stderr.isatty() else None,
        )
    except RecordingError as error:
        _complain(str(error))
        return 1
    finally:
        if sys.stderr.isatty():
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
    for defect in defects:
        _complain(f"unexpected error in {defect}")
    document = diagnosis.document()
    if document is None:
        from .. import leftovers  # noqa: PLC0415

        _complain(leftovers.no_fault(diagnosis.found))
        if arguments.json and (ending := diagnosis.ending_document()) is not None:
            print(terminal.json_line(ending), flush=True)
    elif arguments.json:
        # Whoever reads it from a pipe need not wait for the end of the console.
        print(terminal.json_line(document), flush=True)
    else:
        from .. import leftovers  # noqa: PLC0415  not wanted with --json

        print(leftovers.report_of(document))
    if document is not None and arguments.browse and not _browsed(diagnosis, arguments):
        return 1
    return 1 if defects or document is None else 0


def _browsed(diagnosis: "FolderDiagnosis", arguments: argparse.Namespace) -> bool:
    """Show it in the console until somebody ends that; False where the port is taken."""
    from ...collector import browsing  # noqa: PLC0415  not wanted with the report alone

    def ready(address: str) -> None:
        out = sys.stderr if arguments.json else sys.stdout
        print(f"\n{address}\nCtrl-C ends it; nothing is kept.", file=out, flush=True)

    try:
        bound = browsing.bind(arguments.port)
    except OSError as error:
        _complain(f"--port {arguments.port}: {error.strerror}; leave it out for a free one")
        return False
    browsing.serve(diagnosis, bound, ready)
    return True


def _progress(name: str) -> None:
    """Say on a terminal what is read; the next word goes over it."""
    text = terminal.plain(name)[-_WIDTH:]
    print(f"\r\x1b[Kreading {text} ...", end="", file=sys.stderr, flush=True)


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


def _port(text: str) -> int:
    if not text.isdecimal() or not 0 <= int(text) <= _MOST_PORT:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port: 1 to {_MOST_PORT}, 0 for any")
    return int(text)


def _complain(text: str) -> None:
    terminal.complain(f"rankscope diagnose: {text}")
