"""Losses that stand: one of exactly 0 and the others one number, at each row up to the last.

Two networks that play against each other end so where one of them has won for good: nothing is
learned any more. A loss that is merely small, or rounded to 0 beside one that moves, is none. And
a loss of a guess among N classes, ln N, beside an accuracy of 1/N, from row to row.
"""

import itertools
import math
import re
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

NEAR, OFF = 0.005, 0.15
"""By how much a loss and an accuracy may differ from those of a guess, as shares of them."""
GETS_ON = 0.005
"""Share of its loss by which a training that gets on has less at the end of such rows."""
_ACCURACY = re.compile(r"(?i)(?:^|[\s_])acc(?:uracy)?$")

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
    pasted.tell_each(said, resource, found, by="its losses")


def read(lines: Sequence[str]) -> PastedLine | None:
    """Return the row of a log since which its losses stand, None where they do not."""
    if (row := standing(lines)) is not None:
        said = "since this row one loss is 0 and the others stand"
    elif (row := guessing(lines)) is not None:
        said = "since this row loss and accuracy are those of a guess"
    else:
        return None
    line, text, _ = row
    return PastedLine(line, LOSSES_STAND, f"{said}: {cleaning.shown(text)}")


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


def guessing(lines: Sequence[str]) -> _Row | None:
    """Return the first of the last rows that are no better than a guess, None of too few.

    A training that only begins is so too, but it gets on from row to row.
    """
    rows: list[_Row] = []
    for number, line in enumerate(lines, 1):
        said = fields.read(line) if "acc" in line.lower() else []
        losses = [one.value for one in said if names.of_loss(one.label) is not None]
        right = [one.value for one in said if _ACCURACY.search(one.label)]
        if losses and right:
            rows.append((number, line.strip(), (losses[0], right[0])))
    guesses = list(itertools.takewhile(lambda row: _guesses(*row[2]), reversed(rows)))[::-1]
    if len(guesses) < FEWEST:
        return None
    third = len(guesses) // 3
    first, last = (
        [sum(row[2][place] for row in part) for place in (0, 1)]
        for part in (guesses[:third], guesses[-third:])
    )
    better = last[0] < (1 - GETS_ON) * first[0] or last[1] > (1 + 10 * GETS_ON) * first[1]
    return None if better else guesses[0]


def _guesses(loss: float, right: float) -> bool:
    """Tell whether a loss and an accuracy, as a share or in percent, are those of a guess."""
    for share in (right, right / 100):
        if not 0 < share <= 0.5 * (1 + OFF):
            continue
        classes = max(round(1 / share) - 1, 2), round(1 / share), round(1 / share) + 1
        if any(
            abs(loss - math.log(many)) <= NEAR * math.log(many) and abs(share * many - 1) <= OFF
            for many in classes
        ):
            return True
    return False


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
