"""The values of a device by the names that tools give them, and what their texts mean."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache

from ...vocabulary import tables as toml_tables
from ...vocabulary.samples import Scalar, attributes
from .tables import Quantity

_MIB = float(1 << 20)
_UNITS = {
    "%": 0.01, "w": 1.0, "c": 1.0, "°c": 1.0, "mhz": 1e6, "x": 1.0,
    "kib": 1024.0, "mib": _MIB, "mb": _MIB, "gib": 1024.0 * _MIB, "gb": 1024.0 * _MIB,
}  # fmt: skip
"""What a number is worth by its unit; tools that write MB of devices mean MiB."""
_WORDS = {"active": 1.0, "not active": 0.0, "yes": 1.0, "no": 0.0}
_NUMBER = re.compile(r"(-?\d+(?:\.\d+)?)\s*([%°A-Za-z]{0,4})")

_REASONS = "clocks_throttle_reasons.active", "clocks_event_reasons.active"
"""Columns with all reasons in one number."""
_BITS = {
    0x1: "idle", 0x8: "slowdown_hw", 0x20: "thermal_sw", 0x40: "thermal_hw", 0x80: "power_brake",
}  # fmt: skip
"""Those of NVML that hold a clock down by themselves, and the one that says that nothing runs."""


@dataclass(frozen=True, slots=True)
class TableField:
    """A row of fields.toml. `unit` is that of numbers without one, "" where they have none."""

    name: str
    metric: str
    attributes: Mapping[str, Scalar] = field(default_factory=dict)
    unit: str = ""
    columns: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()

    @property
    def quantity(self) -> Quantity:
        """Return its metric and attributes."""
        return self.metric, attributes(self.attributes)

    def value(self, text: str, unit: str = "") -> float | None:
        """Return what a text says in the vocabulary's unit, None where it says no value.

        `unit` is that of the column, "" where its header has none.
        """
        text = text.strip()
        if text.lower() in _WORDS:
            return _WORDS[text.lower()]
        found = _NUMBER.fullmatch(text)
        if found is None:
            return None
        named = (found[2] or unit or self.unit).lower()
        return float(found[1]) * _UNITS.get(named, 1.0)


@cache
def _fields() -> tuple[TableField, ...]:
    package = __package__ or ""
    return tuple(
        toml_tables.packaged(TableField, package, "fields.toml", "field", beside="version source")
    )


@cache
def by_column() -> dict[str, TableField]:
    """Return the fields by the names of columns, in lower case."""
    return {name: one for one in _fields() for name in one.columns}


@cache
def by_path() -> dict[str, TableField]:
    """Return the fields by the end of their path in sections, in lower case."""
    return {name: one for one in _fields() for name in one.paths}


def reasons(column: str, text: str) -> dict[Quantity, float]:
    """Return the reasons that a number of them holds; none of another column."""
    if column not in _REASONS:
        return {}
    try:
        bits = int(text.strip(), 16)
    except ValueError:
        return {}
    return {
        ("hw.gpu.throttle", attributes({"reason": name})): float(bool(bits & bit))
        for bit, name in _BITS.items()
    }
