"""Memory that grows from line to line up to the end of a log: a leak, by the log's own columns.

Allocators and caches fill, and stay full: that flattens, or comes in a few large pieces. What leaks
grows at the end as it did at first.
"""

import itertools
from collections.abc import Iterable, Sequence

from ....formats.training_logs import cleaning, memory_columns, memory_tables
from ....formats.training_logs.memory_columns import HeldMemory, MemoryColumn
from ....vocabulary.log_lines import DEVICE_GROWS, HOST_GROWS
from ....vocabulary.samples import TelemetryResource
from ..found import ArtefactContents
from . import pasted
from .pasted import PastedLine, PastedLog

FEWEST, WARM_UP = 8, 0.1
"""Rows that growth is seen in, and the share of the first ones, two at least, that is left out."""

GROWN, LEAST_BYTES, LEAST_SHARE = 0.2, 256 * 2.0**20, 5.0
"""By how much it has grown: as a share of the first value, and in bytes or points of percent."""

RISES, FALLS = 0.6, 0.15
"""Shares of rows that are above and below the one before."""

KEPT = 0.5
"""Each third of the rows has so much of its part of the growth, and the last one too."""

LARGEST = 0.3
"""Share of the growth that comes with one row: more is a buffer that was made anew."""

FELL = 0.7
"""What falls to less than this of the row before was held by a run that is over."""


def add(
    said: Iterable[tuple[PastedLog, PastedLine]],
    resource: TelemetryResource,
    found: ArtefactContents,
) -> None:
    """Quote where each of some logs says that memory has grown; an event says so too."""
    pasted.tell_each(said, resource, found, by="its memory")


def read(lines: Sequence[str]) -> PastedLine | None:
    """Return the last line of memory that grows to the end of a log, None where none does."""
    columns = memory_columns.read(lines, FEWEST + 2)
    columns += memory_tables.read(lines, FEWEST + 2)
    for column, rows in ((one, grown) for one in columns if (grown := growing(one))):
        signature = HOST_GROWS if column.host else DEVICE_GROWS
        text = f"{_words(column, rows)}: {cleaning.shown(rows[-1].text)}"
        return PastedLine(rows[-1].line, signature, text)
    return None


def growing(column: MemoryColumn) -> Sequence[HeldMemory]:
    """Return the rows of a column that grow to its end, none where it does not."""
    rows = _last_run(column.rows)
    rows = rows[max(2, int(WARM_UP * len(rows))) :]
    if len(rows) < FEWEST:
        return ()
    steps = [after.held - before.held for before, after in itertools.pairwise(rows)]
    grown = rows[-1].held - rows[0].held
    least = LEAST_SHARE if column.share else LEAST_BYTES
    if grown < max(GROWN * rows[0].held, least) or max(steps) > LARGEST * grown:
        return ()
    rises, falls = (sum(one > 0 for one in steps), sum(one < 0 for one in steps))
    if rises < RISES * len(steps) or falls > FALLS * len(steps):
        return ()
    third = len(steps) // 3
    parts = (sum(steps[:third]), sum(steps[third : 2 * third]), sum(steps[-third:]))
    return rows if min(parts) >= KEPT * grown / 3 else ()


def _last_run(rows: Sequence[HeldMemory]) -> Sequence[HeldMemory]:
    """Return the rows since memory was given back last."""
    falls = (
        place
        for place, (before, after) in enumerate(itertools.pairwise(rows), 1)
        if after.held < FELL * before.held
    )
    return rows[max(falls, default=0) :]


def _words(column: MemoryColumn, rows: Sequence[HeldMemory]) -> str:
    of = "host memory" if column.host else "device memory"
    first, last = rows[0], rows[-1]
    if column.share:
        size = f"from {first.held:.0f} % to {last.held:.0f} %"
    else:
        size = f"from {first.held / 2**30:.2f} to {last.held / 2**30:.2f} GiB"
    return f"{of} grows {size} between lines {first.line} and {last.line}, to the end of the log"
