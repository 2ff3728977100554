"""How long steps waited for their batch, in lines of any form: columns of times that add up.

Lines of one form are rows, the numbers that are times its columns. Which column is the step's is
told by sums: it is what the others come to, or it is longer than the wait by what is usual whenever
that is long. Where none is, the step is what all of them come to. The name only says which part is
the wait for a batch.
"""

import itertools
import re
import statistics
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from .learned import fields, names
from .learned.fields import LineField

ENOUGH = 8
"""Rows that make a table."""
_MOST_ROWS = 20_000
_OFF, _AGREE = 0.05, 0.9
"""By what share a sum may be off, and the share of rows in which it has to agree."""
_LONG = 3.0
"""A wait so many times as long as the one in the middle is a long one."""

_DATA = re.compile(
    r"(?:avg|mean|time|t)?(?P<core>(?:data|batch|next|input)?(?:load|fetch|read|get)(?:ing|er)?"
    r"(?:data|batch|input)?|data|input|io|prefetch)(?:time|t|secs?|seconds?|s|ms|cost|wait)?"
    r"|[dr](?:time|t|secs?|s|cost|wait)"
)
"""The words of a wait for a batch, joined. Of a single letter only sums say that it is one."""
_TIMES = re.compile(r"\w*(?:time|secs?|seconds?|cost|duration|wait)|[a-z]{1,2}t|t\w{1,8}")
_MAY = re.compile(r"(?i)data|load|fetch|read|get|input|\bio|(?<![a-z])[dr]_?(?:t|s|cost|wait)")
"""What a line with such a wait has: most lines are looked at no more."""
_STEPS = frozenset({"step", "iter", "iteration", "it"})
"""Words of a step's time where the number is no count."""
_SECONDS = ("s", "sec", "secs", "ms", "t")
_OTHERS = frozenset({
    "eta", "remaining", "left", "elapsed", "total", "epoch", "wall", "cumulative", "save", "eval",
    "val", "test", "lr", "start", "end", "at",
})  # fmt: skip
"""Words of times that are none of a step."""


@dataclass(frozen=True, slots=True)
class PartedRow:
    """A line, from 1; how long its step took and how long it waited for data in that, seconds."""

    line: int
    waited: float
    took: float
    text: str


@dataclass(frozen=True, slots=True)
class _TimeColumn:
    label: str
    values: tuple[float, ...]


def read(lines: Iterable[str]) -> list[list[PartedRow]]:
    """Return the rows of each form of line by whose times a wait for data is part of a step."""
    forms: dict[tuple[str, ...], list[tuple[int, str, list[LineField]]]] = defaultdict(list)
    for number, line in enumerate(lines, 1):
        if _MAY.search(line) is None:
            continue
        said = fields.read(line)
        labels = tuple(one.label for one in said)
        if any(map(_data, labels)) and len(rows := forms[labels]) < _MOST_ROWS:
            rows.append((number, line.strip(), said))
    return [made for rows in forms.values() if len(rows) >= ENOUGH and (made := _parted(rows))]


def _data(label: str) -> re.Match[str] | None:
    """Return what a label says of a wait for a batch, None where it says nothing of one."""
    return _DATA.fullmatch("".join(fields.words(label)))


def _is_time(label: str) -> bool:
    said = fields.words(label)
    if not said or set(said) & _OTHERS:
        return False
    joined = "".join(said)
    known = names.of_step_time(label) or said[-1] in _SECONDS or _data(label)
    return bool(known) or set(said) <= _STEPS or _TIMES.fullmatch(joined) is not None


def _of_step(label: str) -> bool:
    return names.of_step_time(label) or set(fields.words(label)) <= _STEPS


def _parted(rows: Sequence[tuple[int, str, list[LineField]]]) -> list[PartedRow]:
    """Return the rows with the step's time beside the wait, none where no column is that."""
    columns = [
        _TimeColumn(label, values)
        for place, label in enumerate(one.label for one in rows[0][2])
        if (_is_time(label) or all(row[place].timed for _, _, row in rows))
        and (values := _values(rows, place))
    ]
    for column in columns:
        others = [one for one in columns if one is not column]
        said = _data(column.label)
        if said and (took := _step(column, others, sure=bool(said["core"]))):
            return [
                PartedRow(line, waited, step, text)
                for (line, text, _), waited, step in zip(rows, column.values, took, strict=True)
            ]
    return []


def _values(
    rows: Sequence[tuple[int, str, list[LineField]]], place: int
) -> tuple[float, ...] | None:
    """Return the seconds of a column, None where they are no times of steps: time so far rises."""
    said = [row[place].seconds for _, _, row in rows]
    values = [one for one in said if one is not None and one >= 0]
    whole = all(row[place].count for _, _, row in rows)
    rises = all(after > before for before, after in itertools.pairwise(values))
    return None if len(values) < len(said) or whole or rises else tuple(values)


def _step(
    wait: _TimeColumn, others: Sequence[_TimeColumn], *, sure: bool
) -> Sequence[float] | None:
    """Return how long each row's step took, None where no sum says it; `sure`: the name does."""
    for one in others:
        parts = [wait, *(other for other in others if other is not one)]
        sums = [sum(values) for values in zip(*(part.values for part in parts), strict=True)]
        if len(parts) > 1 and _agree(one.values, sums):
            return one.values
    for one in others:
        if _within(wait.values, one.values, sure=sure and _of_step(one.label)):
            return one.values
    if not sure or not others:
        return None
    every = zip(*(part.values for part in (wait, *others)), strict=True)
    return [sum(values) for values in every]


def _agree(values: Sequence[float], sums: Sequence[float]) -> bool:
    alike = sum(abs(one - of) <= _OFF * one for one, of in zip(values, sums, strict=True))
    return alike >= _AGREE * len(sums)


def _within(wait: Sequence[float], took: Sequence[float], *, sure: bool) -> bool:
    """Tell whether a wait is a part of what a step took: that is as much longer as it is.

    sure: it is unless it is longer once, as where no wait is long nothing shows it.
    """
    if any(part > (1 + _OFF) * whole for part, whole in zip(wait, took, strict=True)):
        return False
    usual = statistics.median(wait)
    rests = [whole - part for part, whole in zip(wait, took, strict=True)]
    long = [
        rest
        for part, whole, rest in zip(wait, took, rests, strict=True)
        if part >= _LONG * usual and 2 * part >= whole
    ]
    return sure if not long else max(long) <= _LONG * max(statistics.median(rests), 1e-3)
