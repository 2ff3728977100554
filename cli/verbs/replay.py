"""`rankscope replay PATH`: recorded telemetry through the live pipeline, and what it gives."""

import argparse
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import terminal

if TYPE_CHECKING:
    from ...collector.replay import Progress

HELP = "run a journal or OTLP JSON lines through the pipeline again, in their own time"
EXTRA: str | None = "collector"

_PROGRESS_SECONDS = 0.5


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    parser.add_argument(
        "path",
        type=Path,
        help="a journal folder, or a file or folder of OTLP JSON lines (*.jsonl, *.jsonl.gz)",
    )
    parser.add_argument("--json", action="store_true", help="one incident document a line")
    parser.add_argument("--config", type=Path, help="the collector's settings file")
    parser.add_argument(
        "--ignore-actions",
        action="store_true",
        help="leave out what people did: acknowledged, resolved, silenced",
    )


def run(arguments: argparse.Namespace) -> int:
    """Replay and print the final state of every incident."""
    from ...collector.pipeline import Pipeline  # noqa: PLC0415
    from ...collector.recordings import RecordingError  # noqa: PLC0415
    from ...collector.replay import Replay, as_line  # noqa: PLC0415
    from . import collector  # noqa: PLC0415

    settings = collector.settings(arguments.config)
    messages = _Messages()
    replay = Replay(
        pipeline=Pipeline(settings=settings.evaluation),
        warn=messages.warn,
        failed=messages.failed,
        progress=messages.progress,
        ignore_actions=arguments.ignore_actions,
    )
    try:
        documents = replay.run(arguments.path)
    except RecordingError as error:
        messages.clear()
        terminal.complain(f"rankscope replay: {error}")
        return 1
    messages.clear()
    for document in documents:
        print(as_line(document) if arguments.json else _report(document))
    if not documents and not arguments.json:
        print("no incident")
    return 1 if messages.defects else 0


def _report(document: dict[str, Any]) -> str:
    from .. import report  # noqa: PLC0415  not wanted with --json

    return report.incident_report(document)


class _Messages:
    """Progress and warnings on standard error."""

    def __init__(self) -> None:
        self.defects = 0
        self._watched = sys.stderr.isatty()
        self._shown_at = 0.0

    def warn(self, text: str) -> None:
        """Report what was left out."""
        self.clear()
        terminal.complain(f"rankscope replay: {text}")

    def failed(self, stage: str, error: Exception) -> None:
        """Report an exception of the pipeline, after which the replay goes on."""
        self.defects += 1
        self.warn(f"unexpected error in {stage}: {type(error).__name__}: {error}")

    def progress(self, progress: "Progress") -> None:
        """Show how far it is, twice a second at most, on a terminal."""
        if not self._watched or time.monotonic() - self._shown_at < _PROGRESS_SECONDS:
            return
        self._shown_at = time.monotonic()
        at = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(progress.now))
        print(f"\r{progress.records} records, {at} UTC", end="", file=sys.stderr, flush=True)

    def clear(self) -> None:
        """Remove the progress line."""
        if self._watched and self._shown_at:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
