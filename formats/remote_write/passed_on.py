"""Series of exporters that an OpenTelemetry Collector scraped, and passes on by OTLP.

Its Prometheus receiver keeps the names and labels of the page that it read; the target is the
resource. So they are what remote write would have brought, in another envelope.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from ...vocabulary.samples import Scalar
from ..otlp import general, json_decode, resources, values
from ..otlp.columns import MetricsBatch, PointColumns
from ..otlp.decode import MetricsDecoder
from ..otlp.errors import within
from ..otlp.streams import NO_RECORDED_VALUE
from . import labels as naming
from .decoder import LabelledSample, RemoteWriteDecoder

NAMES = ("DCGM_FI_", "DCGM_EXP_", "npu_chip_", "mlu_", "node_cpu_", "node_memory_", "node_network_")
"""What names of exporters begin with that nobody else's do: one of them tells a page."""

_BYTES = tuple(name.encode() for name in NAMES)

_LABELS = {
    resources.INSTANCE: "instance",
    resources.SERVICE: "job",
    resources.CLUSTER: "cluster",
    "k8s.cluster.name": "cluster",
}
"""Attributes of a target whose label is not their name with underscores."""

_NS_OF_MS = 1_000_000


class PassedOnDecoder:
    """Decodes OTLP metrics, among them pages of exporters; for one thread."""

    def __init__(self, otlp: MetricsDecoder, labelled: RemoteWriteDecoder) -> None:
        self._otlp = otlp
        self._labelled = labelled

    def protobuf(self, body: bytes) -> MetricsBatch:
        """Return the points of a protobuf request; raises UndecodableError."""
        if not _may_hold_pages(body):
            return self._otlp.protobuf(body)
        request = general.parse(body)
        pages = [one for one in request.resource_metrics if _is_page(_names(one))]
        if not pages:
            return self._otlp.protobuf(body)
        found = self._labelled.labelled(sample for page in pages for sample in _samples(page))
        for page in pages:
            request.resource_metrics.remove(page)
        return _together(found, self._otlp.protobuf(request.SerializeToString()))

    def json(self, body: bytes | str) -> MetricsBatch:
        """Return the points of a JSON request; raises UndecodableError."""
        if not _may_hold_pages(body.encode() if isinstance(body, str) else body):
            return self._otlp.json(body)
        pages: list[dict[str, Any]] = []
        others: list[dict[str, Any]] = []
        for place, one in json_decode.listed(json_decode.parsed(body), "resourceMetrics"):
            with within(place):
                page = _is_page(metric.get("name") for metric in _metrics_of_json(one))
            (pages if page else others).append(one)
        if not pages:
            return self._otlp.json(body)
        found = self._labelled.labelled(sample for one in pages for sample in _of_json(one))
        return _together(found, self._otlp.json(json.dumps({"resourceMetrics": others})))


def _may_hold_pages(body: bytes) -> bool:
    return any(name in body for name in _BYTES)


def _is_page(names: Any) -> bool:
    return any(isinstance(name, str) and name.startswith(NAMES) for name in names)


def _together(pages: MetricsBatch, others: MetricsBatch) -> MetricsBatch:
    """Return both as one batch: a scraper's where nobody else sends in it."""
    columns = [one.columns for one in (pages, others)]
    return MetricsBatch(
        PointColumns(
            np.concatenate([one.series for one in columns]),
            np.concatenate([one.at for one in columns]),
            np.concatenate([one.value for one in columns]),
        ),
        pages.rejected + others.rejected,
        "; ".join(filter(None, (pages.reason, others.reason))),
        scraped=not len(others.columns),
        resources=tuple({*pages.resources, *others.resources}),
    )


def _names(of_resource: Any) -> Iterator[str]:
    for scope in of_resource.scope_metrics:
        for metric in scope.metrics:
            yield metric.name


def _samples(page: Any) -> Iterator[LabelledSample]:
    target = _target(values.pairs(page.resource.attributes))
    for scope in page.scope_metrics:
        for metric in scope.metrics:
            kind = metric.WhichOneof("data")
            for point in getattr(metric, kind).data_points if kind in ("gauge", "sum") else ():
                held = point.WhichOneof("value")
                if held is None or point.flags & NO_RECORDED_VALUE:
                    continue
                labels = _labels(metric.name, target, values.pairs(point.attributes))
                yield labels, point.time_unix_nano // _NS_OF_MS, float(getattr(point, held))


def _metrics_of_json(of_resource: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for _, scope in json_decode.listed(of_resource, "scopeMetrics"):
        for _, metric in json_decode.listed(scope, "metrics"):
            yield metric


def _of_json(page: dict[str, Any]) -> Iterator[LabelledSample]:
    resource = values.an_object(page.get("resource"))
    target = _target(values.json_pairs(resource.get("attributes")))
    for metric in _metrics_of_json(page):
        kind = "sum" if metric.get("gauge") is None else "gauge"
        for _, point in json_decode.listed(values.an_object(metric.get(kind)), "dataPoints"):
            value = json_decode.point_value(point)
            if value is None or json_decode.ended(point):
                continue
            labels = _labels(
                str(metric["name"]), target, values.json_pairs(point.get("attributes"))
            )
            yield labels, json_decode.time_ns(point) // _NS_OF_MS, value


def _target(attributes: Mapping[str, Scalar]) -> dict[str, str]:
    """Return the labels that a scraper would have added."""
    return {
        _LABELS.get(name, name.replace(".", "_")): str(value) for name, value in attributes.items()
    }


def _labels(
    name: str, target: Mapping[str, str], attributes: Mapping[str, Scalar]
) -> dict[str, str]:
    """Return a sample's labels, its own first: a Collector may say on which host it runs itself."""
    own = {label: str(value) for label, value in attributes.items()}
    if naming.first(own, naming.HOSTS):
        target = {label: text for label, text in target.items() if label not in naming.HOSTS}
    return {**target, **own, "__name__": name}
