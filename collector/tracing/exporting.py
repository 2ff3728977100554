"""The SDK's providers and exporters, set up by its own variables: endpoint, sampler, ..."""

import os
import time
from collections.abc import Callable, Iterable

from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.metrics import CallbackOptions, Observation
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import (
    ConsoleMetricExporter,
    MetricExporter,
    PeriodicExportingMetricReader,
)
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, ConsoleSpanExporter, SpanExporter
from prometheus_client import CollectorRegistry

from .spans import SpanMaker

_SCOPE = "rankscope.collector"
_SAME_SECONDS = 0.5
"""Instruments that are read together are of one collection."""


def start(
    registry: CollectorRegistry, *, version: str, traces: bool, metrics: bool
) -> SpanMaker | None:
    """Begin to export; return what makes spans, None where only metrics are asked for."""
    own = {"service.version": version}
    if "OTEL_SERVICE_NAME" not in os.environ:
        own["service.name"] = "rankscope-collector"
    resource = Resource.create(own)
    meters = None
    if metrics:
        reader = PeriodicExportingMetricReader(_metric_exporter())
        meters = MeterProvider([reader], resource=resource, shutdown_on_exit=False)
        _HealthBridge(registry).instrument(meters, version)
    tracers = TracerProvider(resource=resource, shutdown_on_exit=False)
    if traces:
        tracers.add_span_processor(BatchSpanProcessor(_span_exporter()))

    def stop() -> None:
        tracers.shutdown()
        if meters is not None:
            meters.shutdown()

    return SpanMaker(tracers.get_tracer(_SCOPE, version), stop=stop, records=traces)


def _span_exporter() -> SpanExporter:
    console = os.environ.get("OTEL_TRACES_EXPORTER", "").strip().lower() == "console"
    return ConsoleSpanExporter() if console else OTLPSpanExporter()


def _metric_exporter() -> MetricExporter:
    console = os.environ.get("OTEL_METRICS_EXPORTER", "").strip().lower() == "console"
    return ConsoleMetricExporter() if console else OTLPMetricExporter()


class _HealthBridge:
    """Shows the collector's own health, as /metrics has it, to OpenTelemetry's instruments."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._registry = registry
        self._read_at = float("-inf")
        self._values: dict[str, list[Observation]] = {}

    def instrument(self, provider: MeterProvider, version: str) -> None:
        """Make an instrument of every series name that there is."""
        meter = provider.get_meter(_SCOPE, version)
        for family in self._registry.collect():
            if family.type in ("counter", "gauge"):
                name = family.name + ("_total" if family.type == "counter" else "")
                make = (
                    meter.create_observable_counter
                    if family.type == "counter"
                    else meter.create_observable_gauge
                )
                make(family.name, [self._reader(name)], description=family.documentation)
            elif family.type == "histogram":
                for part in ("_count", "_sum"):
                    name = family.name + part
                    meter.create_observable_counter(name, [self._reader(name)])

    def _reader(self, name: str) -> Callable[[CallbackOptions], Iterable[Observation]]:
        return lambda _: self._read().get(name, [])

    def _read(self) -> dict[str, list[Observation]]:
        now = time.monotonic()
        if now - self._read_at > _SAME_SECONDS:
            self._read_at, self._values = now, {}
            for family in self._registry.collect():
                for sample in family.samples:
                    one = Observation(sample.value, dict(sample.labels))
                    self._values.setdefault(sample.name, []).append(one)
        return self._values
