"""Recordings of OTLP JSON lines: their lines in order, and what time it is at each of them.

The form is that of the OpenTelemetry Collector's file exporter: every line is one
ExportMetricsServiceRequest or ExportLogsServiceRequest. One file keeps its order; the lines of
several are merged by event time, then file name, then line.
"""

import gzip
import json
import re
import tempfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

from ..journal.kinds import PayloadKind

RUN_ON_SECONDS = 30
"""How long time runs on at the end of a recording.

So that what began last can still be evaluated.
"""
_SUFFIXES = (".jsonl", ".jsonl.gz")
LATEST = 4_102_444_800.0
"""2100-01-01. A time beyond it is garbage, not a clock that is ahead."""
_AHEAD_SECONDS = 3600.0
"""A single time so far beyond the middle one of its line does not say when the line was written."""

_METRICS = re.compile(rb'\s*\{\s*"resource(?:_m|M)etrics"')
_LOGS = re.compile(rb'\s*\{\s*"resource(?:_l|L)ogs"')
_OTHER = re.compile(rb'\s*\{\s*(?:\}|"resource(?:_s|S)pans"|"resource(?:_p|P)rofiles")')
# Inside a JSON text a quote is written \", so these keys cannot be met inside a value.
_TIME = re.compile(rb'"time(?:UnixNano|_unix_nano)"\s*:\s*"?(\d{1,20})')
_OBSERVED = re.compile(rb'"observed(?:TimeUnixNano|_time_unix_nano)"\s*:\s*"?(\d{1,20})')


class RecordingError(Exception):
    """A recording that cannot be read; its text names the file, and the line where there is one."""


@dataclass(frozen=True, slots=True)
class RecordingLine:
    """One line of a recording. `last`: nothing follows it in its file, not even a line end."""

    kind: PayloadKind
    body: bytes
    file: Path
    number: int
    last: bool

    @property
    def place(self) -> str:
        """Return where it stands, as an error says it."""
        return f"{self.file}:{self.number}"


def files(path: Path) -> list[Path]:
    """Return the files of a recording: the file itself, or those in the folder, by name."""
    if path.is_dir():
        return sorted(
            file for file in path.iterdir() if file.name.endswith(_SUFFIXES) and file.is_file()
        )
    return [path]


def lines(
    paths: Sequence[Path],
    *,
    warn: Callable[[str], None],
    cut_off: Callable[[str], None] | None = None,
) -> Iterator[RecordingLine]:
    """Return the lines of the files in their order. Reading them raises RecordingError.

    `warn` is called for a last line that was cut off, as in a file that is still written;
    `cut_off` (else `warn`) for a compressed file that stops in the middle: how much of it is
    missing cannot be known. What cannot be a request at all is an error.
    """
    cut_off = cut_off or warn
    if len(paths) == 1:
        return _in_order(paths[0], warn, cut_off)
    return _merged(paths, warn, cut_off)


def event_time(body: bytes) -> float | None:
    """Return the newest time in a line (seconds), leaving out absurd ones; None without any."""
    found = [int(text) for text in _TIME.findall(body)]
    times = sorted(at / 1e9 for at in found if 0 < at < LATEST * 1e9)
    if not times:
        found = [int(text) for text in _OBSERVED.findall(body)]
        times = sorted(at / 1e9 for at in found if 0 < at < LATEST * 1e9)
    if not times:
        return None
    bound = times[(len(times) - 1) // 2] + _AHEAD_SECONDS
    return next(at for at in reversed(times) if at <= bound)


def plausible(at: float) -> bool:
    """Tell whether a time can be that of a clock at all."""
    return 0.0 < at < LATEST


def not_json(text: bytes) -> str | None:
    """Return why a line is not JSON, without quoting it; None where it is."""
    try:
        json.loads(text.rstrip().decode("utf-8"))
    except UnicodeDecodeError as error:
        return f"not JSON: not UTF-8 at byte {error.start + 1}"
    except json.JSONDecodeError as error:
        return f"not JSON: {error.msg.removesuffix(' at')} at column {error.colno}"
    except ValueError:
        return "not JSON: a number of more digits than are read"
    except RecursionError:
        return "not JSON: nested too deeply"
    return None


def _in_order(
    path: Path, warn: Callable[[str], None], cut_off: Callable[[str], None]
) -> Iterator[RecordingLine]:
    with _opened(path) as stream:
        for number, text in enumerate(_readable(stream, path, cut_off), start=1):
            if (line := _line(text, path, number, warn)) is not None:
                yield line


def _merged(
    paths: Sequence[Path], warn: Callable[[str], None], cut_off: Callable[[str], None]
) -> Iterator[RecordingLine]:
    """Sort what the order needs, not the lines themselves: recordings can be large."""
    with ExitStack() as stack:
        streams = [stack.enter_context(_seekable(path, cut_off)) for path in paths]
        order: list[tuple[float, int, int, int]] = []
        for place, stream in enumerate(streams):
            offset, at = 0, 0.0
            for number, text in enumerate(stream, start=1):
                # A line without a time stays behind the one before it.
                at = event_time(text) or at
                order.append((at, place, number, offset))
                offset += len(text)
        order.sort()
        for _, place, number, offset in order:
            streams[place].seek(offset)
            text = streams[place].readline()
            if (line := _line(text, paths[place], number, warn)) is not None:
                yield line


def _line(
    text: bytes, path: Path, number: int, warn: Callable[[str], None]
) -> RecordingLine | None:
    whole = text.endswith(b"\n")
    if _METRICS.match(text):
        return RecordingLine(PayloadKind.METRICS_JSON, text, path, number, last=not whole)
    if _LOGS.match(text):
        return RecordingLine(PayloadKind.LOGS_JSON, text, path, number, last=not whole)
    if text.strip() and not _OTHER.match(text):
        broken = not_json(text)
        if whole or broken is None:
            what = broken or "neither resourceMetrics nor resourceLogs: no OTLP request"
            raise RecordingError(f"{path}:{number}: {what}")
        warn(f"{path}:{number}: the last line is cut off and left out")
    return None


def _opened(path: Path) -> IO[bytes]:
    try:
        if path.name.endswith(".gz"):
            return cast("IO[bytes]", gzip.open(path))
        return path.open("rb")
    except OSError as error:
        raise RecordingError(f"{path}: {error.strerror or error}") from error


def _readable(stream: IO[bytes], path: Path, cut_off: Callable[[str], None]) -> Iterator[bytes]:
    """Yield lines until the end, or until a compressed file stops in the middle."""
    number = 0
    try:
        for text in stream:
            number += 1
            yield text
    except EOFError:
        cut_off(f"{path}: the compressed file is cut off after line {number}; the rest is missing")
    except (OSError, zlib.error) as error:
        raise RecordingError(f"{path}: unreadable after line {number}: {error}") from error


def _seekable(path: Path, cut_off: Callable[[str], None]) -> IO[bytes]:
    """Return the file, or its unpacked copy: seeking in a packed one reads it from the start."""
    if not path.name.endswith(".gz"):
        return _opened(path)
    copy = tempfile.TemporaryFile()  # noqa: SIM115  the caller's ExitStack closes it
    with _opened(path) as packed:
        copy.writelines(_readable(packed, path, cut_off))
    copy.seek(0)
    return copy
