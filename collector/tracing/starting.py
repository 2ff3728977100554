"""Turns self-observation on where the environment asks for it, by OpenTelemetry's own variables."""

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

import structlog
from prometheus_client import CollectorRegistry

if TYPE_CHECKING:
    from .spans import SpanMaker

_LOG = structlog.get_logger(__name__)

_ENDPOINTS = (
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
    "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT",
)
_EXPORTERS = ("OTEL_TRACES_EXPORTER", "OTEL_METRICS_EXPORTER")


def asked(environ: Mapping[str, str], *, signal: str = "") -> bool:
    """Tell whether the variables ask for traces or metrics, or for one `signal` of these."""
    if environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return False
    exporters = [f"OTEL_{signal}_EXPORTER"] if signal else _EXPORTERS
    chosen = [environ.get(name, "").strip().lower() for name in exporters]
    if any(name not in ("", "none") for name in chosen):
        return True
    if all(name == "none" for name in chosen):
        return False
    other = {"TRACES": "METRICS", "METRICS": "TRACES"}.get(signal, "-")
    return any(environ.get(name) for name in _ENDPOINTS if f"_{other}_" not in name)


def tracing(registry: CollectorRegistry, *, version: str) -> "SpanMaker | None":
    """Return what makes spans, and begin to export metrics; None where nothing asks for it."""
    if not asked(os.environ):
        return None
    try:
        from . import exporting  # noqa: PLC0415  the SDK is loaded only where it is asked for
    except ImportError as error:
        _LOG.warning(
            "OTEL_* asks for self-observation, and the SDK is not installed",
            missing=error.name,
            install="pip install 'rankscope[collector,telemetry]'",
        )
        return None
    return exporting.start(
        registry,
        version=version,
        traces=asked(os.environ, signal="TRACES"),
        metrics=asked(os.environ, signal="METRICS"),
    )
