"""`rankscope replay PATH`: recorded telemetry through the live pipeline, and what it gives."""

import argparse
import importlib.util
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import terminal

if TYPE_CHECKING:
    from ...collector.replay import Progress
    from ...collector.settings import CollectorSettings

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
        "--against",
        type=Path,
        metavar="FILE",
        help="run a second settings file too, and list only what differs from it",
    )
    parser.add_argument(
        "--frame",
        type=Path,
        metavar="OUT.parquet",
        help="write findings and completed steps as a table (Parquet; CSV by the name's ending)",
    )
    parser.add_argument(
        "--ignore-actions",
        action="store_true",
        help="leave out what people did: acknowledged, resolved, silenced",
    )


def run(arguments: argparse.Namespace) -> int:
    """Replay and print the final state of every incident, or what differs between two settings."""
    from ...collector.recordings import RecordingError  # noqa: PLC0415
    from . import collector  # noqa: PLC0415

    configs = [arguments.config] if arguments.against is None else [
        arguments.against, arguments.config,
    ]  # fmt: skip
    # A mistake in any of them stops a replay as it stops a start.
    settings = [collector.settings(path) for path in configs]
    if (problem := _cannot_write(arguments.frame)) is not None:
        terminal.complain(f"rankscope replay: {problem}")
        return 2
    messages = _Messages()
    try:
        found = [
            _documents(arguments, chosen, messages, last=number == len(settings))
            for number, chosen in enumerate(settings, start=1)
        ]
    except RecordingError as error:
        messages.clear()
        terminal.complain(f"rankscope replay: {error}")
        return 1
    messages.clear()
    if arguments.against is None:
        _print_incidents(found[0], as_json=arguments.json)
    else:
        _print_differences(*found, as_json=arguments.json)
    return 1 if messages.defects else 0


def _documents(
    arguments: argparse.Namespace,
    settings: "CollectorSettings",
    messages: "_Messages",
    *,
    last: bool,
) -> list[dict[str, Any]]:
    """Return the incidents of one replay, and write its table where that is asked for."""
    from ...collector.frames import Frames  # noqa: PLC0415
    from ...collector.pipeline import Pipeline  # noqa: PLC0415
    from ...collector.replay import Replay  # noqa: PLC0415

    pipeline = Pipeline(detectors=settings.detectors.selection(), settings=settings.evaluation)
    frames = Frames() if arguments.frame is not None and last else None
    if frames is not None:
        pipeline.watch = frames.evaluated
    replay = Replay(
        pipeline=pipeline,
        warn=messages.warn,
        failed=messages.failed,
        progress=messages.progress,
        ignore_actions=arguments.ignore_actions,
    )
    documents = replay.run(arguments.path)
    if frames is not None:
        messages.clear()
        terminal.complain(f"{arguments.frame}: {frames.write(Path(str(arguments.frame)))} rows")
    return documents


def _cannot_write(path: Path | None) -> str | None:
    """Return why a table cannot be written, before hours are spent on what goes into it."""
    if path is None:
        return None
    if importlib.util.find_spec("pandas") is None or importlib.util.find_spec("pyarrow") is None:
        return "a table needs pandas and pyarrow: pip install 'rankscope[analysis]'"
    if path.suffix not in (".parquet", ".csv"):
        return f"{path}: a table is written as .parquet or .csv"
    if not path.absolute().parent.is_dir():
        return f"{path}: there is no folder {path.absolute().parent}"
    return None


def _print_incidents(documents: Sequence[dict[str, Any]], *, as_json: bool) -> None:
    from ...collector.replay import as_line  # noqa: PLC0415

    for document in documents:
        print(as_line(document) if as_json else _report(document))
    if not documents and not as_json:
        print("no incident")


def _print_differences(
    old: Sequence[dict[str, Any]], new: Sequence[dict[str, Any]], *, as_json: bool
) -> None:
    """Print what the settings change from those that they are held against."""
    from ...collector.comparing import differences  # noqa: PLC0415
    from ...collector.replay import as_line  # noqa: PLC0415

    found = differences(old, new)
    for difference in found:
        row = difference.document()
        if as_json:
            print(as_line(row))
            continue
        sign = {"new": "+", "gone": "-", "changed": "~"}[row["kind"]]
        print(f"{sign} {row['new'] or row['old']}  job {row['job']}: {row['summary']}")
        for name, (before, after) in row["changed"].items():
            print(f"    {name}: {before} -> {after}")
    if not as_json:
        print(f"{len(old)} incidents before, {len(new)} after, {len(found)} differ")


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
