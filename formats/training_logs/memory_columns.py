"""What lines say of memory that is held, by the words before a number, in whatever form.

`RSS 3.1 GB`, `gpu_mem: 5.2G`, `memory: 5610`: of a host or of a device. Totals, limits and what is
free are none of it, and neither is a cache that somebody fills.
"""

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

_NUMBER = re.compile(
    r"(?<![\w.])(?P<value>\d{1,15}(?:,\d{3}){0,4}(?:\.\d{1,9})?)"
    r" ?(?P<unit>[KMGTkmgt]i?[Bb]?(?:ytes)?|[Bb]ytes|B|%)?(?![\w.])"
)
_HELD = re.compile(
    r"(?i)(?:(?<![a-z])|(?<=gpu)|(?<=max)|(?<=cpu))"
    r"(?:mem(?:ory)?(?:[ _-]?(?:used|usage|info))?|rss|ram|vram|allocated|reserved)(?![a-z])"
)
_HOST = re.compile(
    r"(?i)(?<![a-z])(?:rss|ram|cpu|host|process|resident|psutil|sys(?:tem)?|maxrss|"
    r"current memory usage|memory usage)(?![a-z])"
)
_DEVICE = re.compile(r"(?i)(?<![a-z])(?:gpu|cuda|vram|device|hbm|allocated|reserved)")
_ELSE = re.compile(
    r"(?i)total|limit|avail|free|left|max_(?:split|length)|cach|loss|token|bank|size|budget|"
    r"capacity|fraction|time|tried|threshold|required|needs?\b"
)
_FACTORS = {"k": 2.0**10, "m": 2.0**20, "g": 2.0**30, "t": 2.0**40, "b": 1.0}
_LONGEST, _LONGEST_LABEL = 500, 40
_MOST_ROWS = 5000
_LEAST_MIB = 100.0
"""A number without a unit that is less is of gigabytes."""


@dataclass(frozen=True, slots=True)
class HeldMemory:
    """A line, from 1; what it says is held, in bytes, or in percent where `share`."""

    line: int
    held: float
    text: str


@dataclass(frozen=True, slots=True)
class MemoryColumn:
    """What lines say under one name, in their order; `host`: of a host's memory."""

    host: bool
    share: bool
    rows: tuple[HeldMemory, ...]


def read(lines: Iterable[str], fewest: int) -> list[MemoryColumn]:
    """Return the columns of a log that have so many rows: the longest first."""
    found: dict[tuple[str, bool, bool], list[HeldMemory]] = defaultdict(list)
    for number, line in enumerate(lines, 1):
        text = line.strip()[:_LONGEST]
        if _HELD.search(text) is None:
            continue
        seen = set[tuple[str, bool, bool]]()
        end = 0
        for one in _NUMBER.finditer(text):
            label = text[end : one.start()][-_LONGEST_LABEL:]
            end = one.end()
            held = _bytes(one)
            if held is None or _HELD.search(label) is None or _ELSE.search(label):
                continue
            host = _HOST.search(label) is not None and _DEVICE.search(label) is None
            key = (_name(label), host, one["unit"] == "%")
            if key not in seen and len(found[key]) < _MOST_ROWS:
                seen.add(key)
                found[key].append(HeldMemory(number, held, text))
    columns = [
        MemoryColumn(host, share, tuple(rows))
        for (_, host, share), rows in found.items()
        if len(rows) >= fewest
    ]
    return sorted(columns, key=lambda one: -len(one.rows))


def _name(label: str) -> str:
    return "".join(label.lower().split())


def _bytes(one: re.Match[str]) -> float | None:
    value = float(one["value"].replace(",", ""))
    unit = (one["unit"] or "").lower()
    if unit == "%":
        return value
    if unit:
        return value * _FACTORS[unit[0]]
    return value * (_FACTORS["m"] if value >= _LEAST_MIB else _FACTORS["g"])
