"""Errors at the end of a log in words that no table has: quoted where nothing else says anything.

They say that something ended badly, and not what: no cause follows from them. Where the very last
of them is an exception of Python, whose traceback was cut off, its process ended by it.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import BinaryIO

from ....formats.training_logs import behind_bars, cleaning, tracebacks
from ....vocabulary.log_lines import LAST_WORDS
from ....vocabulary.samples import Event, TelemetryResource
from ..found import ArtefactContents, LogQuote
from . import survival

_TAIL_BYTES = 1 << 16
_MOST_QUOTED = 5
_LONGEST = 1000

_ERROR = re.compile(
    rb"(?:^|[\s\[(|<])(?:ERROR|FATAL|CRITICAL|SEVERE|PANIC)(?:[\s\])|:>,]|$)"
    rb"|\b(?:level|severity|levelname|lvl)\"?\s{0,4}[=:]\s{0,4}\"?(?i:error|fatal|critical|panic)\b"
    rb"|(?:^|[\s\[])[EF](?:\d{4} \d\d:\d\d:\d\d|\])"
    rb"|^(?:\S{1,80}:? )?(?i:fatal(?: error)?|error|panic|exception)[:!]"
    rb"|(?<![\w./'\"])[A-Z]\w{2,60}(?:Error|Exception)(?:: |\(|$)"
    rb"|^(?:[A-Za-z_]\w{0,80}\.){1,12}[A-Z]\w{2,60}(?:Error|Exception): "
    + "|(?:错误|エラー|오류)(?::|\N{FULLWIDTH COLON})".encode()
)
"""How logs mark an error: a level, glog's letter, an exception's name, a word and a colon."""

_RAISED = re.compile(
    r"(?P<kind>(?:[A-Za-z_]\w{0,80}\.){0,12}[A-Z]\w{0,60}(?:Error|Exception)): \S.*"
)

_HARMLESS = re.compile(
    rb"(?i)\bwarn(?:ing)?\b|^W\d{4} |\b(?:0|no|without) errors?\b|\bdeprecat"
    rb"|Unable to register cu\w{2,8} factory|computation placer already registered"
)
"""What such a line says where it is none, or one that TensorFlow prints at each start."""

_KERNEL = re.compile(rb"^(?:<\d{1,3}>)?\[ *\d{1,12}\.\d{6}\] |\bkernel: ")
"""The kernel's own lines, whose words are known, have a reader of their own."""


def add(
    files: Mapping[str, Path],
    whose: Mapping[str, int | None],
    resource: TelemetryResource,
    found: ArtefactContents,
) -> None:
    """Quote the last words of logs, by name, where neither a line nor an end tells of a fault.

    `whose`: the rank that wrote each log, None where it is nobody's alone.
    """
    if any(quote.telling for quote in found.quotes) or any(
        event.name == "process.exit" for event in found.events
    ):
        return
    for name, path in files.items():
        try:
            lines, end = words(path)
            written = path.stat().st_mtime
        except OSError:
            continue  # said where it was read
        rank = whose.get(name)
        known = {quote.line for quote in found.quotes if quote.file == name}
        lines = [one for one in lines if one[0] not in known]
        ended = end if lines and end == lines[-1][0] and _raised(lines[-1][1]) else None
        for number, text in lines:
            signature = tracebacks.SIGNATURE if number == ended else LAST_WORDS
            found.quotes.append(LogQuote(name, number, None, rank, signature, "root", text))
        if lines:
            pairs = {"signature": LAST_WORDS, "role": "root", "text": lines[0][1]}
            if ended is not None:
                said = dict(lines)[ended]
                pairs |= {"signature": tracebacks.SIGNATURE, "ended": "process", "text": said}
            at = written if found.until is None else found.until
            found.events.append(Event("log.fault", at, pairs, resource))
            found.unread.pop(name, None)
            found.read.setdefault(name, "log that ends in an error, in words that are not known")


def words(path: Path) -> tuple[list[tuple[int, str]], int]:
    """Return (line, text) of the errors at the end of a log, and the number of its last line.

    Of errors below which nothing went on, in its last 64 KiB; blank lines are none. Raises OSError.
    """
    with path.open("rb") as opened:
        begin = max(0, path.stat().st_size - _TAIL_BYTES)
        opened.seek(begin)
        lines = opened.read(_TAIL_BYTES).rstrip().split(b"\n")
        whole = 1 if begin else 0
        errors = list(_errors(lines[whole:]))[-_MOST_QUOTED:]
        first = 1 + whole + (_lines_in(opened, begin) if errors else 0)
    told = [
        (first + place, cleaning.shown(line.decode("utf-8", "replace").strip()))
        for place, line in reversed(errors)
    ]
    return told, first + len(lines[whole:]) - 1


def _raised(text: str) -> bool:
    """Tell whether a line is an exception by which a process ends itself."""
    raised = _RAISED.fullmatch(text)
    return raised is not None and tracebacks.role(raised["kind"], text) == "root"


def _errors(lines: Sequence[bytes]) -> Iterator[tuple[int, bytes]]:
    """Yield (place, text) of errors from the last line on, up to one that shows that it went on."""
    for place in range(len(lines) - 1, -1, -1):
        *bars, line = behind_bars.parted(lines[place][:_LONGEST])
        if survival.went_on(line):
            return
        if _ERROR.search(line) and not _HARMLESS.search(line) and not _KERNEL.search(line):
            yield place, line
        if any(map(survival.went_on, bars)):
            return


def _lines_in(opened: BinaryIO, end: int) -> int:
    """Return how many lines end in so many bytes of a file."""
    opened.seek(0)
    count = 0
    while opened.tell() < end:
        count += opened.read(min(1 << 20, end - opened.tell())).count(b"\n")
    return count
