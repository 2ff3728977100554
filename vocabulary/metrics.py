"""The metric catalogue, read from metrics.toml, and each metric's name in Prometheus form."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Literal

from . import tables

Kind = Literal["gauge", "counter"]
Cadence = Literal["step", "period", "info", "sample"]

_OBSERVED = ("hw.", "system.", "container.", "process.")

_UNIT_SUFFIX = {
    "s": "seconds",
    "By": "bytes",
    "By/s": "bytes_per_second",
    "Cel": "celsius",
    "W": "watts",
    "J": "joules",
    "Hz": "hertz",
    "V": "volts",
    "{token}/s": "per_second",
    "{flop}/s": "per_second",
}


@dataclass(frozen=True, slots=True)
class ContractMetric:
    """One metric.

    `attributes` identify a series, `optional` may be missing; `values` lists the closed sets.
    """

    name: str
    unit: str
    kind: Kind
    cadence: Cadence
    help: str
    attributes: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    values: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def observed(self) -> bool:
        """Return whether it is of a node or its processes: an agent observes it.

        It is taken from no process that reports it.
        """
        return self.name.startswith(_OBSERVED)

    @property
    def prometheus_name(self) -> str:
        """Return the name in Prometheus form: underscores, unit suffix, `_total` on counters."""
        name = self.name.replace(".", "_")
        suffix = _UNIT_SUFFIX.get(self.unit)
        if suffix and not name.endswith(suffix):
            name = f"{name}_{suffix}"
        return f"{name}_total" if self.kind == "counter" else name


@cache
def observed() -> frozenset[str]:
    """Return the names of the metrics that an agent observes."""
    return frozenset(name for name, metric in catalogue().items() if metric.observed)


@cache
def catalogue() -> Mapping[str, ContractMetric]:
    """Return every metric by name, in the file's order."""
    rows = tables.packaged(ContractMetric, __package__ or "", "metrics.toml", "metric")
    return {row.name: row for row in rows}
