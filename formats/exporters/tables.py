"""A vendor's table: what each metric of its exporter is in the vocabulary's terms."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from ...vocabulary.samples import Scalar


@dataclass(frozen=True, slots=True)
class ContractTarget:
    """What one exported value is in the contract."""

    metric: str
    unit: str = "1"
    factor: float = 1.0
    attributes: Mapping[str, Scalar] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    words: Mapping[str, tuple[str, Mapping[str, str]]] = field(default_factory=dict)
    pairs: Mapping[str, Mapping[str, Mapping[str, str]]] = field(default_factory=dict)
    flag: bool = False
    fallback: bool = False
    parts: int = 0
    states: Mapping[float, str] = field(default_factory=dict)
    bits: Mapping[tuple[int, int], str] = field(default_factory=dict)
    """Words by (value, mask): a word holds where the masked bits are the value."""
    choices: Mapping[float, str] = field(default_factory=dict)
    choice: str = ""
    percent_above: float | None = None


@dataclass(frozen=True, slots=True)
class ExporterMetric:
    """One spelling of one metric of an exporter."""

    name: str
    targets: tuple[ContractTarget, ...] = ()
    absent: frozenset[float] = frozenset()
    instance: bool = False
    node: bool = False
    fault: str = ""
    code: str = ""
    code_label: str = ""
    code_prefix: str = ""
    code_format: str = ""
    only: Mapping[str, str] = field(default_factory=dict)
    ignore: str = ""


@dataclass(frozen=True, slots=True)
class DeviceLabels:
    """Which labels identify the device."""

    id: tuple[str, ...] = ()
    index: tuple[str, ...] = ()
    instance: tuple[str, ...] = ()
    first_instance: str = ""
    partition: tuple[str, ...] = ()
    port: tuple[str, ...] = ()
    device: str = "gpu"
    info: Mapping[str, str] = field(default_factory=dict)
    holder: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class ExporterTable:
    """A vendor's exporter: its rows by name, and by pattern where a number stands in the name."""

    vendor: str
    exporter: str
    prefixes: tuple[str, ...] = ("",)
    blanks: frozenset[float] = frozenset()
    blank_from: float = float("inf")
    identity: DeviceLabels = DeviceLabels()
    rows: Mapping[str, ExporterMetric] = field(default_factory=dict)
    patterns: tuple[tuple[re.Pattern[str], ExporterMetric], ...] = ()

    def find(self, name: str) -> tuple[ExporterMetric, Mapping[str, str]] | None:
        """Return the row of a metric's name, and the numbers that stand in it; None if unknown."""
        for prefix in self.prefixes:
            if not name.startswith(prefix):
                continue
            bare = name[len(prefix) :]
            row = self.rows.get(bare)
            if row is not None:
                return row, {}
            for pattern, row in self.patterns:
                matched = pattern.fullmatch(bare)
                if matched is not None:
                    return row, matched.groupdict()
        return None

    def with_prefix(self, prefix: str) -> "ExporterTable":
        """Return the table for an exporter that was given another prefix of its names."""
        return replace(self, prefixes=(prefix, *(p for p in self.prefixes if p != prefix)))
