"""Tables of profilers with a row for each kind of operation: torch's and Lightning's.

`key_averages().table()` of torch.profiler: the head names the columns, of which there are more with
devices, memory or shapes. They are apart by two blanks at least, names are cut off. Below stand the
totals of host and devices. Lightning's simple profiler: cells between bars, the total in a row.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

_APART = re.compile(r"\s{2,}")
_DASHES = re.compile(r"[\s-]{20,}")
_HEAD = ("Name", "Self CPU %", "# of Calls")
_SIMPLE, _SIMPLE_CELLS = ("Action", "Mean duration (s)", "Num calls", "Total time (s)"), 4
_NUMBER = re.compile(r"\d{1,12}(?:\.\d{1,9})?(?:e[-+]\d{1,3})?")
_TOTAL = re.compile(
    r"(?:Self )?(?P<of>CPU|CUDA|XPU|NPU|HPU|MTIA|PrivateUse1|Device) time total: "
    r"(?P<time>[\d.]{1,20}\w{1,2})"
)
_TIME = re.compile(r"(?P<value>\d{1,12}(?:\.\d{1,9})?)(?P<unit>s|ms|us|ns)")
_FACTORS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
_BELOW = 6
"""Lines below a table in which its totals stand."""
_MOST_ROWS = 5000


_LOADER = re.compile(r"(?i)DataLoader(?:Iter|\)#|_n\w*|.{0,60}__next__)|get_train_batch")
"""torch's own name of a call for the next batch, and Lightning's; cut off at any place."""


@dataclass(frozen=True, slots=True)
class ProfiledOperation:
    """One kind of operation: what it took with all that it called, s, and how often it ran."""

    line: int
    name: str
    cpu_seconds: float
    calls: int


@dataclass(slots=True)
class ProfileTable:
    """A table, in the order of its lines. Totals are seconds, 0 where the table has none."""

    rows: list[ProfiledOperation] = field(default_factory=list[ProfiledOperation])
    cpu_seconds: float = 0.0
    device_seconds: float = 0.0

    @property
    def loading(self) -> ProfiledOperation | None:
        """Return the row in which the loop waits for its loader, the longest of several."""
        named = [row for row in self.rows if _LOADER.search(row.name)]
        return max(named, key=lambda row: row.cpu_seconds, default=None)


def read(lines: Sequence[str]) -> list[ProfileTable]:
    """Return all tables of a log; lines count from 1."""
    found = [
        table
        for place, line in enumerate(lines)
        if all(text in line for text in _SIMPLE) and (table := _simple(lines, place)).rows
    ]
    for place, line in enumerate(lines):
        rows = list(_rows(lines, place)) if all(text in line for text in _HEAD) else []
        if not rows:
            continue
        table = ProfileTable(rows)
        for below in lines[rows[-1].line : rows[-1].line + _BELOW]:
            if total := _TOTAL.search(below):
                seconds = _seconds(total["time"]) or 0.0
                if total["of"] == "CPU":
                    table.cpu_seconds = seconds
                else:
                    table.device_seconds = seconds
        found.append(table)
    return found


def _simple(lines: Sequence[str], head: int) -> ProfileTable:
    """Return Lightning's table below a head: action, mean, calls and seconds in all."""
    table = ProfileTable()
    for place in range(head + 1, min(len(lines), head + _MOST_ROWS)):
        line = lines[place].strip()
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if _DASHES.fullmatch(line):
            continue
        if len(cells) < _SIMPLE_CELLS or not _NUMBER.fullmatch(cells[3]):
            break
        if cells[0] == "Total":
            table.cpu_seconds = float(cells[3])
        elif cells[2].isdigit():
            table.rows.append(
                ProfiledOperation(place + 1, cells[0], float(cells[3]), int(cells[2]))
            )
    return table


def _rows(lines: Sequence[str], head: int) -> Iterator[ProfiledOperation]:
    """Yield the rows below a head."""
    columns = _APART.split(lines[head].strip())
    if "CPU total" not in columns:
        return
    total, calls = columns.index("CPU total"), columns.index("# of Calls")
    for place in range(head + 1, min(len(lines), head + _MOST_ROWS)):
        cells = _APART.split(lines[place].strip())
        if _DASHES.fullmatch(lines[place]):
            if place > head + 1:
                return
            continue
        if len(cells) < len(columns):
            return
        seconds, count = _seconds(cells[total]), cells[calls]
        if seconds is not None and count.isdigit():
            yield ProfiledOperation(place + 1, cells[0], seconds, int(count))


def _seconds(text: str) -> float | None:
    found = _TIME.fullmatch(text)
    return None if found is None else float(found["value"]) * _FACTORS[found["unit"]]
