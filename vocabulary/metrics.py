"""The metric catalogue, read from metrics.toml, and each metric's name in Prometheus form."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Literal, cast

Kind = Literal["gauge", "counter"]
Cadence = Literal["step", "period", "info", "sample"]

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
class Metric:
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
    def prometheus_name(self) -> str:
        """Return the name in Prometheus form: underscores, unit suffix, `_total` on counters."""
        name = self.name.replace(".", "_")
        suffix = _UNIT_SUFFIX.get(self.unit)
        if suffix and not name.endswith(suffix):
            name = f"{name}_{suffix}"
        return f"{name}_total" if self.kind == "counter" else name


@cache
def catalogue() -> Mapping[str, Metric]:
    """Return every metric by name, in the file's order."""
    text = resources.files(__package__ or "").joinpath("metrics.toml").read_text(encoding="utf-8")
    return parsed(text)


def parsed(text: str) -> Mapping[str, Metric]:
    """Return the metrics of a TOML text with `[[metric]]` rows; KeyError where a field lacks."""
    return {
        row["name"]: Metric(
            name=row["name"],
            unit=row["unit"],
            kind=cast("Kind", row["kind"]),
            cadence=cast("Cadence", row["cadence"]),
            help=row["help"],
            attributes=tuple(row.get("attributes", ())),
            optional=tuple(row.get("optional", ())),
            values={key: tuple(values) for key, values in row.get("values", {}).items()},
        )
        for row in tomllib.loads(text)["metric"]
    }
