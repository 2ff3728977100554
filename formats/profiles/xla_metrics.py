"""Reports that `metrics_report()` of torch_xla prints: how often it compiled and ran, and how long.

Counts go on from the start of the process: of two reports the difference is what lies between.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

_METRIC = re.compile(r"Metric: (?P<name>\w{1,80})")
_COUNTER = re.compile(r"Counter: (?P<name>[\w:.]{1,120})")
_FIELD = re.compile(
    r"(?P<key>TotalSamples|Accumulator|Counter|ValueRate|Value): (?P<value>\S{1,60})"
)
_PART = re.compile(r"(\d{1,12}(?:\.\d{1,9})?)(ms|us|ns|d|h|m|s)")
_TIME = re.compile(rf"(?:{_PART.pattern})+")
_FACTORS = {"d": 86400.0, "h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
_FIRST = "CompileTime"
"""The metric that a report begins with: they are sorted by name."""


@dataclass(slots=True)
class XlaMetric:
    """How often something was measured, its sum, and how much of it comes in a second by now.

    Both are seconds where the metric is one of time, else 0.
    """

    samples: int = 0
    seconds: float = 0.0
    rate: float = 0.0


@dataclass(slots=True)
class XlaReport:
    """The metrics and counters of one report by name; line: where it begins, from 1."""

    line: int
    metrics: dict[str, XlaMetric] = field(default_factory=dict[str, XlaMetric])
    counters: dict[str, int] = field(default_factory=dict[str, int])

    @property
    def compiled(self) -> XlaMetric:
        """Return what graphs were compiled."""
        return self.metrics.get(_FIRST, XlaMetric())

    @property
    def executed(self) -> XlaMetric:
        """Return what graphs were run on the device."""
        return self.metrics.get("ExecuteTime", XlaMetric())

    @property
    def fallbacks(self) -> dict[str, int]:
        """Return how often operations ran on the host, as the device has none of that name."""
        return {name: n for name, n in self.counters.items() if name.startswith("aten::")}


def read(lines: Iterable[str]) -> list[XlaReport]:
    """Return the reports of a log, in their order."""
    found: list[XlaReport] = []
    metric, counter = XlaMetric(), ""
    for number, line in enumerate(lines, 1):
        text = line.strip()
        if begun := _METRIC.fullmatch(text):
            if begun["name"] == _FIRST:
                found.append(XlaReport(number))
            metric, counter = XlaMetric(), ""
            if found:
                found[-1].metrics[begun["name"]] = metric
        # Older reports call the sum of a metric so too.
        elif (counted := _COUNTER.fullmatch(text)) and not _seconds(counted["name"]):
            counter = counted["name"]
        elif said := _FIELD.match(text):
            _take(said["key"], said["value"], metric, counter, found)
    return found


def _take(key: str, value: str, metric: XlaMetric, counter: str, found: list[XlaReport]) -> None:
    if key == "Value":
        if found and counter and value.isdigit():
            found[-1].counters[counter] = int(value)
    elif key == "TotalSamples":
        metric.samples = int(value) if value.isdigit() else 0
    elif key == "ValueRate":
        metric.rate = _seconds(value)
    else:
        metric.seconds = _seconds(value)


def _seconds(text: str) -> float:
    """Return a time as reports write it, `02m44s963ms609.866us`; 0 of any other value."""
    if _TIME.fullmatch(text) is None:
        return 0.0
    return sum(float(value) * _FACTORS[unit] for value, unit in _PART.findall(text))
