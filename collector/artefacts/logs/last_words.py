"""Errors at the end of a log in words that no table has: quoted where nothing else says anything.

They say that something ended badly, and not what: no cause follows from them.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from ....formats.training_logs import behind_bars, cleaning
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
    + "|(?:错误|エラー|오류)(?::|\N{FULLWIDTH COLON})".encode()
)
"""How logs mark an error: a level, glog's letter, an exception's name, a word and a colon."""

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
            lines = words(path)
            written = path.stat().st_mtime
        except OSError:
            continue  # said where it was read
        rank = whose.get(name)
        known = {quote.line for quote in found.quotes if quote.file == name}
        lines = [one for one in lines if one[0] not in known]
        for number, text in lines:
            found.quotes.append(LogQuote(name, number, None, rank, LAST_WORDS, "root", text))
        if lines:
            pairs = {"signature": LAST_WORDS, "role": "root", "text": lines[0][1]}
            at = written if found.until is None else found.until
            found.events.append(Event("log.fault", at, pairs, resource))
            found.unread.pop(name, None)
            found.read.setdefault(name, "log that ends in an error, in words that are not known")


def words(path: Path) -> list[tuple[int, str]]:
    """Return (line, text) of the errors at the end of a log, below which nothing went on.

    The first ones of those in its last 64 KiB. Raises OSError.
    """
    errors: list[tuple[int, bytes]] = []
    for number, line in _backwards(path):
        *bars, line = behind_bars.parted(line)
        if survival.went_on(line):
            break
        if _ERROR.search(line) and not _HARMLESS.search(line) and not _KERNEL.search(line):
            errors.append((number, line))
        if any(map(survival.went_on, bars)):
            break
    return [
        (number, cleaning.shown(line.decode("utf-8", "replace").strip()))
        for number, line in reversed(errors[-_MOST_QUOTED:])
    ]


def _backwards(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield (number from 1, line) from the last one on; of long lines the beginning."""
    size = path.stat().st_size
    begin = max(0, size - _TAIL_BYTES)
    above = 0
    with path.open("rb") as opened:
        while opened.tell() < begin:
            above += opened.read(min(1 << 20, begin - opened.tell())).count(b"\n")
        lines = opened.read(_TAIL_BYTES).removesuffix(b"\n").split(b"\n")
    for place in range(len(lines) - 1, -1 if begin == 0 else 0, -1):
        yield above + place + 1, lines[place][:_LONGEST]
