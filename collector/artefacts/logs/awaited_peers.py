"""Starts whose log ends as it waits for its peers, once more after many times.

One such line is what any start prints. Where a log without a step says so again and again, down to
its end, who is waited for never came, whatever the software calls it.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from ....formats.training_logs import cleaning
from ....vocabulary.log_lines import START_WAITS
from ....vocabulary.samples import Event
from ..found import ArtefactContents, LogQuote
from ..job.startup import any_stepped
from .contents import LogContents
from .tails import LogTail

_PEER = (
    rb"\b(?:workers?|ranks?|nodes?|hosts?|peers?|machines?|servers?|scheduler|master|coordinator|"
    rb"leader|participants?|replicas?|tasks?|actors?|clique|rendezvous|all (?:\w{1,20} )?processes|"
    rb"tcp://|\d{1,3}(?:\.\d{1,3}){3})"
)
_AWAITS = re.compile(
    rb"(?i)\bwaiting (?:for|on) .{0,80}" + _PEER + rb"|\bwaiting (?:in|at) .{0,40}\bbarrier\b|"
    rb"\bconnect(?:ing|ion)?\b.{0,20} to .{0,80}" + _PEER + rb".{0,80}"
    rb"\b(?:failed|refused|timed? ?out|unreachable)\b.{0,80}\b(?:wait|retry|try|again|attempt)|"
    rb"\b(?:re)?try\w* .{0,40}\bconnect\w* to .{0,80}" + _PEER + rb"|"
    rb"\b(?:socket\w*|connect\w*)\b.{0,80}\b(?:refused|no route to host|unreachable|timed out)"
    rb"\b.{0,40}\bretry\w*"
)
"""What says that a process waits for another one of its job, or tries to reach it again."""

_OTHER = re.compile(rb"(?i)\b(?:finish|exit|complet|shut ?down|download|requests?\b|https?:)")
"""What is waited for at an end, or of somebody else."""

_CAME = re.compile(rb"(?i)\bunstuck\b|\bconnected\b|\bjoined\b|\bsucce|\bestablished\b|\bready\b")
"""What a line below says where who was waited for came after all."""

_LAST = 3
"""So many lines at the end may hold the last of them."""
_TIMES = 3
_LONGEST = 1000

_ENDS = ("exit", "verdict", "oom", "node", "raised", "stop")
"""What launchers report of ends: then more than a wait is known."""


def add(gathered: LogContents, files: Mapping[str, Path], found: ArtefactContents) -> None:
    """Take the last lines of starts that wait so for what they say, where nothing says more."""
    if gathered.launches.of_kind(*_ENDS) or any(_points(event) for _, _, event in gathered.events):
        return
    quotes = list(_quotes(files, gathered.whose))
    if not quotes or any_stepped(files.values()):
        return
    found.quotes += quotes
    for quote in quotes:
        pairs = {"signature": quote.signature, "role": quote.role, "text": quote.text}
        event = Event("log.fault", 0.0, pairs)
        gathered.events.append((quote.rank, "", event))
        gathered.start.learn(event, quote.rank)
        found.understood(quote.file, "log of a start that waits")


def _quotes(files: Mapping[str, Path], whose: Mapping[str, int | None]) -> Iterator[LogQuote]:
    for name, path in files.items():
        try:
            tail = LogTail.read(path)
            place = awaited(tail.lines)
            if place is None:
                continue
            number = tail.first() + place
        except OSError:
            continue  # said where it was read
        text = cleaning.shown(cleaning.clean(tail.lines[place]).text)
        yield LogQuote(name, number, None, whose.get(name), START_WAITS, "cascade", text)


def awaited(lines: Sequence[bytes]) -> int | None:
    """Return the place of the last line of a start that waits for its peers, None: none does."""
    written = [place for place, line in enumerate(lines) if line.strip()]
    waits = [place for place in written if _waits(lines[place][:_LONGEST])]
    if len(waits) < _TIMES or waits[-1] not in written[-_LAST:]:
        return None
    below = (lines[place][:_LONGEST] for place in written if place > waits[-1])
    return None if any(map(_CAME.search, below)) else waits[-1]


def _waits(line: bytes) -> bool:
    return _AWAITS.search(line) is not None and _OTHER.search(line) is None


def _points(event: Event) -> bool:
    return event.name == "log.fault" and event.attributes.get("role") in ("root", "cascade")
