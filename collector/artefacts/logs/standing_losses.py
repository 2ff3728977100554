"""Losses that stand: one of exactly 0 and the others one number, at each row up to the last.

Two networks that play against each other end so where one of them has won for good: nothing is
learned any more. A loss that is merely small, or rounded to 0 beside one that moves, is none.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence

from ....formats.training_logs import cleaning
from ....formats.training_logs.learned import fields, names
from ....vocabulary.log_lines import LOSSES_STAND
from ....vocabulary.samples import TelemetryResource
from ..found import ArtefactContents
from . import pasted
from .pasted import PastedLine, PastedLog

FEWEST, BEFORE = 10, 4
"""Rows that stand, and those before them in which the loss of 0 was another."""

_Row = tuple[int, str, tuple[float, ...]]
"""A line, from 1, its text and its losses."""


def add(
    said: Iterable[tuple[PastedLog, PastedLine]],
    resource: TelemetryResource,
    found: ArtefactContents,
) -> None:
    """Quote the row of each of some logs since which its losses stand; an event says so too."""
    if found.telling:
        return
    for log, line in said:
        pasted.tell(log, line, resource, found)
        found.understood(log.name, "log of a form of its own, by its losses")


def read(lines: Sequence[str]) -> PastedLine | None:
    """Return the row of a log since which its losses stand, None where they do not."""
    row = standing(lines)
    if row is None:
        return None
    line, text, _ = row
    text = f"since this row one loss is 0 and the others stand: {cleaning.shown(text)}"
    return PastedLine(line, LOSSES_STAND, text)


def standing(lines: Sequence[str]) -> _Row | None:
    """Return the first row since which losses stand, None where they do not."""
    forms: dict[tuple[str, ...], list[_Row]] = defaultdict(list)
    for number, line in enumerate(lines, 1):
        if "loss" not in line.lower():
            continue
        said = [one for one in fields.read(line) if names.of_loss(one.label) is not None]
        if len(said) > 1:
            row = number, line.strip(), tuple(one.value for one in said)
            forms[tuple(one.label for one in said)].append(row)
    return next(filter(None, map(_stands, forms.values())), None)


def _stands(rows: Sequence[_Row]) -> _Row | None:
    last = rows[-1][2]
    zero = [place for place, value in enumerate(last) if value == 0]
    begin = len(rows)
    while begin and rows[begin - 1][2] == last:
        begin -= 1
    if len(zero) != 1 or len(rows) - begin < FEWEST or begin < BEFORE:
        return None
    learned = all(losses[zero[0]] != 0 for _, _, losses in rows[max(0, begin - BEFORE) : begin])
    return rows[begin] if learned else None
