"""`rankscope replay PATH|--prometheus URL`: what was recorded, through the live pipeline."""

import argparse
import dataclasses
import importlib.util
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...vocabulary import times
from .. import terminal

if TYPE_CHECKING:
    from ...collector.replay.comparing import ReplayComparison, ReplayOutcome
    from ...collector.replay.frames import ReplayFrames
    from ...collector.replay.replay import ReplayProgress, ReplayRun
    from ...collector.settings.collector import CollectorSettings

HELP = "run a journal, OTLP JSON lines or a Prometheus's past through the pipeline again"
EXTRA: str | None = "collector"

_PROGRESS_SECONDS = 0.5


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "path",
        type=Path,
        nargs="?",
        help="a journal folder, or a file or folder of OTLP JSON lines (*.jsonl, *.jsonl.gz)",
    )
    parser.add_argument(
        "--prometheus",
        metavar="URL",
        help="a Prometheus-compatible store in the place of PATH: what its scrapes found; token, "
        "matchers and bounds stand in the settings file, under the same url in `prometheus`",
    )
    parser.add_argument(
        "--from",
        dest="start",
        metavar="TIME",
        help="RFC 3339 or epoch seconds; with --prometheus or --log",
    )
    parser.add_argument(
        "--log",
        action="store_true",
        help="the shared log of `log.url` in the place of PATH, all of it or from --from to --to",
    )
    parser.add_argument("--to", dest="end", metavar="TIME", help="the same; left out: now")
    parser.add_argument(
        "--json",
        action="store_true",
        help="one incident document a line; with --against one difference a line, a summary last",
    )
    parser.add_argument("--config", type=Path, help="the collector's settings file")
    parser.add_argument(
        "--against",
        type=Path,
        metavar="FILE",
        help="run a second settings file too, and list only what differs from it in what "
        "people see or are sent",
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
    from ...collector.recordings.otlp_lines import RecordingError  # noqa: PLC0415
    from . import collector  # noqa: PLC0415

    configs = [arguments.config] if arguments.against is None else [
        arguments.against, arguments.config,
    ]  # fmt: skip
    # A mistake in any of them stops a replay as it stops a start.
    settings = [collector.settings(path) for path in configs]
    if (problem := _wrong_use(arguments)) is not None:
        terminal.complain(f"rankscope replay: {problem}")
        return 2
    if (problem := _cannot_write(arguments.frame)) is not None:
        terminal.complain(f"rankscope replay: {problem}")
        return 2
    messages = _ReplayMessages()
    try:
        found = [
            _outcome(arguments, chosen, messages, last=number == len(settings))
            for number, chosen in enumerate(settings, start=1)
        ]
    except RecordingError as error:
        messages.clear()
        terminal.complain(f"rankscope replay: {error}")
        return 1
    messages.clear()
    if arguments.against is None:
        _print_incidents(found[0].incidents, as_json=arguments.json)
    else:
        from ...collector.replay.comparing import compare  # noqa: PLC0415

        _print_comparison(compare(*found), as_json=arguments.json)
    return 1 if messages.defects or messages.cut_off else 0


def _outcome(
    arguments: argparse.Namespace,
    settings: "CollectorSettings",
    messages: "_ReplayMessages",
    *,
    last: bool,
) -> "ReplayOutcome":
    """Return what one replay gives, and write its table where that is asked for.

    Raises RecordingError where nothing was read: no incident would say that all was well.
    """
    from ...collector.pipeline.pipeline import DetectionPipeline  # noqa: PLC0415
    from ...collector.recordings.otlp_lines import RecordingError  # noqa: PLC0415
    from ...collector.replay.comparing import ReplayOutcome  # noqa: PLC0415
    from ...collector.replay.frames import ReplayFrames  # noqa: PLC0415
    from ...collector.replay.replay import ReplayRun  # noqa: PLC0415

    pipeline = DetectionPipeline(
        detectors=settings.detectors.selection(), settings=settings.evaluation
    )
    frames = ReplayFrames() if arguments.frame is not None and last else None
    if frames is not None:
        pipeline.watch = frames.evaluated
    replay = ReplayRun(
        pipeline=pipeline,
        warn=messages.warn,
        failed=messages.failed,
        progress=messages.progress,
        ignore_actions=arguments.ignore_actions,
    )
    if arguments.log:
        documents = _shared(replay, frames, arguments, settings)
    elif arguments.prometheus is None:
        documents = replay.run(arguments.path)
    else:
        documents = _scraped(replay, arguments, settings, messages)
    if not replay.replayed.accepted:
        source = "the log" if arguments.log else arguments.path or arguments.prometheus
        raise RecordingError(f"{source}: holds no telemetry: no sample and no event was read")
    messages.cut_off += len(replay.replayed.cut_off)
    if frames is not None:
        messages.clear()
        terminal.complain(f"{arguments.frame}: {frames.write(Path(str(arguments.frame)))} rows")
    return ReplayOutcome(documents, replay.replayed.notices)


def _scraped(
    replay: "ReplayRun",
    arguments: argparse.Namespace,
    settings: "CollectorSettings",
    messages: "_ReplayMessages",
) -> list[dict[str, Any]]:
    """Return the incidents of what a store scraped."""
    from ...collector.prometheus import past  # noqa: PLC0415
    from ...collector.settings.prometheus import PrometheusSettings  # noqa: PLC0415

    given = PrometheusSettings(url=arguments.prometheus)
    source = next((one for one in settings.prometheus if one.url == given.url), given)
    start, end = _range(arguments)
    found = past.ticks(source, start, end, warn=messages.warn)
    return replay.run_scraped(found, until=end)


def _shared(
    replay: "ReplayRun",
    frames: "ReplayFrames | None",
    arguments: argparse.Namespace,
    settings: "CollectorSettings",
) -> list[dict[str, Any]]:
    """Return the incidents of a shared log, its partitions one after another."""
    from ...collector.cluster import replaying  # noqa: PLC0415
    from ...collector.pipeline.pipeline import DetectionPipeline  # noqa: PLC0415
    from ...collector.recordings.otlp_lines import RecordingError  # noqa: PLC0415

    if not settings.log.shared:
        raise RecordingError("--log needs log.url (RANKSCOPE_LOG__URL)")

    def one() -> "ReplayRun":
        line = DetectionPipeline(
            detectors=settings.detectors.selection(), settings=settings.evaluation
        )
        line.watch = None if frames is None else frames.evaluated
        return dataclasses.replace(replay, pipeline=line, _last={})

    start = 0.0 if arguments.start is None else _time("--from", arguments.start)
    end = time.time() if arguments.end is None else _time("--to", arguments.end)
    return replaying.replayed(settings.log, one, start_ns=int(start * 1e9), end_ns=int(end * 1e9))


def _range(arguments: argparse.Namespace) -> tuple[float, float]:
    """Return from when to when a store is asked for. Raises ValueError."""
    start = _time("--from", arguments.start)
    return start, time.time() if arguments.end is None else _time("--to", arguments.end)


def _time(option: str, text: str) -> float:
    """Return the seconds since the epoch that an option gives. Raises ValueError, naming it."""
    try:
        return times.parse(text)
    except ValueError as error:
        raise ValueError(f"{option}: {error}") from None


def _wrong_use(arguments: argparse.Namespace) -> str | None:
    if arguments.log:
        other = arguments.path is not None or arguments.prometheus is not None
        return "give --log or PATH or --prometheus URL" if other else None
    if arguments.prometheus is None:
        if arguments.start is not None or arguments.end is not None:
            return "--from and --to go with --prometheus URL or --log"
        if arguments.path is not None:
            return None
        return "give a PATH, --log, or --prometheus URL --from"
    if arguments.path is not None:
        return "give a PATH or --prometheus URL, not both"
    if arguments.start is None:
        return "--prometheus needs --from TIME (RFC 3339, or seconds since the epoch)"
    from ...collector.settings.prometheus import PrometheusSettings  # noqa: PLC0415

    try:
        PrometheusSettings(url=arguments.prometheus)
        start, end = _range(arguments)
    except ValueError as error:
        return str(error)
    return None if start < end else "--from must be before --to"


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
    from ...collector.replay.replay import as_line  # noqa: PLC0415

    for document in documents:
        print(as_line(document) if as_json else _report(document))
    if not documents and not as_json:
        print("no incident")


def _print_comparison(found: "ReplayComparison", *, as_json: bool) -> None:
    """Print what the settings change from those that they are held against."""
    from ...collector.replay.replay import as_line  # noqa: PLC0415
    from .. import comparison  # noqa: PLC0415

    if as_json:
        for difference in found.differences:
            print(as_line(difference.document()))
        print(as_line(found.document()))
    else:
        print(*comparison.lines(found), sep="\n")


def _report(document: dict[str, Any]) -> str:
    from .. import report  # noqa: PLC0415  not wanted with --json

    return report.incident_report(document)


class _ReplayMessages:
    """Progress and warnings on standard error."""

    def __init__(self) -> None:
        self.defects = 0
        self.cut_off = 0
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

    def progress(self, progress: "ReplayProgress") -> None:
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
