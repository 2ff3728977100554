"""Epochs or steps that took far longer than others, by lines of forms that nobody knows.

Asked only where no line speaks of a fault: a person who brings a log that looks healthy may mean
that it is slow. What made it slow no such line says.
"""

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ....formats.training_logs import cleaning, paced
from ....formats.training_logs.paced import PacedRow
from ....vocabulary.log_lines import SLOWER
from ....vocabulary.samples import TelemetryResource
from ..found import ArtefactContents
from . import pasted
from .pasted import PastedLine, PastedLog

LONG, LEAST_SECONDS = 5.0, 300.0
"""One that took so many times as long as the others, and so much longer, is told."""

SLOW, FEWEST = 2.0, 5
"""So many in a row that took so many times as long as the others are told, unless they are the
first ones: what began slowly and is quick since has filled a cache."""

RISING = 0.8
"""Share of rows that take longer than the one before, where they take longer and longer."""

CLIMB, RISES, KEPT = 1.5, 5, 0.9
"""By so much rows climb, each of so many above the one before; those behind take so much of it."""
JUMP = 0.8
"""One row that is alone so much of a climb is no climb: the first step after the compiler may only
be dispatched, and its time is counted with the next."""

APART = 1.25
"""Rows at the end that take CLIMB times as long as the first third: each of them so many times as
long as the longest of that third, which nothing but the time between them tells apart."""

SMALL, AS_OFTEN = 0.05, 1.5
"""Rows that take less than such a share of what rows of another form take, which come as often but
for such a factor, are its evaluations or the like: nobody loses by them."""

_FIRST = 1
"""The first one compiles, or fills a cache."""


@dataclass(frozen=True, slots=True)
class SlowRows:
    """Which rows took long: the first of them, and in words."""

    row: PacedRow
    text: str


def add(
    said: Iterable[tuple[PastedLog, PastedLine]],
    resource: TelemetryResource,
    found: ArtefactContents,
) -> None:
    """Quote the line since which each of some logs is slow, where no line is a fault's."""
    if found.telling:
        return
    pasted.tell_each(said, resource, found, by="its times", role="root")


def read(lines: Sequence[str]) -> PastedLine | None:
    """Return the line since which a log is slow, None where it is not."""
    tables = [(rows, paced.middle(row.seconds for row in rows)) for rows in paced.read(lines)]
    sizes = [(len(rows), usual) for rows, usual in tables]
    slow = next(
        (
            one
            for rows, usual in tables
            if not _small(len(rows), usual, sizes) and (one := judged(rows))
        ),
        None,
    )
    if slow is None:
        return None
    text = f"{slow.text}: {cleaning.shown(slow.row.text)}"
    return PastedLine(slow.row.line, SLOWER, text)


def _small(count: int, usual: float, tables: Iterable[tuple[int, float]]) -> bool:
    """Tell whether so many rows of usually so many seconds are next to nothing beside another's."""
    return any(
        count <= AS_OFTEN * other <= AS_OFTEN**2 * count and usual < SMALL * seconds
        for other, seconds in tables
    )


def judged(rows: Sequence[PacedRow]) -> SlowRows | None:
    """Return the rows of a table that took long, None where none did."""
    every = rows
    if rows and rows[0].count <= _FIRST:
        rows = rows[1:]
    if len(rows) < FEWEST:
        return None
    quick = every[0].seconds < rows[0].seconds
    climb = _climb(every if quick else rows)
    return _run(rows) or _single(rows) or _growing(rows) or climb or _slower(rows)


def _run(rows: Sequence[PacedRow]) -> SlowRows | None:
    """Return the longest run of rows that took long, beside as many others at least."""
    quick = sorted(row.seconds for row in rows)[: max(len(rows) // 2, 1)]
    usual = paced.middle(quick)
    best, begin = (0, 0), None
    for place, row in enumerate([*rows, None]):
        slow = row is not None and row.seconds >= SLOW * usual
        if slow and begin is None:
            begin = place
        elif not slow and begin is not None:
            best, begin = max(best, (begin, place), key=lambda run: run[1] - run[0]), None
    first, end = best
    if first == 0 and end < len(rows):
        return None
    others = [row.seconds for row in (*rows[:first], *rows[end:])]
    if end - first < FEWEST or len(others) < FEWEST:
        return None
    # What is long now and then anyway makes no run that says something.
    if sum(one >= SLOW * usual for one in others) > len(others) / 10:
        return None
    now = paced.middle(row.seconds for row in rows[first:end])
    times = now / paced.middle(others)
    until = "on" if end == len(rows) else f"to {rows[end - 1].count:g}"
    text = f"each takes {times:.1f} times as long from {rows[first].count:g} {until}"
    return SlowRows(rows[first], text)


def _growing(rows: Sequence[PacedRow]) -> SlowRows | None:
    """Return the last rows of a log whose rows take longer and longer."""
    if len(rows) < 2 * FEWEST:
        return None
    first, last = rows[:FEWEST], rows[-FEWEST:]
    times = paced.middle(row.seconds for row in last) / paced.middle(row.seconds for row in first)
    rises = sum(after.seconds > before.seconds for before, after in itertools.pairwise(rows))
    if times < SLOW or rises < RISING * (len(rows) - 1):
        return None
    text = f"each takes {times:.1f} times as long at the end as at first, little by little"
    return SlowRows(last[0], text)


def _climb(rows: Sequence[PacedRow]) -> SlowRows | None:
    """Return the last row of a climb from which none came down again, even of the first rows.

    What compiles, or fills a cache, makes the first ones longer, not shorter.
    """
    begin = 0
    for place, row in enumerate(rows[:-FEWEST]):
        if place and row.seconds <= rows[place - 1].seconds:
            begin = place
        low, top = rows[begin].seconds, row.seconds
        if place - begin < RISES or top < CLIMB * low:
            continue
        jump = max(
            after.seconds - before.seconds
            for before, after in itertools.pairwise(rows[begin : place + 1])
        )
        if jump > JUMP * (top - low):
            continue
        low_before = all(one.seconds < (low + top) / 2 for one in rows[:begin])
        if low_before and all(one.seconds >= KEPT * top for one in rows[place:]):
            text = f"each takes {top / low:.1f} times as long from {row.count:g} on"
            return SlowRows(row, f"{text} as at {rows[begin].count:g}")
    return None


def _slower(rows: Sequence[PacedRow]) -> SlowRows | None:
    """Return the last rows of a log that took longer from part to part, by whatever steps."""
    third = len(rows) // 3
    if third < FEWEST:
        return None
    first, middle, last = rows[:third], rows[third:-third], rows[-third:]
    low, between, top = (
        paced.middle(row.seconds for row in part) for part in (first, middle, last)
    )
    longest = max(row.seconds for row in first)
    apart = all(row.seconds >= APART * longest for row in last)
    if not apart or top < CLIMB * low or not low <= between <= top:
        return None
    text = f"each takes {top / low:.1f} times as long at the end as at first"
    return SlowRows(last[0], text)


def _single(rows: Sequence[PacedRow]) -> SlowRows | None:
    longest = max(rows, key=lambda row: row.seconds)
    usual = paced.middle(row.seconds for row in rows)
    if longest.seconds < LONG * usual or longest.seconds - usual < LEAST_SECONDS:
        return None
    text = f"{longest.count:g} took {longest.seconds:.0f} s where others take {usual:.1f} s"
    return SlowRows(longest, text)
