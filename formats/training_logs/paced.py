"""How long epochs or steps took by lines that no table knows: columns of numbers, whatever is said.

Lines that differ in their numbers only are rows of one table. A column of whole numbers that rises
counts; one whose numbers have a unit of time, or a rate of steps, is how long each took.
"""

import itertools
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from . import named

ENOUGH = 6
"""Rows that make a table."""
_MOST_ROWS, _LONGEST = 20_000, 400
_LONGEST_TIME = 400 * 86400.0
"""Seconds: what is longer is no time that something took, but a moment since the epoch."""
_MOST_AGAIN = 2
"""Runs that follow the first one in a log: what begins anew more often counts inside epochs."""

_BAR = re.compile(r"(?<=%)\|[^|]{0,200}\||\.{3,}|\d{1,3}%(?:\.\.)?|[=>.]{4,}|[^\x00-\x7f]+")
_NUMBER = re.compile(
    r"(?<![\w.:-])(?:\d{4}-\d\d-\d\d[T ])?(?:(?P<hours>\d{1,4}):)?(?P<minutes>\d{1,2}):"
    r"(?P<seconds>\d{2}(?:\.\d{1,6})?)(?![\w:])"
    r"|(?<![\w.])(?P<parts>"
    r"(?:\d{1,4} ?(?:d(?:ays?)?|h(?:ou)?rs?|h|m(?:in(?:ute)?s?)?),? (?:and )?){1,3}"
    r"\d{1,4}(?:\.\d{1,6})? ?(?:h(?:ou)?rs?|h|m(?:in(?:ute)?s?)?|s(?:ec(?:ond)?s?)?))(?![\w/])"
    r"|(?<![\w.])[-+]?(?P<value>\d{1,15}(?:\.\d{1,9})?(?:e[-+]?\d{1,3})?)"
    r"(?: ?(?P<unit>ms|sec(?:ond)?s?|s|min(?:ute)?s?|m|h(?:ou)?rs?|h)(?![A-Za-z])"
    r"(?P<each> ?/ ?(?:it|iter|steps?|batch|epoch)\b)?)?"
    r"(?P<rate> ?(?:it|iter|iterations?|steps?|batch(?:es)?|samples?|images?|img|tokens?|tok|ex|"
    r"examples) ?(?:/|per) ?s(?:ec(?:ond)?)?\b)?"
)
_FACTORS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_PART = re.compile(r"([\d.]+) ?([dhms])")
"""One of the parts of a time that is written with several units: `2h 1m 5s`."""
_ELSE = re.compile(
    r"(?i)\b(?:eta|remain\w*|left|estimat\w*|until|start\w*|finish\w*|now|at)\W{0,3}$"
)
"""Words before a time that is not how long something took."""
_SO_FAR = re.compile(r"(?i)(?:elapsed|total|so far|since|cumul\w*|overall|wall)\W{0,12}$")
_OWN = re.compile(r"(?i)(?:this epoch|/ ?epoch|per |took|/ ?step|/ ?it\b|/ ?batch|epoch time|cost)")
"""What tells that a time is of one row alone."""
_NAMED = re.compile(r"(?i)(?:time|took|seconds?|secs?)[^,;|]{0,20}[:= ]$")
"""Words before a number without a unit that make it a time in seconds."""
_STAMP = re.compile(
    r"^\W{0,4}(?:[A-Z]{1,8}\W{1,3})?\d{2,4}[-/]\d\d[-/]\d{2,4}[T ]\d\d:\d\d:\d\d\S{0,14}"
    r"|^\W{0,4}\d\d:\d\d:\d\d[.,]\d{1,6}"
)


@dataclass(frozen=True, slots=True)
class PacedRow:
    """A line, from 1; what it counts, and how long that took in seconds."""

    line: int
    count: float
    seconds: float
    text: str


@dataclass(frozen=True, slots=True)
class _NumberCell:
    """A number of a line: itself, as a time where it is one (s), and what stands beside it."""

    value: float
    whole: bool
    seconds: float | None
    before: str
    after: str
    each: bool = False
    """It is of one step or epoch, by its unit."""


def middle(values: Iterable[float]) -> float:
    """Return the upper median of values, of which there is one at least."""
    ordered = sorted(values)
    return ordered[len(ordered) // 2]


def read(lines: Iterable[str]) -> list[list[PacedRow]]:
    """Return the tables of a log, each in the order of its lines: the longest first."""
    tables: dict[str, list[tuple[int, str, list[_NumberCell]]]] = defaultdict(list)
    for number, line in enumerate(lines, 1):
        text = _STAMP.sub("", line.strip()[:_LONGEST])
        if not any(one.isdigit() for one in text) or named.of_a_test(text):
            continue
        cells, form = _cells(text)
        if any(cell.seconds is not None for cell in cells):
            rows = tables[form]
            if len(rows) < _MOST_ROWS:
                rows.append((number, line.strip(), cells))
    found = [made for rows in tables.values() if len(rows) >= ENOUGH and (made := _paced(rows))]
    return sorted(found, key=len, reverse=True)


def _cells(text: str) -> tuple[list[_NumberCell], str]:
    """Return the numbers of a line, and the line without them and without blanks: those pad."""
    plain = _BAR.sub("", text)
    cells: list[_NumberCell] = []
    form: list[str] = []
    end = 0
    for one in _NUMBER.finditer(plain):
        before = plain[end : one.start()]
        cell = _cell(one, before, plain[one.end() : one.end() + 24])
        # Rows of 1,024 batches and rows of 16 are training and validation.
        total = before.strip() == "/" and cell.whole and bool(cells) and cells[-1].whole
        form.append(f"{before}{one['value']}" if total else before)
        cells.append(cell)
        end = one.end()
    return cells, "".join("#".join([*form, plain[end:]]).split())


def _cell(found: re.Match[str], before: str, after: str) -> _NumberCell:
    if found["parts"] is not None:
        time = sum(float(one) * _FACTORS[unit] for one, unit in _PART.findall(found["parts"]))
        return _NumberCell(
            time, whole=False, seconds=_taken(time, before, after), before=before, after=after
        )
    if found["value"] is None:
        minutes = 60.0 * float(found["hours"] or 0) + float(found["minutes"])
        time = 60.0 * minutes + float(found["seconds"])
        return _NumberCell(
            time, whole=False, seconds=_taken(time, before, after), before=before, after=after
        )
    value = float(found["value"])
    seconds: float | None = None
    if found["unit"]:
        unit = "ms" if found["unit"] == "ms" else found["unit"][0]
        seconds = _taken(value * _FACTORS[unit], before, after)
    elif found["rate"] and value > 0:
        seconds = 1.0 / value
    elif _NAMED.search(before):
        seconds = _taken(value, before, after)
    whole = found["value"].isdigit() and not found["unit"]
    each = bool(found["each"] or found["rate"])
    return _NumberCell(value, whole, seconds, before, after, each=each)


def _taken(seconds: float, before: str, after: str) -> float | None:
    """Return a time that something took, None for a time of day, of the rest, or none at all."""
    if _ELSE.search(before) or before.endswith("<") or after.startswith(" ago"):
        return None
    return seconds if 0 < seconds < _LONGEST_TIME else None


def _paced(rows: Sequence[tuple[int, str, list[_NumberCell]]]) -> list[PacedRow]:
    """Return what the rows of one form count and how long each took; none where no column does."""
    width = min(len(cells) for _, _, cells in rows)
    counts = next((column for column in range(width) if _counts(rows, column)), None)
    again = any(_counts(rows, column, again=True) for column in range(width))
    if counts is None and not again and not _of_epochs(rows):
        return []
    best: list[float] = []
    for column in range(width):
        values = list(_times(rows, column, counts))
        if values and (not best or middle(values) > middle(best)):
            best = values
    return [
        PacedRow(line, place if counts is None else cells[counts].value, seconds, text)
        for place, ((line, text, cells), seconds) in enumerate(zip(rows, best, strict=False), 1)
    ]


def _counts(
    rows: Sequence[tuple[int, str, list[_NumberCell]]], column: int, *, again: bool = False
) -> bool:
    """Tell whether a column counts; `again`: it may begin anew, as another run does."""
    values = [cells[column] for _, _, cells in rows]
    if not all(one.whole and one.seconds is None for one in values):
        return False
    falls = [
        after.value for before, after in itertools.pairwise(values) if after.value <= before.value
    ]
    begun = all(one <= values[1].value for one in falls)
    return not falls or (again and begun and len(falls) <= _MOST_AGAIN)


def _of_epochs(rows: Sequence[tuple[int, str, list[_NumberCell]]]) -> bool:
    """Tell whether rows without a count are one an epoch: each says so, or that all is done."""
    return all("epoch" in text.lower() or _done(cells) for _, text, cells in rows)


def _done(cells: Sequence[_NumberCell]) -> bool:
    """Tell whether a line begins with a count that is complete: `500/500`."""
    counted = len(cells) > 1 and cells[0].whole and cells[1].before == "/"
    return counted and cells[0].value == cells[1].value


def _of_a_bar(rows: Sequence[tuple[int, str, list[_NumberCell]]], column: int) -> bool:
    """Tell whether a column is the time of bars that are not full: `21/289 [00:18<03:40`."""
    return (
        column > 1
        and all(
            cells[column].before.endswith("[")
            and cells[column].after.startswith("<")
            and cells[column - 1].before == "/"
            for _, _, cells in rows
        )
        and any(cells[column - 2].value < cells[column - 1].value for _, _, cells in rows)
    )


def _times(
    rows: Sequence[tuple[int, str, list[_NumberCell]]], column: int, counts: int | None
) -> Iterator[float]:
    """Yield how long each row took by a column, none where it says no such thing.

    counts: the column that counts, None where none does.
    """
    cells = [row[column] for _, _, row in rows]
    values = [one.seconds for one in cells if one.seconds is not None]
    if len(values) < len(cells):
        return
    rises = all(after > before for before, after in itertools.pairwise(values))
    first = cells[0]
    if not rises and _of_a_bar(rows, column):
        return  # whole seconds since its begin, of which several rows have the same
    if rises and not (first.each or _OWN.search(f"{first.before[-24:]}# {first.after}")):
        # Time so far: a row took what lies between it and the one before, for as much as it counts.
        steps = [after - before for before, after in itertools.pairwise(values)]
        if counts is not None:
            gaps = [
                after[counts].value - before[counts].value
                for (_, _, before), (_, _, after) in itertools.pairwise(rows)
            ]
            usual = middle(gaps)
            steps = [took * usual / gap for took, gap in zip(steps, gaps, strict=True)]
        yield middle(steps)
        yield from steps
    elif not (_SO_FAR.search(first.before) and rises):
        yield from values
