"""The tables in a log, and when each showed what it shows."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import tzinfo
from pathlib import Path

from .....formats.device_tables import reading
from .....formats.device_tables.tables import DeviceTable, HostTable
from .....formats.training_logs import cleaning, times
from ...walk import blocks
from ...walk.blocks import TextGroup

_OWN = "|+#=[ \t"
"""With these the lines of tables begin, and no prefix does."""


@dataclass(frozen=True, slots=True)
class DatedTable:
    """A table of a file. at: s since the epoch, None where nothing near it has a time."""

    file: str
    table: DeviceTable | HostTable
    at: float | None


def read(name: str, path: Path, zone: tzinfo | None) -> list[DatedTable]:
    """Return the tables of a log in their order, with their own times or those above them.

    `zone` is that of times without one, None: the machine's. Raises OSError.
    """
    dated: list[tuple[int, float]] = []
    tables = reading.read(_lines(path, zone, dated))
    found: list[DatedTable] = []
    for table in tables:
        at = times.read(table.stamp, zone) if table.stamp else None
        if at is None:
            at = next((when for line, when in reversed(dated) if line <= table.line), None)
        found.append(DatedTable(name, table, at))
    return found


def _lines(
    path: Path, zone: tzinfo | None, dated: list[tuple[int, float]]
) -> Iterator[tuple[int, str]]:
    """Yield (number from 0, line) of the parts of a log that may hold a table.

    The times of those lines are added to `dated`. A table may go on in the block behind its own.
    """
    number, goes_on = 0, False
    with path.open("rb") as opened:
        for block in blocks.blocks(opened):
            held = bool(block.places[TextGroup.TABLES])
            if not (held or goes_on):
                number += block.data.count(b"\n")
                continue
            goes_on = held
            lines = block.data.split(b"\n")
            for data in lines[:-1] if block.data.endswith(b"\n") else lines:
                text, stamp = _text(data)
                at = times.read(stamp or text, zone) if text[:1] not in _OWN else None
                if at is not None:
                    dated.append((number, at))
                yield number, text
                number += 1
            number -= not block.data.endswith(b"\n")


def _text(data: bytes) -> tuple[str, str]:
    """Return a line without what a launcher wrote before it, and the time in that.

    The blanks of a line that begins with some are kept, and so are times that are a column.
    """
    whole = data[: cleaning.LONGEST].decode("utf-8", "replace").rstrip("\r")
    if whole[:1] in ("", *_OWN) and not whole.startswith("[rank"):
        return whole, ""
    cleaned = cleaning.clean(data[: cleaning.LONGEST])
    if not cleaned.text or whole.count(",") > 1:
        return whole, cleaned.stamp
    return cleaned.text, cleaned.stamp
