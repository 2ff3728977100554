"""Lines with values of training: which format one is of, whose it is, what it reports.

Formats that read whole lines come first, and the first of them that has a loss is the log's own.
Those that read by names alone are asked last, of lines that report no fault, and need a second
line. What none of them reads may be of the log's own form, which its lines tell (learned/).
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from ...vocabulary.samples import Event, Sample
from ..needles import ShapedRows
from . import cleaning, named, values
from .attribution import LogAttribution
from .cleaning import CleanedLine
from .confirmed import ConfirmedLines
from .learned import fields, own_values
from .learned.forms import LearnedLine, OwnForms
from .learned.line_times import LineTimes
from .learned.tables import HeadedTable
from .line_formats import LineForm, LineFormat

_MOST_RANKS = 4096
_ALL = -1
_LOSS, _DURATION = "training.loss", "training.step.duration"

Reported = tuple[list[Sample], list[Event]]


@dataclass(frozen=True, slots=True)
class PlacedLine:
    """A line: its number in the log, when it was sent and when it says that it was, s, its text."""

    number: int
    at: float
    stamped: float | None
    cleaned: CleanedLine
    written: float | None
    """When it was written as far as known, as LoggedLine.at."""


@dataclass(frozen=True, slots=True)
class _UnderstoodLine:
    """A line, its form (the format's name, its place there), what it says, and of which rank."""

    placed: PlacedLine
    format: LineFormat
    form: int
    line: LineForm
    found: values.LineReading
    rank: int | None


_PlacedForm = tuple[LineFormat, int, LineForm]
"""A form, its place among those of its format, and that."""


def _shaped(formats: Iterable[LineFormat]) -> ShapedRows[_PlacedForm]:
    return ShapedRows(
        (line.needle, line.names is not None, (one, form, line))
        for one in formats
        for form, line in enumerate(one.lines)
    )


class ValueLines:
    """Reads the lines of one log, in their order.

    missed: counts what could not be read, by reason. unknown: gets number and text of each line
    that looks like values of no format.
    """

    def __init__(
        self,
        formats: Sequence[LineFormat],
        missed: Counter[str],
        unknown: Callable[[int, str], None] | None,
    ) -> None:
        self._whole = _shaped(one for one in formats if one.whole)
        self._loose = _shaped(one for one in formats if not one.whole)
        self._missed = missed
        self._unknown = unknown
        self._torn = False
        self._confirmed: ConfirmedLines[_UnderstoodLine] = ConfirmedLines()
        self._own: OwnForms[PlacedLine] = OwnForms()
        self._table = HeadedTable()
        self._times: dict[tuple[str, int, int | None], LineTimes] = {}
        self._progress: dict[tuple[str, int, int | None], values.RankProgress] = {}
        self.chosen: LineFormat | None = None
        self._found_by: set[str] = set()

    def read(self, placed: PlacedLine, whose: LogAttribution) -> Reported | None:
        """Return what a line of the log's own format says, None where it is no such line."""
        self._torn = False
        for one, form, line, found in self._understood(self._whole, placed.cleaned.text):
            if not found.parts:
                return [], []
            if self.chosen is None and _LOSS in {metric for metric, _ in found.parts}:
                self.chosen = one
                self._whole = _shaped([one])
                self._found_by = {text for line in one.lines for text in line.found_by}
                self._confirmed.drop()
            rank, known = whose.printed_by(placed.cleaned, found.rank, one)
            if known:
                return self._reported(_UnderstoodLine(placed, one, form, line, found, rank))
            self._missed["rank"] += 1
            return [], []
        return None

    def guess(
        self, placed: PlacedLine, whose: LogAttribution
    ) -> list[tuple[PlacedLine, list[Sample], list[Event]]]:
        """Return the lines that are borne out by one that `read` did not know, itself the last."""
        if self.chosen is not None:
            if any(text in placed.cleaned.text for text in self._found_by):
                self._missed["form"] += 1
            return []
        text, torn = placed.cleaned.text, self._torn
        for one, form, line, found in self._understood(self._loose, text):
            if not found.parts:
                return []
            if line.trains and named.of_a_test(text):
                break
            rank, known = whose.printed_by(placed.cleaned, found.rank, one)
            if not known:
                self._missed["rank"] += 1
                return []
            this = _UnderstoodLine(placed, one, form, line, found, rank)
            return self._told(self._confirmed.take((one.name, *found.names), this, torn=torn))
        like = named.looks_like_values(text)
        if like:
            self._confirmed.torn()
        own = None if self._confirmed.any else self._of_own_form(placed)
        if own is None:
            if like:
                self._not_understood(placed)
            return []
        return [
            (one, *reported)
            for one, said in own
            if (reported := self._own_reported(one, said, whose)) is not None
        ]

    @property
    def inside(self) -> bool:
        """Tell whether rows of a table may follow, which nothing tells from other lines."""
        return self._table.open and self.chosen is None

    def end(self) -> list[tuple[PlacedLine, list[Sample], list[Event]]]:
        """Return the line that waited for another one like it, where it is the only one."""
        for one in self._own.waiting():
            if named.looks_like_values(one.cleaned.text):
                self._not_understood(one)
        return self._told(self._confirmed.end())

    def _of_own_form(self, placed: PlacedLine) -> list[tuple[PlacedLine, LearnedLine]] | None:
        """Return the lines that count now with what they say; None where this is no such line."""
        text = placed.cleaned.text
        if self._table.head(text):
            return []
        said = self._table.row(text) if self._table.open else []
        said = said or fields.read(text)
        if own_values.of_a_test(text, said):
            return None
        return self._own.take(placed, said)

    def _own_reported(
        self, placed: PlacedLine, said: LearnedLine, whose: LogAttribution
    ) -> Reported | None:
        found = own_values.reading(said, named.rank(placed.cleaned.text))
        rank, known = whose.printed_by(placed.cleaned, found.rank, own_values.FORMAT)
        if not known:
            self._missed["rank"] += 1
            return None
        form = own_values.FORMAT.lines[0]
        return self._reported(_UnderstoodLine(placed, own_values.FORMAT, 0, form, found, rank))

    def _not_understood(self, placed: PlacedLine) -> None:
        self._missed["unknown"] += 1
        if self._unknown is not None:
            self._unknown(placed.number, cleaning.shown(placed.cleaned.text))

    def _understood(
        self, formats: ShapedRows[_PlacedForm], text: str
    ) -> Iterator[tuple[LineFormat, int, LineForm, values.LineReading]]:
        for one, form, line in formats.of(text):
            found = values.read(line, text)
            if found is not None:
                yield one, form, line, found
            self._torn |= line.names is None and any(one in text for one in line.found_by)

    def _told(
        self, lines: Sequence[_UnderstoodLine]
    ) -> list[tuple[PlacedLine, list[Sample], list[Event]]]:
        return [(one.placed, *self._reported(one)) for one in lines]

    def _reported(self, one: _UnderstoodLine) -> Reported:
        said = one.found.parts
        # Two lines with times of their own tell how long a step takes better than a word does.
        if one.placed.stamped is None and (_LOSS, ()) in said and (_DURATION, ()) not in said:
            times = self._times.setdefault((one.format.name, one.form, one.rank), LineTimes())
            if (took := times.take(one.placed.cleaned.text)) is not None:
                said[_DURATION, ()] = took
        return values.samples(
            one.line,
            one.found,
            rank=one.rank,
            at=one.placed.at,
            stamped_at=one.placed.stamped,
            progress=self._of(one.format.name, one.form, one.rank),
            newest=self._of(one.format.name, _ALL, one.rank),
        )

    def _of(self, name: str, form: int, rank: int | None) -> values.RankProgress:
        if len(self._progress) > _MOST_RANKS:
            self._progress.clear()
            self._times.clear()
        return self._progress.setdefault((name, form, rank), values.RankProgress())
