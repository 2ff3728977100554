"""Interrupts by hand: where a process stood when somebody gave up on it, and for how long by then.

Who interrupts a job at work finds it anywhere. After a long silence it stands in what it waits for,
and that is said: by a bar whose time went on without its count, by the times of lines, or in words
above the log. Without it two places are a guess: the wait for the queue of a loader, which is short
where that keeps up, for information; and the set-up of a job that never made a step.
"""

import itertools
import re
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from ....formats.stacks import places
from ....formats.training_logs import times
from ....vocabulary.log_lines import DATA_WAITS, SAVES_LONG
from ....vocabulary.samples import GUESSED, Event, Sample, Scalar, TelemetryResource
from ..collectives import stacks
from ..collectives.stacks import StackFindings, StoodProcess
from ..found import ArtefactContents
from ..job.startup import stepped
from . import last_words, survival
from .tails import LogTail

MARK = b"KeyboardInterrupt"

LEAST_SECONDS, STEPS = 60.0, 10.0
"""How long a bar must have stood still, in seconds and in its own steps."""
FIRST_SECONDS, GAPS = 300.0, 5.0
"""The same of one that counts nothing yet, and of lines with times; these in their longest gaps."""
_GAPS = 3
"""Gaps between lines that say what is usual."""

_BAR = re.compile(
    rb"(?<![\d.])(?P<done>\d{1,12})/(?P<of>\d{1,12}) \[(?:(?P<hours>\d{1,4}):)?"
    rb"(?P<minutes>\d{1,2}):(?P<seconds>\d\d)<"
)
_ROWS = 200
"""Lines above an interrupt that are looked at for bars and times."""
_QUEUE = re.compile(r"^_?(?:try_)?get_(?:data|batch) \(")
"""Calls of a loader's main process while nothing is in the queue of its workers."""
_WAITS = {"data": DATA_WAITS, "save": SAVES_LONG}
"""What the waits of a main thread stand for."""


@dataclass(frozen=True, slots=True)
class InterruptFindings:
    """What interrupts say: of peers and of a start as stacks do, and of waits.

    waits: the process that waits, and how long it did so far, in words; "" where nothing says it.
    """

    stood: StackFindings = field(default_factory=lambda: StackFindings([]))
    waits: list[tuple[StoodProcess, str]] = field(default_factory=list[tuple[StoodProcess, str]])


def read(
    files: Mapping[str, Path],
    whose: Mapping[str, int | None],
    samples: Sequence[tuple[int | None, Sample]],
    found: ArtefactContents,
) -> InterruptFindings:
    """Return what interrupts at the ends of logs, by name, say; quote them.

    `whose`: the rank that wrote each log, None where it is nobody's alone. `samples`: what the logs
    say of steps.
    """
    if found.telling:
        return InterruptFindings()
    stood: list[StoodProcess] = []
    silence, trains = "", stepped(sample for _, sample in samples)
    for name, path in files.items():
        try:
            tail = LogTail.read(path)
            own = _interrupted(tail, name, whose.get(name))
            written = path.stat().st_mtime
        except OSError:
            continue  # said where it was read
        if own:
            stood += own
            begin, end = (one.process.line - tail.first() for one in (own[0], own[-1]))
            silence = silence or _silence(tail.lines, begin, end, written)
            trains = trains or any(map(_moved, tail.lines))
    ranks = {one.rank for one in stood}
    if silence and len(ranks) > 1 and None not in ranks:
        told, waits = stood, list[StoodProcess]()
    else:
        told = [one for one in stood if _told(one, silence=bool(silence), trains=trains)]
        waits = [
            one
            for one in stood
            if one.place.name in _WAITS and (silence or _QUEUE.match(one.place.call))
        ][:1]
    for one in told:
        found.quotes.append(one.quote)
        found.understood(one.file, "log that was interrupted")
    together = stacks.together(told) if told else StackFindings([])
    if not silence:
        together.events[:] = [(rank, _guessed(event)) for rank, event in together.events]
    return InterruptFindings(together, [] if told else [(one, silence) for one in waits])


def add(findings: InterruptFindings, resource: TelemetryResource, found: ArtefactContents) -> None:
    """Let events say what was waited for; found.until is when the job was over."""
    for one, silence in findings.waits:
        signature = _WAITS[one.place.name]
        text = f"{one.text}{silence and f'; {silence}'}"
        quote = replace(one.quote, signature=signature, role="confirmation", text=text)
        pairs: dict[str, Scalar] = {
            "signature": signature, "role": quote.role, "text": text,
            **({} if silence else GUESSED), **({} if one.rank is None else {"rank": one.rank}),
        }  # fmt: skip
        found.quotes.append(quote)
        found.understood(one.file, "log that was interrupted")
        found.events.append(Event("log.fault", found.until or found.newest, pairs, resource))


def _interrupted(tail: LogTail, name: str, rank: int | None) -> list[StoodProcess]:
    """Return the processes that were interrupted at the end of a log. Raises OSError."""
    if not any(MARK in line for line in tail.lines):
        return []
    from ....formats.stacks import interrupts  # noqa: PLC0415  most logs hold none

    processes = interrupts.processes(tail.lines)
    if not processes or any(map(survival.went_on, tail.lines[processes[-1].end :])):
        return []
    first = tail.first()
    found: list[StoodProcess] = []
    for process in processes:
        if (place := places.of(process)) is not None:
            process.line += first - 1
            whose = rank if process.rank is None else process.rank
            found.append(StoodProcess(name, process, whose, place))
    return found


def _told(one: StoodProcess, *, silence: bool, trains: bool) -> bool:
    """Tell whether where a process stood says something by itself, as a dump of its stacks does."""
    if one.place.name in ("setup", "lock"):
        return silence or not trains
    return silence and one.place.waits


def _guessed(event: Event) -> Event:
    return replace(event, attributes={**event.attributes, **GUESSED})


def _moved(line: bytes) -> bool:
    bars = any(int(one["done"]) for one in _BAR.finditer(line))
    return bars or survival.ROW.search(line[:1000]) is not None


def _silence(lines: Sequence[bytes], begin: int, end: int, near: float) -> str:
    """Return in words how long a log said nothing above an interrupt, "" where nothing tells it.

    begin, end: the places of the first and the last interrupt; near: when the log was written.
    """
    above = lines[max(0, begin - _ROWS) : begin + 1]
    seconds = max(_bar_stood(above), _lines_apart(above, lines[end + 1 :], near))
    if seconds:
        return f"no step has ended for {seconds:.0f} s"
    return "it is said to stand" if last_words.said_to_stand(lines) else ""


def _bar_stood(lines: Sequence[bytes]) -> float:
    """Return for how many seconds the last bar stood still, 0 where that is not known.

    A bar that is closed shows the time once more, beside the count that it had long before.
    """
    bars = [
        (int(one["done"]), int(one["of"]), 3600 * int(one["hours"] or 0) + _seconds(one))
        for line in lines
        for one in _BAR.finditer(line)
    ]
    if not bars:
        return 0.0
    done, of, elapsed = bars[-1]
    if not done:
        return elapsed if elapsed >= FIRST_SECONDS else 0.0
    took = [seconds / count for count, total, seconds in bars[:-1] if count and total == of]
    if not took:
        return 0.0
    usual = statistics.median(took)
    stood = elapsed - done * usual
    return stood if stood >= max(LEAST_SECONDS, STEPS * usual, elapsed / 2) else 0.0


def _seconds(bar: re.Match[bytes]) -> float:
    return 60.0 * int(bar["minutes"]) + int(bar["seconds"])


def _lines_apart(above: Sequence[bytes], below: Sequence[bytes], near: float) -> float:
    """Return how many seconds lie between lines above and below an interrupt, 0 of usual ones."""
    before, after = (
        [at for line in part if (at := times.read(line.decode("utf-8", "replace"), None, near))]
        for part in (above, below)
    )
    gaps = [later - earlier for earlier, later in itertools.pairwise(before)]
    if len(gaps) < _GAPS or not after:
        return 0.0
    apart = after[0] - before[-1]
    return apart if apart >= max(FIRST_SECONDS, GAPS * max(gaps)) else 0.0
