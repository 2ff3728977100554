"""What tables of a host's memory say is held, one after the other: `free`, `sar -r`, `vmstat`.

What the kernel caches is not held: it is given back.
"""

import re
from collections.abc import Iterable, Mapping, Sequence

from .memory_columns import HeldMemory, MemoryColumn

_SIZE = re.compile(r"(\d{1,15}(?:\.\d{1,3})?)([KMGT]?)i?B?")
_POWERS = "KMGT"
_UNITS = ((1e9, 1.0), (4e6, 1024.0), (1e3, 1024.0**2), (0.0, 1024.0**3))
"""A number from which on a host's memory is one of bytes, KiB, MiB, GiB."""
_FREE, _SAR, _VMSTAT = "free", "sar -r", "vmstat"
_HEADERS = {
    _FREE: re.compile(r"^\s*total\s+used\s+free\s+shared\b"),
    _SAR: re.compile(r"\bkbmemfree\b.*\bkbmemused\b"),
    _VMSTAT: re.compile(r"^\s*r\s+b\s+swpd\s+free\s+"),
}
_ROW = re.compile(r"^\s*(?:Mem|内存)[:\N{FULLWIDTH COLON}]\s*(?P<cells>\S.*)$")
_WITHOUT_CACHES = re.compile(r"^\s*-/\+ buffers/cache:\s*(?P<used>\S+)\s+(?P<free>\S+)\s*$")
_CLOCK = re.compile(r"^\d\d:\d\d:\d\d(?: [AP]M)?\s")
_MOST_ROWS = 5000
_MOSTLY = 0.5
"""Share of all memory that is held at the end, where a table says how much there is."""


def read(lines: Iterable[str], fewest: int) -> list[MemoryColumn]:
    """Return the tables of a log as columns in bytes, those that have so many rows and fill up."""
    tables = _MemoryTables()
    for number, line in enumerate(lines, 1):
        tables.learn(number, line)
    found = [MemoryColumn(host=True, share=False, rows=tuple(o)) for o in tables.rows.values()]
    return [one for one in found if len(one.rows) >= fewest and tables.fills(one.rows)]


class _MemoryTables:
    """Follows the lines of a log. `rows`: by tool what is held, in bytes.

    vmstat does not say how much there is: held is what is less free than at first.
    """

    def __init__(self) -> None:
        self.rows: dict[str, list[HeldMemory]] = {}
        self._total = 0.0
        self._first: float | None = None
        self._open = ""
        self._unit = 1024.0
        self._names: Sequence[str] = ()

    def learn(self, number: int, line: str) -> None:
        """Take a line."""
        head = next((name for name, one in _HEADERS.items() if one.search(line)), "")
        if head:
            self._open, self._names = head, _CLOCK.sub("", line).split()
            return
        if self._open == _FREE:
            self._of_free(number, line)
        elif self._open:
            cells = _CLOCK.sub("", line).split()
            if len(cells) != len(self._names):
                self._open = self._open if not line.strip() else ""
                return
            self._of_columns(number, line, dict(zip(self._names, cells, strict=True)))

    def fills(self, rows: Sequence[HeldMemory]) -> bool:
        """Tell whether the last row holds much of all there is, or nobody says how much."""
        return not self._total or rows[-1].held >= _MOSTLY * self._total

    def _of_free(self, number: int, line: str) -> None:
        if found := _WITHOUT_CACHES.match(line):
            if (used := self._size(found["used"])) is not None and self.rows.get(_FREE):
                self.rows[_FREE][-1] = HeldMemory(number, used, line.strip())
        elif found := _ROW.match(line):
            cells = dict(zip(self._names, found["cells"].split(), strict=False))
            self._unit = _unit(cells.get("total", ""))
            total, used = (self._size(cells.get(name, "")) for name in ("total", "used"))
            if total is not None and used is not None:
                self._total = total
                self._put(_FREE, number, used, line)

    def _of_columns(self, number: int, line: str, cells: Mapping[str, str]) -> None:
        """Take a row of sar or vmstat, in KiB."""
        self._unit = 1024.0
        values = {name: self._size(cell) for name, cell in cells.items()}
        if self._open == _SAR:
            used, free = values.get("kbmemused"), values.get("kbmemfree")
            cached = [values.get(name) or 0.0 for name in ("kbbuffers", "kbcached")]
            if used is not None and free is not None:
                self._total = used + free
                self._put(_SAR, number, used - sum(cached), line)
            return
        known = [values.get(name) for name in ("free", "buff", "cache")]
        left = [one for one in known if one is not None]
        if len(left) == len(known):
            self._first = self._first or sum(left)
            self._total = self._first
            self._put(_VMSTAT, number, self._first - sum(left), line)

    def _put(self, tool: str, number: int, held: float, line: str) -> None:
        rows = self.rows.setdefault(tool, [])
        if len(rows) < _MOST_ROWS:
            rows.append(HeldMemory(number, max(held, 0.0), line.strip()))

    def _size(self, cell: str) -> float | None:
        found = _SIZE.fullmatch(cell)
        if found is None:
            return None
        unit = 1024.0 ** (1 + _POWERS.index(found[2])) if found[2] else self._unit
        return float(found[1]) * unit


def _unit(total: str) -> float:
    """Return the bytes of a unit that no cell names, by how much memory there is in all."""
    size = float(total) if total.isdigit() else 0.0
    return next(unit for least, unit in _UNITS if size >= least)
