"""Rows of numbers of which one is none any more: in tables and lines of forms that nobody knows.

Asked only where no line speaks of a fault and no loss was read that is not finite: darknet's lines,
a table that somebody wrote, epochs as a list. What an evaluation says has other reasons.
"""

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ....formats.training_logs import cleaning
from ....vocabulary.samples import Event, Sample, Scalar, TelemetryResource, attributes
from ..found import ArtefactContents, LogQuote
from .nonfinite import SIGNATURE
from .pasted import PastedLog

_CELL = re.compile(
    r"(?i)(?<![\w.#])[-+]?(?:(?P<none>nan(?:\(ind\))?|inf(?:inity)?|1\.#(?:inf|ind|[qs]nan)0*)|"
    r"\d{1,15}(?:\.\d{1,15})?(?:e[-+]?\d{1,3})?)(?![\w.(])"
)
_TRAINS = re.compile(r"(?i)loss|cost|train|\berr(?:or)?\b|xent|nll|ppl|perplexity|损失")
_TESTS = re.compile(r"(?i)val(?:id\w*)?\b|eval|test|\bdev\b|acc|\bAP\b|mAP|iou|auc|psnr|recall|f1")
_NONE = r"(?:(?P<none>[-+]?(?:nan|inf(?:inity)?))|[-+]?\d[\d.eE+-]{0,30})"
_SUMMARY, _SUMMED = re.compile(r"(?i)\brun summary:"), 60
"""What stands above a tracker's summary, and so many lines belong to it."""
_LISTED = re.compile(rf"(?i)^(?:wandb:)?[\s|]*(?P<name>[\w/.-]{{1,80}})[\s:|=]+{_NONE}\s*$")
_QUOTED = re.compile(rf"(?i)\"(?P<name>[\w/. -]{{1,80}})\"\s?:\s?\"?{_NONE}\"?(?=\s*(?:[,}}]|$))")
"""A row of such a summary, and a value of JSON."""
_NEAR = 14
"""So many characters before a number, and behind it, name it."""
_LAST, _ALWAYS = 1, 3
"""Rows at the end, where others before them were finite, and where none was."""
_LONGEST = 400


@dataclass(frozen=True, slots=True)
class _NumberRow:
    """A line, from 1, and whether each of its numbers is finite; `named`: those of a loss."""

    line: int
    finite: tuple[bool, ...]
    named: tuple[bool, ...]
    text: str


@dataclass(frozen=True, slots=True)
class LostRow:
    """The first row, from line 1, since which a loss is no number, and how many were before it.

    rows: how many there are.
    """

    line: int
    text: str
    before: int
    rows: int


def asked(found: ArtefactContents) -> bool:
    """Tell whether rows are looked at: no line speaks of a fault, and no loss was read."""
    if found.telling or any(event.name == "training.numeric" for event in found.events):
        return False
    # Lines that tell losses are known, and say nothing of the kind.
    return all(sample.metric != "training.loss" for _, sample in found.samples)


def add(
    said: Iterable[tuple[PastedLog, LostRow]], resource: TelemetryResource, found: ArtefactContents
) -> None:
    """Quote the first row of each of some logs since which a loss is no number."""
    if not asked(found):
        return
    for log, row in said:
        quote = LogQuote(log.name, row.line, None, log.rank, SIGNATURE, "confirmation", row.text)
        found.quotes.append(quote)
        _tell(row, log.rank or 0, log.at, resource, found)
        found.understood(log.name, "rows of numbers, of which some are none")


def read(lines: Sequence[str]) -> LostRow | None:
    """Return since which row of a log a loss is no number, None where it is one to the end."""
    rows, first = lost(lines)
    rows = rows or summed_up(lines)
    if not rows:
        return None
    return LostRow(rows[first].line, cleaning.shown(rows[first].text), first, len(rows))


def _tell(
    row: LostRow, rank: int, at: float, resource: TelemetryResource, found: ArtefactContents
) -> None:
    """Add the loss of a rank at each row, a second apart: what it was is not asked."""
    pairs = attributes({"rank": rank, "source": "log"})
    for number in range(row.rows):
        when = at - (row.rows - 1 - number)
        lost = number >= row.before
        values = {"training.step": number + 1.0, "training.loss": math.nan if lost else 1.0}
        found.samples += [
            (resource, Sample(metric, value, when, pairs)) for metric, value in values.items()
        ]
    step: dict[str, Scalar] = {"what": "loss", "value": "nan", "rank": rank, "step": row.before + 1}
    when = at - (row.rows - 1 - row.before)
    found.events.append(Event("training.numeric", when, step, resource))
    known = attributes({"rank": rank, "world_size": max(found.world_size, 1)})
    found.samples.append((resource, Sample("training.rank.info", 1.0, at - row.rows, known)))


def lost(lines: Iterable[str]) -> tuple[Sequence[_NumberRow], int]:
    """Return the rows of one form whose loss is no number up to the last of them, and since which.

    None where no form has such a column.
    """
    forms: dict[str, list[_NumberRow]] = defaultdict(list)
    for number, line in enumerate(lines, 1):
        text = line.strip()[:_LONGEST]
        cells = list(_CELL.finditer(text))
        if cells:
            form = "".join(_CELL.sub("#", text).split())
            forms[form].append(_row(number, text, cells))
    for rows in forms.values():
        for column in range(len(rows[0].finite)):
            last = _last(rows, column)
            enough = last and len(last) >= (_LAST if len(last) < len(rows) else _ALWAYS)
            if enough and last[0].named[column]:
                return rows, len(rows) - len(last)
    return (), 0


def summed_up(lines: Sequence[str]) -> Sequence[_NumberRow]:
    """Return the row by which a summary says that a loss has become no number, none: no such row.

    A tracker's run summary, or a JSON document; what it says last under a name counts.
    """
    newest: dict[str, _NumberRow] = {}
    inside = 0
    for number, line in enumerate(lines, 1):
        inside = _SUMMED if _SUMMARY.search(line) else max(inside - 1, 0)
        found = list(_QUOTED.finditer(line[:_LONGEST]))
        if not found and inside and (row := _LISTED.match(line[:_LONGEST])):
            found = [row]
        for one in found:
            finite, name = one["none"] is None, one["name"]
            if _TRAINS.search(name) and not _TESTS.search(name):
                newest[name] = _NumberRow(number, (finite,), (True,), line.strip()[:_LONGEST])
    return next(([row] for row in newest.values() if not row.finite[0]), ())


def _row(number: int, text: str, cells: Sequence[re.Match[str]]) -> _NumberRow:
    named = []
    for one in cells:
        before = text[max(0, one.start() - _NEAR) : one.start()]
        near = before + " " + text[one.end() : one.end() + _NEAR]
        named.append(_TRAINS.search(near) is not None and _TESTS.search(before) is None)
    return _NumberRow(number, tuple(one["none"] is None for one in cells), tuple(named), text)


def _last(rows: Sequence[_NumberRow], column: int) -> Sequence[_NumberRow]:
    """Return the rows at the end whose number in a column is not finite."""
    begin = len(rows)
    while begin and not rows[begin - 1].finite[column]:
        begin -= 1
    return rows[begin:]
