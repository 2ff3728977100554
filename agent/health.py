"""What the agent counts about itself: one place, written by every thread, read by the page."""

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Literal

from ..vocabulary import tables

Labels = tuple[str, ...]
_PREFIX = "rankscope_agent_"
_AGE = "_age_seconds"


@dataclass(frozen=True, slots=True)
class HealthMetric:
    """One health metric: its name in Prometheus form, and the labels its values carry."""

    name: str
    kind: Literal["gauge", "counter"]
    help: str
    labels: Labels = ()


@cache
def measures() -> Mapping[str, HealthMetric]:
    """Return every health metric by name, in the order of health.toml."""
    rows = tables.packaged(HealthMetric, __package__ or "", "health.toml", "metric")
    return {row.name: row for row in rows}


class AgentHealth:
    """Counters and gauges; names are given without their prefix and `_total`.

    A name that health.toml does not have, or a wrong number of labels, is a KeyError or ValueError
    at the first use: a typo shows in the first test that comes by.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._values: dict[str, dict[Labels, float]] = {
            measure.name: {(): 0.0} if measure.kind == "counter" and not measure.labels else {}
            for measure in measures().values()
        }
        self._given = {
            name.removeprefix(_PREFIX): (values, len(measures()[name].labels))
            for name, values in self._values.items()
        }

    def count(self, what: str, *labels: str, by: int = 1) -> None:
        values = self._of(f"{what}_total", labels)
        with self._lock:
            values[labels] = values.get(labels, 0.0) + by

    def show(self, what: str, value: float, *labels: str) -> None:
        """Set a gauge."""
        values = self._of(what, labels)
        with self._lock:
            values[labels] = value

    def happened(self, what: str, at: float, *labels: str) -> None:
        """Note when something last happened, for the gauge `<what>_age_seconds`."""
        self.show(f"{what}_age_seconds", at, *labels)

    def counted(self, what: str, *labels: str) -> float:
        """Return what a counter stands at; without labels, the sum over all of them."""
        values, _ = self._given[f"{what}_total"]
        with self._lock:
            return values.get(labels, 0.0) if labels else sum(values.values())

    def everything(self, now: float) -> list[tuple[HealthMetric, dict[Labels, float]]]:
        """Return a copy of all values, in the order of health.toml; ages are as of `now`."""
        with self._lock:
            return [
                (
                    measure,
                    {
                        labels: max(0.0, now - value) if name.endswith(_AGE) else value
                        for labels, value in self._values[name].items()
                    },
                )
                for name, measure in measures().items()
            ]

    def _of(self, name: str, labels: Labels) -> dict[Labels, float]:
        values, expected = self._given[name]
        if len(labels) != expected:
            known = measures()[_PREFIX + name].labels
            raise ValueError(f"{_PREFIX}{name} has the labels {known}, not {labels}")
        return values
