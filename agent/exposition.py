"""The Prometheus page: the latest values in the names and labels of the vocabulary.

Labels are a metric's own attributes in the vocabulary, so that no sender can invent one; `pid` and
what changes with it stay out, and processes that only a pid distinguishes are added up.
"""

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain
from typing import TYPE_CHECKING

from ..vocabulary import metrics
from ..vocabulary.samples import Attributes, Scalar, TelemetryResource
from .health import AgentHealth
from .latest import LatestValues

if TYPE_CHECKING:
    from .dcgm_names import DcgmPage

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_HIDDEN = frozenset({"pid", "container.pid", "cgroup", "process.start_time"})
_SPARE = 256
"""Prefixes of series that are not shown any more, kept until there are so many of them."""
_log = logging.getLogger(__name__)
_NUMBERS = {"nan": "NaN", "inf": "+Inf", "-inf": "-Inf"}


class ExpositionPage:
    """Renders the page; `max_series` bounds all series but the agent's own health.

    With `dcgm_page` dcgm-exporter's names come first, so that dashboards built on them lose nothing
    when there are too many. What stands before each value is kept from one scrape to the next:
    2,000 series cost 4 ms then, and 25 ms through a client library.
    """

    def __init__(
        self,
        *,
        latest: LatestValues,
        health: AgentHealth,
        groups: bool,
        max_series: int,
        dcgm_page: "DcgmPage | None" = None,
    ) -> None:
        self._latest = latest
        self._health = health
        self._groups = groups
        self._max_series = max_series
        self._dcgm_page = dcgm_page
        self._failed = False
        self._prefixes: dict[tuple[TelemetryResource, str, Attributes], _SeriesPrefix | None] = {}

    def render(self, now: float) -> bytes:
        """Return the page as it is now. Not for two threads at once."""
        latest = self._latest.series(now)
        dcgm_text, taken, dropped = "", 0, 0
        if self._dcgm_page:
            try:
                dcgm_text, taken, dropped = self._dcgm_page.render(
                    latest, now, room=self._max_series
                )
            except Exception:  # noqa: BLE001  our own names are shown all the same
                self._health.count("internal_errors")
                if not self._failed:
                    _log.exception("dcgm-exporter's names cannot be shown")
                self._failed = True
        families = self._families(latest, room=self._max_series - taken, dropped=dropped)
        text = dcgm_text + "".join(
            line
            for name, values in families.items()
            for line in (
                _head(name),
                *(f"{series} {_number(value)}\n" for series, value in values.items()),
            )
        )
        return (text + _own(self._health, now)).encode()

    def _families(
        self,
        series: Sequence[tuple[TelemetryResource, str, Attributes, float]],
        *,
        room: int,
        dropped: int,
    ) -> dict[str, dict[str, float]]:
        """Return value by series by metric: of a rank's attempts the newest, of workers the sum."""
        families: dict[str, dict[str, float]] = {}
        kept = 0
        first: list[tuple[str, _SeriesPrefix, float]] = []
        last: list[tuple[str, _SeriesPrefix, float]] = []
        if len(self._prefixes) > 5 * len(series) // 4 + _SPARE:  # of ranks and pods long gone
            shown = {(resource, name, pairs) for resource, name, pairs, _ in series}
            self._prefixes = {key: one for key, one in self._prefixes.items() if key in shown}
        for resource, name, pairs, value in series:
            key = (resource, name, pairs)
            try:
                prefix = self._prefixes[key]
            except KeyError:
                prefix = self._prefixes[key] = self._prefix(resource, name, pairs)
            if prefix is not None:
                (last if prefix.last else first).append((name, prefix, value))
        for name, prefix, value in chain(first, last):
            values = families.get(name)
            if values is None:
                values = families[name] = {}
            if prefix.text not in values:
                if kept == room:
                    dropped += 1
                    continue
                kept += 1
                values[prefix.text] = value
            elif prefix.added:
                values[prefix.text] += value
        self._health.show("series_dropped", dropped)
        return {name: values for name, values in families.items() if values}

    def _prefix(
        self, resource: TelemetryResource, name: str, pairs: Attributes
    ) -> "_SeriesPrefix | None":
        metric = metrics.catalogue()[name]
        if "group" in metric.attributes and not self._groups:
            return None
        worker = ("role", "dataloader") in pairs
        if worker and metric.kind == "counter":
            return None  # a sum of counters falls when a worker ends, which reads as a reset
        labels = ",".join(
            f'{label}="{_escaped(value)}"' for label, value in _labels(metric, resource, pairs)
        )
        text = f"{metric.prometheus_name}{{{labels}}}"
        return _SeriesPrefix(text, added=worker, last="link" in metric.attributes)


@dataclass(frozen=True, slots=True)
class _SeriesPrefix:
    """What stands before a value: name and labels.

    `added`: add up what has the same; `last` that it is left out first when there is no
    room: eight devices have 576 series of single links.
    """

    text: str
    added: bool
    last: bool


def _own(health: AgentHealth, now: float) -> str:
    """Return every health metric of the agent's own that has a value."""
    lines: list[str] = []
    for measure, values in health.everything(now):
        if values:
            lines.append(_comment(measure.name, measure.help, measure.kind))
        for labels, value in values.items():
            named = zip(measure.labels, labels, strict=True)
            pairs = ",".join(f'{label}="{_escaped(text)}"' for label, text in named)
            braces = f"{{{pairs}}}" if pairs else ""
            lines.append(f"{measure.name}{braces} {_number(value)}\n")
    return "".join(lines)


@cache
def _head(name: str) -> str:
    metric = metrics.catalogue()[name]
    spelt = metric.prometheus_name
    # Prometheus keeps `_count` for histograms and summaries. Names that OpenTelemetry ends so stay
    # and have no type: promtool then takes them, and Prometheus reads them as it reads a gauge.
    kind = "untyped" if spelt.endswith("_count") else metric.kind
    return _comment(spelt, metric.help, kind)


def _comment(name: str, meaning: str, kind: str) -> str:
    text = meaning.replace("\\", "\\\\").replace("\n", "\\n")
    return f"# HELP {name} {text}\n# TYPE {name} {kind}\n"


def _labels(
    metric: metrics.ContractMetric, resource: TelemetryResource, pairs: Attributes
) -> Iterator[tuple[str, str]]:
    yield "host_name", resource.host
    if resource.job is not None:
        yield "job_id", resource.job
    if resource.cluster is not None:
        yield "cluster", resource.cluster
    shown = _shown(metric.name)
    for name, value in pairs:
        if name in shown:
            yield shown[name], _text(value)


@cache
def _shown(name: str) -> Mapping[str, str]:
    """Return the label of each attribute of a metric that becomes one."""
    metric = metrics.catalogue()[name]
    names = (*metric.attributes, *metric.optional)
    return {name: name.replace(".", "_") for name in names if name not in _HIDDEN}


def _text(value: Scalar) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')


def _number(value: float) -> str:
    text = repr(float(value))
    return _NUMBERS.get(text, text)
