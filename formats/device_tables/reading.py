"""All tables in the lines of a file, wherever they stand, with the host and time beside each."""

import re
from collections.abc import Iterable

from .boxes import BoxTableReader
from .columns import ColumnTableReader
from .gpustat import GpustatReader
from .hosts import DiskTableReader, MemoryTableReader, PortTableReader
from .links import LinkTableReader
from .process_rows import ProcessRowReader
from .sections import SectionTableReader
from .tables import DeviceTable, HostTable

_READERS = (
    BoxTableReader, SectionTableReader, LinkTableReader, GpustatReader, DiskTableReader,
    MemoryTableReader, PortTableReader, ProcessRowReader, ColumnTableReader,
)  # fmt: skip
_Reader = (
    BoxTableReader
    | SectionTableReader
    | LinkTableReader
    | GpustatReader
    | DiskTableReader
    | MemoryTableReader
    | PortTableReader
    | ProcessRowReader
    | ColumnTableReader
)
_ABOVE = 8
"""So many lines above its table a time may stand."""
_STAMP = re.compile(
    r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4}"
    r"|\d{4}[-/]\d\d[-/]\d\d[ T]\d\d:\d\d:\d\d"
)
_PROMPT = re.compile(r"(?<![\w.-])[\w.-]+@([A-Za-z][\w.-]*)(?:[:\s][^$#@]*)?[$#](?:\s|$)")


def read(lines: Iterable[tuple[int, str]]) -> list[DeviceTable | HostTable]:
    """Return the tables in numbered lines, in their order.

    Lines may be left out; a table ends there. One without a device or value is none.
    """
    found: list[DeviceTable | HostTable] = []
    above: list[str] = []
    reader: _Reader | None = None
    host = stamp = ""
    last = -1
    for number, line in lines:
        if reader is not None:
            if number == last + 1 and reader.feed(number, line):
                last = number
                continue
            found += _ended(reader, host, stamp)
            above, stamp = [], ""
        if number != last + 1:
            above, host = [], ""
        last = number
        reader = next((kind(number, line) for kind in _READERS if kind.opens(line)), None)
        if reader is not None:
            stamp = _stamp([*above, line]) or stamp
            reader.feed(number, line)
        elif prompt := _PROMPT.search(line):
            host, above, stamp = prompt[1], [], ""
        else:
            above = [*above[1 - _ABOVE :], line]
    if reader is not None:
        found += _ended(reader, host, stamp)
    return found


def _ended(reader: _Reader, host: str, stamp: str) -> list[DeviceTable | HostTable]:
    ended = reader.end()
    tables: list[DeviceTable | HostTable] = []
    for table in ended if isinstance(ended, list) else [ended]:
        table.host = host
        table.stamp = (table.stamp or stamp).replace("/", "-")
        if _holds(table):
            tables.append(table)
    return tables


def _holds(table: DeviceTable | HostTable) -> bool:
    if isinstance(table, DeviceTable):
        return bool(table.devices)
    return bool(table.filesystems or table.memory or table.ports)


def _stamp(lines: list[str]) -> str:
    """Return the last time that lines write, "" where none does."""
    for line in reversed(lines):
        if found := _STAMP.search(line):
            return found[0]
    return ""
