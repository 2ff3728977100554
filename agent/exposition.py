"""The Prometheus page: the latest values in the names and labels of the contract.

Labels are a metric's own attributes in the vocabulary, so that no sender can invent one; `pid` and
what changes with it stay out, and processes that only a pid tells apart are added up.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import cache

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client import Metric as Family
from prometheus_client.registry import Collector

from ..vocabulary import metrics
from ..vocabulary.samples import Attributes, Resource
from .health import Health
from .latest import Latest

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_HIDDEN = frozenset({"pid", "container.pid", "cgroup"})

Labels = tuple[tuple[str, str], ...]


class Page(Collector):
    """Renders the page; `max_series` bounds the contract's series, not the agent's own health."""

    def __init__(self, *, latest: Latest, health: Health, groups: bool, max_series: int) -> None:
        self._latest = latest
        self._health = health
        self._groups = groups
        self._max_series = max_series
        self._now = 0.0
        self._registry = CollectorRegistry(auto_describe=False)
        self._registry.register(self)

    def render(self, now: float) -> bytes:
        """Return the page as it is now. Not for two threads at once."""
        self._now = now
        return generate_latest(self._registry)

    def describe(self) -> Iterable[Family]:
        """Return nothing: the series of this page come and go."""
        return ()

    def collect(self) -> Iterator[Family]:
        """Yield the families of the page: the contract's, then the agent's health."""
        families: dict[str, Family] = {}
        kept = dropped = 0
        for metric, labels, value in self._series():
            if kept == self._max_series:
                dropped += 1
                continue
            kept += 1
            family = families.get(metric.name)
            if family is None:
                family = families[metric.name] = _family(
                    metric.prometheus_name, metric.kind, metric.help
                )
            family.add_sample(metric.prometheus_name, dict(labels), value)
        yield from families.values()
        self._health.show("series_dropped", dropped)
        for measure, values in self._health.everything(self._now):
            family = _family(measure.name, measure.kind, measure.help)
            for names, value in values.items():
                labels_of = dict(zip(measure.labels, names, strict=True))
                family.add_sample(measure.name, labels_of, value)
            if values:
                yield family

    def _series(self) -> Iterator[tuple[metrics.Metric, Labels, float]]:
        """Yield every series once: of a rank's attempts the newest, of its workers the sum."""
        found: dict[tuple[str, Labels], tuple[metrics.Metric, float]] = {}
        for resource, name, pairs, value in self._latest.series(self._now):
            metric = metrics.catalogue()[name]
            if "group" in metric.attributes and not self._groups:
                continue
            worker = ("role", "dataloader") in pairs
            if worker and metric.kind == "counter":
                continue  # a sum of counters falls when a worker ends, which reads as a reset
            key = (name, _labels(metric, resource, pairs))
            if key not in found:
                found[key] = (metric, value)
            elif worker:
                found[key] = (metric, found[key][1] + value)
        for (_, labels), (metric, value) in found.items():
            yield metric, labels, value


def _family(name: str, kind: str, text: str) -> Family:
    # The client takes a counter's name without `_total` and writes it with.
    return Family(name.removesuffix("_total") if kind == "counter" else name, text, kind)


def _labels(metric: metrics.Metric, resource: Resource, pairs: Attributes) -> Labels:
    shown = _shown(metric.name)
    labels = [("host_name", resource.host)]
    if resource.job is not None:
        labels.append(("job_id", resource.job))
    if resource.cluster is not None:
        labels.append(("cluster", resource.cluster))
    labels += [(shown[name], _text(value)) for name, value in pairs if name in shown]
    return tuple(labels)


@cache
def _shown(metric: str) -> Mapping[str, str]:
    """Return the label of each attribute of a metric that becomes one."""
    known = metrics.catalogue()[metric]
    names = (*known.attributes, *known.optional)
    return {name: name.replace(".", "_") for name in names if name not in _HIDDEN}


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
