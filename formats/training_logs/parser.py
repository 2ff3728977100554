"""From bytes of a log, as they come, to what its lines report.

Most lines of a log report nothing and cost one search over the block that they came in; only lines
that hold a known text are looked at one by one.
"""

import io
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import tzinfo
from functools import cache

from ...vocabulary.samples import Event, Sample, Scalar, TelemetryResource, attributes
from ..needles import NeedleForm
from . import (
    behind_bars,
    cleaning,
    communicators,
    continued,
    crashes,
    data_names,
    line_formats,
    overflows,
    reloads,
    resumes,
    saves,
    signatures,
    times,
    torchrun,
    tracebacks,
)
from .attribution import LogAttribution
from .cleaning import CleanedLine
from .learned import own_values
from .line_formats import LineFormat
from .logged import LoggedLine
from .prefilter import TextPrefilter, ending
from .prefixes import LinePrefixes
from .silent_lines import SilentLines
from .value_lines import PlacedLine, Reported, ValueLines

_BLOCK = 1 << 20
_PEER_LOST, _FATAL_STACK = "jax.peer_lost", "*** Check failure stack trace"
"""JAX ends a process whose peer ended by a fatal line, behind which stands the stack of that."""


class TrainingLogParser:
    """Reads one log; for one thread. `feed` takes its bytes in any pieces.

    rank: whose log it is, None where several ranks write into it. world_size: how many ranks the
    job has. local_ranks: global ranks by local rank, for prefixes that name only that. formats:
    tried first to last, by default those shipped. zone: of times without one, by default the
    machine's. groups: names of groups by their description, for counters in the watchdog's lines.
    unknown: gets number and text of each line that looks like values of no format.
    near: a time close to that of C++ code's lines, which have no year, where none before has one.

    `missed` counts lines that could not be read, by reason: torn ones of the log's own format
    ("form"), of a rank that is not known ("rank"), and values of a form that is not ("unknown").
    """

    def __init__(
        self,
        *,
        rank: int | None = None,
        host: str | None = None,
        world_size: int | None = None,
        local_ranks: Mapping[int, int] | None = None,
        formats: Sequence[LineFormat] | None = None,
        zone: tzinfo | None = None,
        groups: Mapping[str, str] | None = None,
        unknown: Callable[[int, str], None] | None = None,
        near: float | None = None,
    ) -> None:
        self.missed: Counter[str] = Counter()
        self.attribute(rank=rank, world_size=world_size, local_ranks=local_ranks)
        self._resource = TelemetryResource(host=host or "")
        known = shipped_prefilter() if formats is None else TextPrefilter(needles(formats))
        formats = tuple(line_formats.shipped() if formats is None else formats)
        self._prefixes = LinePrefixes()
        self._values = ValueLines(formats, self.missed, unknown)
        self._late: list[LoggedLine] = []
        """Lines before the one at hand that only now count."""
        self._prefilter = known
        self._zone = zone
        self._groups = groups or {}
        self._near = near
        self._block = torchrun.TorchrunBlock(zone)
        self._stack = crashes.CrashStack()
        self._tracebacks = tracebacks.ExceptionTraceback()
        self._overflows = overflows.OverflowRun()
        self._lost_peers: set[tuple[int | None, int | None]] = set()
        """The rank and local rank that prefixes of such lines name."""
        self._saved = reloads.SavedCheckpoints()
        self._stack_of: tuple[int | None, int | None] = (None, None)
        """The rank and local rank that prefixes of a stack's lines name."""
        self._continued = continued.ContinuedLines()
        self._rest = b""
        self._overlong = False
        self._lines = 0
        self._last_at: float | None = None
        self._passed: list[bytes] = []
        """Lines of the block that say nothing, since the last one that was read."""
        self._size = 0
        self._per_byte = 0.0
        """Of what was fed last: its bytes, and the seconds between the writing of two of them."""

    def attribute(
        self, *, rank: int | None, world_size: int | None, local_ranks: Mapping[int, int] | None
    ) -> None:
        """Say whose log it is from now on, as to the constructor."""
        self._whose = LogAttribution(rank, world_size, local_ranks or {})

    @property
    def format(self) -> str:
        """Return the name of the format that this log was seen to have, "" while none was."""
        return self._values.chosen.name if self._values.chosen else ""

    def feed(
        self,
        data: bytes,
        at: float | None = None,
        since: float | None = None,
        places: Sequence[tuple[int, bytes]] | None = None,
    ) -> list[LoggedLine]:
        """Take the next bytes, read at `at`; return what the lines that they end report.

        since: when the first of them may have been written. A line without a time of its own then
        was written between the two, where it lies among the bytes. places: where `texts` stand in
        the bytes, ascending and each with its text, where that is known already.
        """
        if self._overlong or self._rest:
            places = None
        if self._overlong:
            end = ending(data, 0)
            if end == len(data):
                return []
            data = data[end:]
            self._overlong = False
        data = self._rest + data if self._rest else data
        cut = max(data.rfind(b"\n"), data.rfind(b"\r")) + 1
        self._per_byte = (at - since) / len(data) if at and since is not None and data else 0.0
        self._size = len(data)
        self._prefixes.learn(data[:cut])
        self._rest = data[cut:]
        if len(self._rest) > cleaning.LONGEST:
            # No text that long is a line we know; its beginning may still point at a fault.
            self._rest, self._overlong = self._rest[: cleaning.LONGEST], True
        return list(self._scan(data[:cut], at, places)) if cut else []

    def end(self, at: float | None = None) -> list[LoggedLine]:
        """Take the end of the log: its last line may lack the end of line."""
        self._overlong = False
        logged = self.feed(b"\n", at) if self._rest else []
        logged += [self._late_line(*one) for one in self._values.end()]
        for (rank, local), raised in self._tracebacks.end():
            whose = self._whose.written_by(CleanedLine("", rank, local))
            if events := self._exception(raised, self._last_at or at or 0.0, whose):
                logged.append(self._logged(raised.text, self._last_at or at, [], events))
        if self._stack.open and (event := self._crashed(self._stack.end(), at or 0.0)):
            text = str(event.attributes["text"])
            logged.append(self._logged(text.rpartition("\n")[2], at, [], [event]))
        return logged

    def skip(self, lines: int = 0) -> None:
        """Note that bytes were left out here: what is at hand is no line, nor is what comes next.

        lines: how many were left out, where known.
        """
        self._rest, self._overlong = b"", True
        self._lines += lines

    def _scan(
        self, data: bytes, at: float | None, places: Sequence[tuple[int, bytes]] | None
    ) -> Iterator[LoggedLine]:
        """Look at the lines that the prefilter names, and inside a block at every one."""
        position = counted = index = 0
        inside, known = self._inside, places is not None
        if places is None:
            places = [(place, b"") for place in self._prefilter.find(data)]
        while index < len(places):
            here = places[index][0]
            if here >= len(data):
                break
            while inside and position < here:
                end = ending(data, position)
                if end >= here:
                    break  # the line that is named
                yield from self._at(data, position, end, counted, at)
                counted, position, inside = position, end + 1, self._inside
            if here < position:
                index += 1
                continue  # a line that was looked at
            start = 1 + max(data.rfind(b"\n", position, here), data.rfind(b"\r", position, here))
            start = start or position
            end = ending(data, start)
            first = index
            while index < len(places) and places[index][0] < end:
                index += 1
            texts = (text for _, text in places[first:index])
            if known and not inside and self._passes(data[start:end], texts):
                position = end + 1
                continue
            yield from self._at(data, start, end, counted, at)
            counted, position, inside = start, end + 1, self._inside
        while self._inside and position < len(data):
            end = ending(data, position)
            yield from self._at(data, position, end, counted, at)
            counted, position = position, end + 1
        self._lines += data.count(b"\n", counted)
        self._date_passed()

    def _passes(self, line: bytes, texts: Iterable[bytes]) -> bool:
        """Return whether a line says nothing: then no more than its time is of use, if any asks."""
        if len(line) > cleaning.LONGEST or not shipped_silence().has(line, texts):
            return False
        self._passed.append(line)
        return True

    def _date_passed(self) -> None:
        """Take the time of the newest line that was passed over and has one."""
        for line in reversed(self._passed):
            if times.CLOCK.search(line):
                cleaned = cleaning.clean(line, self._prefixes)
                near = self._last_at or self._near
                at = times.read(cleaned.stamp or cleaned.text, self._zone, near)
                if at is not None:
                    self._last_at = at
                    break
        self._passed.clear()

    @property
    def _inside(self) -> bool:
        """Tell whether every line is to be looked at."""
        inside = self._stack.open or self._tracebacks.open or self._values.inside
        return inside or self._block.open or self._continued.open

    def _at(
        self, data: bytes, start: int, end: int, counted: int, at: float | None
    ) -> Iterator[LoggedLine]:
        self._lines += data.count(b"\n", counted, start)
        if end > start:
            if at is not None:
                at -= max(0, self._size - end - 1) * self._per_byte
            for line in behind_bars.parted(data[start : min(end, start + cleaning.LONGEST)]):
                logged = self._line(line, at)
                yield from self._late
                self._late.clear()
                if logged is not None:
                    yield logged

    def _line(self, line: bytes, read_at: float | None) -> LoggedLine | None:
        cleaned = cleaning.clean(line, self._prefixes)
        text = cleaned.text
        if self._passed and (read_at or times.read(cleaned.stamp or text, self._zone)) is None:
            self._date_passed()
        stamped = times.read(
            cleaned.stamp or text, self._zone, read_at or self._last_at or self._near
        )
        self._passed.clear()
        at = stamped if stamped is not None else read_at
        self._last_at = at if at is not None else self._last_at
        sent_at = self._last_at if self._last_at is not None else 0.0
        if self._block.open and (listed := self._block.read(text)):
            event, ended_at = listed
            when = sent_at if ended_at is None else ended_at
            return self._logged(text, when, [], [Event(event.name, when, event.attributes)])
        stack = self._stack_ended(cleaned, sent_at)
        placed = PlacedLine(self._lines + 1, sent_at, stamped, cleaned, at)
        reported = self._values.read(placed, self._whose)
        if reported is None:
            reported = self._fault(cleaned, sent_at)
            if not reported[1]:
                reported = self._guessed(placed)
        whose = self._whose.written_by(cleaned)
        overflowed = self._overflows.read(text, sent_at, whose)
        if reported[0] and not overflowed:
            self._overflows.stepped(reported[0])
        told = [
            event
            for forms in (resumes, data_names, saves)
            for event in forms.read(text, sent_at, whose)
        ]
        if reloaded := self._saved.read(text, sent_at, whose):
            told += [] if any(one.name == resumes.EVENT for one in told) else reloaded
        samples, events = reported[0], [*stack, *reported[1], *overflowed, *told]
        if not samples and not events:
            return None
        return self._logged(text, at, samples, events)

    def _logged(
        self, text: str, at: float | None, samples: Sequence[Sample], events: Sequence[Event]
    ) -> LoggedLine:
        if self._resource.host:
            events = [Event(one.name, one.at, one.attributes, self._resource) for one in events]
        return LoggedLine(self._lines + 1, at, cleaning.shown(text), tuple(samples), tuple(events))

    def _guessed(self, placed: PlacedLine) -> Reported:
        """Return what a line says by its names; keep those before it that it bears out."""
        every = self._values.guess(placed, self._whose)
        self._late += [self._late_line(*one) for one in every if one[0] is not placed]
        return next(
            ((samples, events) for one, samples, events in every if one is placed), ([], [])
        )

    def _late_line(
        self, placed: PlacedLine, samples: Sequence[Sample], events: Sequence[Event]
    ) -> LoggedLine:
        return replace(
            self._logged(placed.cleaned.text, placed.written, samples, events),
            line=placed.number,
        )

    def _stack_ended(self, cleaned: CleanedLine, at: float) -> list[Event]:
        """Take a line behind a fatal error; return the stack where it is complete."""
        if not self._stack.open or (cleaned.rank, cleaned.local) != self._stack_of:
            return []
        event = self._crashed(self._stack.read(cleaned.text), at)
        return [] if event is None else [event]

    def _crashed(self, stack: str, at: float) -> Event | None:
        """Return the event that carries the stack of a crash, of a rank that is known."""
        rank = self._whose.written_by(CleanedLine("", *self._stack_of))
        if not stack or rank is None:
            return None
        return Event("process.stack", at, {"rank": rank, "text": cleaning.shown_lines(stack)})

    def _fault(self, cleaned: CleanedLine, at: float) -> tuple[list[Sample], list[Event]]:
        text = cleaned.text
        if communicators.NEEDLE in text and (member := communicators.read(text)):
            rank = self._whose.written_by(cleaned)
            if rank is not None:
                member["rank"] = rank
            return [], [Event("collective.communicator", at, member)]
        raised, text = self._raised(cleaned)
        whose = (cleaned.rank, cleaned.local)
        innermost = self._tracebacks.innermost if raised else ""
        whole = self._continued.read(whose, text)
        fault = signatures.read(raised.text if raised else whole or text, innermost)
        if fault is None:
            return [], self._exception(raised, at, self._whose.written_by(cleaned))
        self._tracebacks.told()
        name = fault.signature.name
        if name == _PEER_LOST:
            self._lost_peers.add(whose)
        elif whose in self._lost_peers and text.startswith(_FATAL_STACK):
            return [], []  # of that fatal line, which says that a peer ended
        if name == "torchrun.child_failed" and text.rstrip(": ").endswith(torchrun.BEGINS):
            self._block.begin()
        if crashes.BEGINS in text:
            self._stack.begin()
            self._stack_of = whose
        if name == torchrun.FAILED:
            exited = torchrun.failed(text, self._whose.local_ranks, at)
            named = exited.attributes.get("rank")
            rank = named if isinstance(named, int) else None
            return [], [Event("log.fault", at, fault.pairs(text, rank)), exited]
        rank = self._whose.reported_by(cleaned, fault)
        event = Event("log.fault", at, fault.pairs(text, rank))
        return self._counters(fault, rank, at), [event]

    def _raised(self, cleaned: CleanedLine) -> tuple[tracebacks.RaisedException | None, str]:
        """Take a line that a traceback may begin or end with.

        Return the exception that it names, and the line behind what stands before a traceback.
        """
        whose, text = (cleaned.rank, cleaned.local), cleaned.text
        if tracebacks.BEGINS in text:
            self._tracebacks.begin(whose, text)
        elif self._tracebacks.open:
            said = self._tracebacks.behind_head(whose, text)
            return self._tracebacks.read(whose, text), said
        return None, text

    def _exception(
        self, raised: tracebacks.RaisedException | None, at: float, rank: int | None
    ) -> list[Event]:
        """Return the exception by which a process ends, unless somebody asked it to."""
        event = tracebacks.event(raised, at, rank) if raised else None
        return [] if event is None else [event]

    def _counters(
        self, fault: signatures.TrainingLogFault, rank: int | None, at: float
    ) -> list[Sample]:
        """Return the counters of a watchdog's line where its group has a name."""
        group = self._groups.get(str(fault.details.get("group", "")))
        if group is None or rank is None:
            return []
        pairs: dict[str, Scalar | None] = {"rank": rank, "group": group, "source": "log"}
        return [
            Sample(f"collective.{what}", float(fault.details[what]), at, attributes(pairs))
            for what in ("enqueued", "completed")
            if what in fault.details
        ]


def read(
    lines: Iterable[bytes | str],
    *,
    rank: int | None = None,
    host: str | None = None,
    default_at: float | None = None,
    world_size: int | None = None,
    local_ranks: Mapping[int, int] | None = None,
    formats: Sequence[LineFormat] | None = None,
    zone: tzinfo | None = None,
    groups: Mapping[str, str] | None = None,
    unknown: Callable[[int, str], None] | None = None,
    near: float | None = None,
) -> Iterator[LoggedLine]:
    """Yield what the lines of a log report: a file opened for reading bytes, or a list of lines.

    The arguments are those of Parser; `default_at` is when lines without a time were written.
    """
    parser = TrainingLogParser(
        rank=rank, host=host, world_size=world_size, local_ranks=local_ranks, formats=formats,
        zone=zone, groups=groups, near=near, unknown=unknown,
    )  # fmt: skip
    if isinstance(lines, io.BufferedIOBase):
        while block := lines.read(_BLOCK):  # a gigabyte line by line takes longer than the search
            yield from parser.feed(block, default_at)
        yield from parser.end(default_at)
        return
    waiting: list[bytes] = []
    size = 0
    for line in lines:
        data = line.encode("utf-8", "replace") if isinstance(line, str) else line
        waiting.append(data if data.endswith(b"\n") else data + b"\n")
        size += len(data)
        if size >= _BLOCK:
            yield from parser.feed(b"".join(waiting), default_at)
            waiting, size = [], 0
    yield from parser.feed(b"".join(waiting), default_at)
    yield from parser.end(default_at)


@cache
def shipped_prefilter() -> TextPrefilter:
    """Return the search for lines of the shipped formats and of signatures."""
    return TextPrefilter(needles(line_formats.shipped()))


@cache
def shipped_silence() -> SilentLines:
    """Return what tells which lines with `texts` say nothing."""
    return SilentLines(_own_needles(line_formats.shipped()), _forms())


def texts() -> tuple[bytes, ...]:
    """Return what is searched in a log of the shipped formats: a line that reports has one."""
    return shipped_prefilter().texts


def needles(formats: Sequence[LineFormat]) -> list[str]:
    """Return texts of which a line that reports anything has one."""
    return [*_own_needles(formats), *(one.needle for one in _forms())]


def _own_needles(formats: Sequence[LineFormat]) -> list[str]:
    """Return those of lines that are read by more than one pattern."""
    return [
        *line_formats.needles(formats),
        *reloads.NEEDLES,
        *own_values.NEEDLES,
        communicators.NEEDLE,
        tracebacks.BEGINS,
        *continued.BEGINS,
    ]


def _forms() -> list[NeedleForm]:
    """Return the forms of lines that are known by one pattern."""
    return [
        *signatures.catalogue(),
        *overflows.forms(),
        *resumes.forms(),
        *data_names.forms(),
        *saves.forms(),
    ]
