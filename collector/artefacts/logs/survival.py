"""Whether a job survived what a line of its logs says: it went on to make steps.

Lines with times are told apart by these. Of a log without times only the order is left: a line is
taken for one of the end, as most errors are, unless steps of the same run follow it in its log. An
exception that the program caught looks as one that ended it. Where a log holds several runs, the
errors of the last one are its end; if it has none, those of the run before it are.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import BinaryIO

from ....formats.training_logs import tracebacks
from ....vocabulary.samples import Event, Sample
from ..collectives.horovod import is_stall
from ..job.endings import UNDATED
from ..job.startup import speaks_of_steps
from ..launches.outlived import BUFFERED_LINES
from ..walk import blocks
from . import follow_ups, runs
from .runs import RunStarts
from .tails import LogTail

MAY_END = re.compile(
    r"^(?:python|collective|cuda|gpu|ascend|dataloader|shm|storage|checkpoint|driver|library|native|"
    r"component)\."
)
"""Signatures of errors that end the process that logs them, unless it catches them."""

_DONE_WITHOUT = "nccl.setup_failed"
"""What follows from an error: NCCL does without what it could not set up for one algorithm."""

_STEP = "training.step"
_FOLLOW = 4
"""Steps after a line: what other ranks had begun, and a log holds back, is fewer."""

_BAR = re.compile(rb"\d{1,12}/\d{1,12} \[[^\]]{0,40}<[^\]]{0,80}(?:it/s|s/it)")
"""A progress bar that moved."""
ROW = re.compile(
    rb"(?i)(?<![a-z])(?:epoch|ep|step|iter|iteration|batch|update|up|round|pass|ep\.|it)s?\b"
    rb"[\s'\":=#\[(/.]{0,8}\d.{0,300}?(?:loss|cost|err|acc|nll|ppl|perplexity|xent|"
    rb"\blr\b|/s\b|s/it|words|tokens|samples)|"
    rb"\b(?:epoch|iteration|iter|round|batch)s?[\s:=#\[(]{0,4}\d{1,9}(?:/\d{1,9})?\W{0,4}"
    rb"(?:is )?(?:done|finished|completed|took)\b|"
    rb"^\[\d{1,6}\]\s{1,8}[\w'@-]{2,40}[\s\w'@-]{0,40}[:=] ?-?\d"
)
"""A row of training, of whatever form: a count, and a value behind it, or that it is done; rows of
boosted trees begin with their count.
"""
_EPOCH_DONE = re.compile(
    rb"(?i)\bepoch\b[\s:=#\[(]{0,4}(\d{1,7})\b.{0,60}?\b(?:done|finished|completed|ended|over|took)\b"
)
_COUNT = re.compile(rb"\d+")
_EPOCHS = 2
"""Epochs that end below a line show it as well, in whatever form."""
_DONE = re.compile(
    rb"(?i)\btraining (?:is |was |has )?(?:successfully )?(?:complete|finished|done)|"
    rb"\btrain_runtime\b|\"run_stop\".{0,800}\"status\": \"success\""
)
_FOLLOWED = 3
"""Lines of steps that show it: other ranks print one more before they notice, a bar its last state
again."""

_BEGINS = tracebacks.BEGINS.encode()
_HARMLESS = (b"Exception ignored in", b"--- Logging error ---")
"""What stands above a traceback that Python prints of an exception which nobody needs to catch."""
_LONGEST = 1000

PlacedEvent = tuple[int | None, str, Event]
"""Rank, host and event."""


def until(samples: Iterable[Sample]) -> float:
    """Return until when a line was survived: two steps of the job or more followed it. 0: none."""
    times = sorted({sample.at for sample in samples if sample.at >= UNDATED})
    return times[-2] if len(times) > 1 else 0.0


def went_on(line: bytes) -> bool:
    """Tell whether a line is one of steps, in whatever form, or says that training is done."""
    return _of_steps(line) or _DONE.search(line) is not None


def completed(lines: Sequence[bytes]) -> int | None:
    """Return the place of the last line by which a training is complete, None where steps follow.

    Several runs may be in one log.
    """
    for place in range(len(lines) - 1, -1, -1):
        if _DONE.search(lines[place]):
            return place
        if _of_steps(lines[place][:_LONGEST]):
            return None
    return None


def _of_steps(line: bytes) -> bool:
    return _BAR.search(line) is not None or speaks_of_steps([line])


def is_root_of(event: Event, named: re.Pattern[str]) -> bool:
    """Tell whether a line of a signature that is named so may be the cause."""
    root = event.name == "log.fault" and event.attributes.get("role") == "root"
    return root and named.match(str(event.attributes.get("signature", ""))) is not None


@dataclass(slots=True)
class LogSurvival:
    """Follows one log: the lines of its steps and values, and what may have ended a process."""

    path: Path
    _steps: list[tuple[int, float]] = field(default_factory=list[tuple[int, float]])
    """(line, order) of steps without a time."""
    _values: dict[int | None, set[int]] = field(default_factory=dict[int | None, set[int]])
    """By rank the lines with values."""
    _causes: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    """(line, place among all events) of what may be the cause and has no time."""
    _errors: list[tuple[int, int | None]] = field(default_factory=list[tuple[int, int | None]])
    """(line, rank) of errors without a time that end a process."""
    _roots: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    runs: RunStarts = field(default_factory=RunStarts)
    _asked: set[int] = field(default_factory=set[int])
    """Lines of those ends that somebody wished."""
    _wrong: list[int] = field(default_factory=list[int])
    """Lines that say that something is wrong."""
    _begins: list[int] = field(default_factory=list[int])
    """The lines with which runs begin that follow an error."""
    ended: list[tuple[int, int | None]] = field(default_factory=list[tuple[int, int | None]])
    """(place among all events, rank) of the error that ended a run, if the next one has none."""

    def value(self, line: int, sample: Sample, rank: int | None) -> None:
        """Take a value of a line; that of a step without a time only has an order."""
        self._values.setdefault(rank, set()).add(line)
        if sample.metric == _STEP and sample.at < UNDATED:
            self._steps.append((line, sample.at))

    def event(self, line: int, event: Event, place: int) -> None:
        """Take an event by its place among all."""
        pairs = event.attributes
        root = pairs.get("role") == "root"
        if root or pairs.get("role") == "cascade" or pairs.get("what") == "loss":
            self._wrong.append(line)
        if root or is_stall(event) or pairs.get("signature") == _DONE_WITHOUT:
            self._roots.append((line, place))
        if (root or event.name == "network.link") and not event.at:
            self._causes.append((line, place))

    def error(self, line: int, event: Event, rank: int | None) -> None:
        """Take an event of a line without a time, or one that says that something waits."""
        if is_stall(event):
            self._errors.append((line, None))
        elif is_root_of(event, MAY_END) or event.attributes.get("signature") == _DONE_WITHOUT:
            self._errors.append((line, rank))

    @property
    def first(self) -> int | None:
        """Return the first line with a value, None where there is none."""
        return min((min(lines) for lines in self._values.values()), default=None)

    def outlived(self, lines: Sequence[int]) -> list[int]:
        """Return those below which the same run goes on: all its ranks, by more than a buffer."""
        every = sorted(set().union(*self._values.values())) if lines else []
        if len(every) < BUFFERED_LINES:
            return []
        since = max((fall.line for fall in self.runs.falls), default=0)
        until = min(every[-BUFFERED_LINES], *(max(own) for own in self._values.values() if own))
        return [line for line in lines if since <= line < until]

    def done(self) -> bool:
        """Tell whether the log says at its end that the training is complete. Raises OSError."""
        return completed(LogTail.read(self.path).lines) is not None

    def done_at(self) -> int:
        """Return the line by which it says so, 0 where none does. Raises OSError."""
        tail = LogTail.read(self.path)
        place = completed(tail.lines)
        return 0 if place is None else tail.first() + place

    def shell(self, line: int, *, asked: bool) -> None:
        """Take a line by which a shell says that a process ended, `asked`: by a wish."""
        self._errors.append((line, None))
        self._wrong.append(line)
        if asked:
            self._asked.add(line)

    def settle(self, events: list[PlacedEvent]) -> set[int]:
        """Turn events that were survived into what they are; return the lines that are no cause.

        Errors become confirmations; others get the order of the step that followed them as time.
        Raises OSError.
        """
        passed = self._passed() if self._errors else set[int]()
        passed |= self._followed_up() if self._roots else set()
        for line, place in self._roots:
            if line in passed:
                rank, host, event = events[place]
                pairs = {**event.attributes, "role": "confirmation"}
                events[place] = rank, host, replace(event, attributes=pairs)
        for place, order in self._ordered():
            rank, host, event = events[place]
            events[place] = rank, host, replace(event, at=order)
        return passed

    def _followed_up(self) -> set[int]:
        """Return the lines of failures of services once the training was complete."""
        tail = LogTail.read(self.path)
        places = follow_ups.places(tail.lines)
        first = tail.first() if places else 0
        return {first + place for place in places}

    def _ordered(self) -> Iterator[tuple[int, float]]:
        """Yield (place, order) of the events after which steps follow."""
        self._steps.sort()
        numbers = [line for line, _ in self._steps]
        for line, place in self._causes:
            after = bisect_right(numbers, line)
            if len(numbers) - after < _FOLLOW:
                continue
            begun = bisect_right(self._begins, line)
            if begun < len(self._begins) and self._begins[begun] <= numbers[after]:
                yield place, self._steps[max(after - 1, 1)][1]  # the first of all has order 0
            else:
                yield place, self._steps[after + 1][1]  # the next one may have been done already

    def _passed(self) -> set[int]:
        """Return the lines of errors below which training went on, and of harmless ones."""
        self._errors.sort(key=lambda one: one[0])
        lines = sorted({line for line, _ in self._errors})
        with self.path.open("rb") as opened:
            pieces, harmless, prompts = _looked_at(opened, set(lines))
            last = _last_shown(opened, pieces, lines[0])
        self._begins = begins = runs.begun(self.runs.falls, prompts, lines)
        passed = set(harmless)
        if self._asked and self.done():
            passed |= self._asked
        for line, rank in self._errors:
            own = bisect_right(begins, line)
            end = begins[own] if own < len(begins) else None
            if self._below(line, rank, end) or (rank is None and end is None and line < last):
                passed.add(line)
        wrong = max((one for one in self._wrong if one not in passed), default=0)
        newest = max((one for one in begins if one <= wrong), default=0)
        passed |= {line for line in lines if line < newest}
        told = [(line, rank) for line, rank in self._errors if line not in passed]
        if begins and told and told[-1][0] < begins[-1]:
            line, rank = told[0]
            self.ended += [(place, rank) for of, place in self._roots if of == line][:1]
        return passed

    def _below(self, line: int, rank: int | None, end: int | None) -> bool:
        """Tell whether steps follow an error, up to where the next run begins.

        Those of others show it as well, once they are more than a buffer holds: nobody makes steps
        without a rank that is gone.
        """
        alone = rank is not None and rank in self._values
        own = [self._values[rank]] if alone else self._values.values()
        below = {one for of in own for one in of if one > line and (end is None or one < end)}
        return len(below) >= (_FOLLOWED if alone or rank is None else BUFFERED_LINES)


@dataclass(frozen=True, slots=True)
class _LogPiece:
    """Whole lines of a file: where they begin, in bytes and lines from 1, and how long they are."""

    offset: int
    size: int
    number: int


def _looked_at(opened: BinaryIO, errors: set[int]) -> tuple[list[_LogPiece], set[int], list[int]]:
    """Return the pieces of a log from its first error on, and the lines of harmless errors.

    These have something of their own above their traceback. Then the lines of commands below the
    first error.
    """
    found: list[_LogPiece] = []
    prompts: list[int] = []
    harmless = set[int]()
    first, number, offset = min(errors), 1, 0
    ignored, above = False, b""
    for data in blocks.pieces(opened):
        below = number + data.count(b"\n")
        last = below - data.endswith(b"\n")
        if last >= first:
            found.append(_LogPiece(offset, len(data), number))
            prompts += [
                number + data.count(b"\n", 0, one.start())
                for one in (runs.PROMPT.finditer(data) if runs.may_prompt(data) else ())
            ]
        if any(number <= line <= last for line in errors) or _BEGINS in data:
            for at, line in enumerate(data.removesuffix(b"\n").split(b"\n"), number):
                head = line[:_LONGEST]
                if _BEGINS in head:
                    ignored = any(text in above for text in _HARMLESS)
                above = head if head.strip() else above
                if at in errors and ignored:
                    harmless.add(at)
        elif written := data.rstrip():
            above = written[written.rfind(b"\n") + 1 :][:_LONGEST]
        number, offset = below, offset + len(data)
    return found, harmless, [line for line in prompts if line > first]


def _last_shown(opened: BinaryIO, pieces: list[_LogPiece], first: int) -> int:
    """Return the line above which every error was survived, by lines of steps in whatever form.

    It is looked for from the end of the log up to the line `first`; 0: none.
    """
    shown, counted, epochs = 0, set[bytes](), set[bytes]()
    for piece in reversed(pieces):
        opened.seek(piece.offset)
        lines = opened.read(piece.size).removesuffix(b"\n").split(b"\n")
        for number in range(piece.number + len(lines) - 1, max(first, piece.number - 1), -1):
            head = lines[number - piece.number][:_LONGEST]
            if _of_steps(head):
                shown += max(1, head.rstrip(b"\r").count(b"\r"))
            elif row := ROW.search(head):
                counted |= set(_COUNT.findall(row[0])[:1])  # ranks may print one row each
            if ended := _EPOCH_DONE.search(head):
                epochs.add(ended[1])
            enough = max(shown, len(counted)) >= _FOLLOWED or len(epochs) >= _EPOCHS
            if enough or _DONE.search(head):
                return number
    return 0
