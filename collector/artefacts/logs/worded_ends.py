"""What the last words of logs say by families of words, where no line of a known wording says more.

A known line knows better, and so does a kernel or a launcher that says why something ended. Beside
an exception or a signal that only says that a process ended, a family counts where it says why.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ....formats.training_logs import behind_bars, cleaning, families, signatures
from ....formats.training_logs.families import FaultFamily
from ....formats.training_logs.launchers import forms
from ....formats.training_logs.launchers.reports import LaunchReport
from ....vocabulary.log_lines import START_REFUSED
from ....vocabulary.samples import GUESSED, Event, Scalar
from ..found import ArtefactContents, LogQuote
from ..job.startup import any_stepped, stepped
from ..launches.record import FiledReport
from . import last_words, survival
from .contents import LogContents
from .tails import LogTail

_GENERAL = re.compile(
    r"^(?:python\.(?:exception|aborted|fatal_error|unhandled)|torchrun\.\w+|nccl\.setup_failed|"
    r"native\.(?:exception|fatal_signal|fatal_log|check_failed|unhandled_error))$"
)
"""Signatures that say that a process ended, or gave up, and not why."""
_KNOWN = ("oom", "node", "stop", "pending")
_ENDED = ("exit", "verdict", "raised")
"""What launchers report that says why, and that something ended."""

_LAST = 60
"""So many lines at the end, blank ones left out, are looked at."""
_AGAIN = re.compile(
    r"(?i)\bretry|\bre-?tri|\btry(?:ing)? again|\battempt|^\[?W\d{2,4}[ :\d]|\bsleep"
)
"""What was tried again may have come about."""
_CAME = re.compile(r"(?i)\bunstuck\b|(?<!not )\b(?:connected|joined|established|ready|succe\w+)\b")
"""What a line at the end says where it did."""
_LOST = re.compile(
    r"(?i)\breset by (?:remote )?peer|\bclosed by (?:remote )?(?:peer|host)|\bbroken pipe\b|"
    r"\b(?:recv|send|receive|read|write) error\b|\bconnection (?:was |is )?lost\b"
)
"""What a line says of a connection that was there: no start fails so once its peers have met."""
_BELOW = 2
"""So many lines that are no failure may follow one."""
_CONTEXT = 2
"""So many other lines above one show a start: an excerpt has none, and may be of any time."""
_LONGEST = 1000
_SOURCE = re.compile(
    r"^\s*File \"|^frame #\d|^\s+at (?:[\w.$<>]+\(|/)|^\s{0,8}\d{1,3}: \w+::"
    r"|\([^()]{1,200}\.(?:py|pyx|c|cc|cpp|cu|h|hpp|rs|go|java|scala|so):\d{1,6}\)\s*$"
)
"""A call of a stack; the line below Python's is a program's text."""


@dataclass(frozen=True, slots=True)
class _WordedEnd:
    """A line, from 1, and its family; `rank` as far as its prefix names one."""

    line: int
    text: str
    family: FaultFamily
    rank: int | None


def add(gathered: LogContents, files: Mapping[str, Path], found: ArtefactContents) -> None:
    """Take the last words of logs, by name, for what their family says, where nothing says more."""
    pointing = [event for _, _, event in gathered.events if _points(event)]
    if gathered.launches.of_kind(*_KNOWN) or gathered.kernels.faults or gathered.hang.waited:
        return
    if not all(map(_general, pointing)):
        return
    crashed = bool(pointing or gathered.launches.of_kind(*_ENDED))
    trains = stepped(one for _, one in gathered.samples) or any_stepped(files.values())
    numeric = any(event.name == "training.numeric" for _, _, event in gathered.events)
    others = gathered.answering | gathered.tabled
    for name, path in files.items():
        if name in others:
            continue
        try:
            tail = LogTail.read(path)
            if (end := _worded(tail, crashed=crashed or numeric, trains=trains)) is not None:
                _tell(end, name, gathered, found)
        except OSError:
            continue  # said where it was read


def _points(event: Event) -> bool:
    return event.attributes.get("role") in ("root", "cascade") or event.name in (
        "gpu.fault",
        "host.oom_kill",
    )


def _general(event: Event) -> bool:
    """Tell whether a line says that a process ended, and not why."""
    return _GENERAL.match(str(event.attributes.get("signature", ""))) is not None


def _tell(end: _WordedEnd, name: str, gathered: LogContents, found: ArtefactContents) -> None:
    family, rank = end.family, gathered.whose.get(name)
    rank = end.rank if rank is None else rank
    found.understood(name, "log whose end is quoted")
    if family.launcher:
        form = next(one for one in forms.catalogue() if one.name == family.launcher)
        report = LaunchReport(form, end.line, end.text)
        gathered.launches.reports.append(FiledReport(name, report))
        return
    known = signatures.ended(family.signature)
    ended = "setup" if family.signature == START_REFUSED else known
    named: dict[str, Scalar] = {
        "signature": family.signature,
        **GUESSED,
        **({"ended": ended} if ended else {}),
    }
    for number, (own, host, event) in enumerate(gathered.events):
        if _general(event) and event.attributes.get("text") == end.text:
            pairs = {key: value for key, value in event.attributes.items() if key != "ended"}
            gathered.events[number] = own, host, replace(event, attributes={**pairs, **named})
            found.quotes = [_renamed(one, name, end) for one in found.quotes]
            return
    if family.start:
        rank = None  # what it says is of the job
    said: dict[str, Scalar] = {**named, "role": "root", "text": end.text}
    gathered.events.append((rank, "", Event("log.fault", 0.0, said)))
    found.quotes.append(LogQuote(name, end.line, None, rank, family.signature, "root", end.text))


def _renamed(quote: LogQuote, name: str, end: _WordedEnd) -> LogQuote:
    """Return a quoted line, with what its family stands for where it is that line."""
    same = (quote.file, quote.line) == (name, end.line) and quote.role == "root"
    return replace(quote, signature=end.family.signature) if same else quote


def _worded(tail: LogTail, *, crashed: bool, trains: bool) -> _WordedEnd | None:
    """Return the line at the end of a log whose family says most, the first of several."""
    places, texts = _last(tail.lines)
    trains = trains or any(survival.ROW.search(line[:_LONGEST]) for line in tail.lines)
    written = [place for place, line in enumerate(tail.lines) if line.strip()]
    context = written.index(places[0]) if places else 0
    wrong = met = False
    ends = _ends(texts)
    best: tuple[int, int] | None = None
    order = {one.name: number for number, one in enumerate(families.catalogue())}
    for place, text in enumerate(texts):
        met = met or _CAME.search(text) is not None
        family = families.read(texts, place) if text else None
        wrong = wrong or not text or family is not None
        context += not wrong
        if family is None or (crashed and not family.beside_crash):
            continue
        if family.start and (trains or not ends or _AGAIN.search(text)):
            continue
        if family.start and met and _LOST.search(text):
            continue
        if family.context and context < _CONTEXT:
            continue
        best = min(best or (len(order), 0), (order[family.name], place))
    if best is None:
        return None
    family, place = families.catalogue()[best[0]], best[1]
    cleaned = cleaning.clean(tail.lines[places[place]])
    return _WordedEnd(
        tail.first() + places[place], cleaning.shown(texts[place]), family, cleaned.rank
    )


def _ends(texts: Sequence[str]) -> bool:
    """Tell whether a log of a start ends with what failed, and little came after it."""
    for below, place in enumerate(range(len(texts) - 1, -1, -1)):
        if below > _BELOW or (texts[place] and _CAME.search(texts[place])):
            return False
        if not texts[place] or families.read(texts, place) is not None:
            return True
    return False


def _last(lines: Sequence[bytes]) -> tuple[list[int], list[str]]:
    """Return the places and the texts of the last lines, from where something went on last.

    The text is "" of a line that is no message: a call of a stack, what Python dropped.
    """
    ignored = last_words.dropped(lines)
    found = list(_upwards(lines, ignored))[::-1]
    texts: list[str] = []
    below = False
    for _, text in found:
        call = _SOURCE.search(text) is not None
        texts.append("" if call or (below and text.startswith("  ")) else text.strip())
        below = call
    return [place for place, _ in found], texts


def _upwards(lines: Sequence[bytes], ignored: set[int]) -> Iterator[tuple[int, str]]:
    count = 0
    for place in range(len(lines) - 1, -1, -1):
        *bars, line = behind_bars.parted(lines[place][:_LONGEST])
        if not line.strip():
            continue
        count += 1
        if count > _LAST or survival.went_on(line):
            return
        if place not in ignored and not last_words.KERNEL.search(line):
            yield place, line.decode("utf-8", "replace").rstrip()
        if any(map(survival.went_on, bars)):
            return
