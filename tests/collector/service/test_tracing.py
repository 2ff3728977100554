"""A trace from a payload to the page it led to, and nothing at all unless it is asked for."""

import base64
import subprocess
import sys
import time

import httpx
import pytest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from tests.serving import Answer, served
from tests.waiting import until

from rankscope.collector.tracing.starting import asked
from rankscope.formats.otlp import encode
from rankscope.vocabulary.samples import Event, Sample, TelemetryResource, attributes

SECRET = "whsec_" + base64.b64encode(b"of nobody but this test: 32 byte").decode()


@pytest.fixture
def receiver():
    """Take OTLP and webhooks; `bodies` are those taken, by path."""
    bodies: dict[str, list[bytes]] = {}

    def take(request):
        bodies.setdefault(request.path, []).append(request.body)
        return Answer()

    with served(take) as address:
        yield address, bodies


def lost_device(address):
    """Report a job with a device that falls off the bus."""
    now = time.time()
    host = TelemetryResource("gpu-1", "run-1")
    fault = Event("gpu.fault", now, {"rank": 2, "hw.id": "GPU-2", "code": "79", "class": "fatal"})
    ranks = [
        Sample(
            "training.rank.info",
            1.0,
            now,
            attributes({"rank": rank, "world_size": 4, "hw.id": f"GPU-{rank}", "pid": 100 + rank}),
        )
        for rank in range(4)
    ]
    for path, body in (
        ("metrics", encode.metrics_request([(host, ranks)])),
        ("logs", encode.logs_request([(host, [fault])])),
    ):
        headers = {"Content-Type": "application/x-protobuf"}
        answer = httpx.post(f"{address}/v1/{path}", content=body, headers=headers)
        assert answer.status_code == 200


def test_a_payload_is_one_trace_up_to_the_page(collector_at, receiver, tmp_path, monkeypatch):
    address, bodies = receiver
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", address)
    webhook = {"url": f"{address}/hook", "secret": SECRET}
    with collector_at(tmp_path / "data", webhooks=[webhook]) as service:
        lost_device(service.address)
        until(lambda: sorted(bodies), "a page", lambda paths: "/hook" in paths)
    spans = [
        span
        for body in bodies["/v1/traces"]
        for resource in ExportTraceServiceRequest.FromString(body).resource_spans
        for scope in resource.scope_spans
        for span in scope.spans
    ]
    (delivered,) = [span for span in spans if span.name == "deliver"][:1]
    trace = {span.name: span for span in spans if span.trace_id == delivered.trace_id}
    assert {"intake", "evaluate", "store", "deliver"} <= trace.keys()
    assert trace["evaluate"].parent_span_id == trace["intake"].span_id
    assert delivered.parent_span_id == trace["evaluate"].span_id
    names = {
        metric.name
        for body in bodies["/v1/metrics"]
        for resource in ExportMetricsServiceRequest.FromString(body).resource_metrics
        for scope in resource.scope_metrics
        for metric in scope.metrics
    }
    assert {"rankscope_collector_events", "rankscope_collector_queue_bytes"} <= names


def test_without_the_variables_nothing_of_the_sdk_is_loaded(tmp_path):
    code = (
        "import sys, pathlib\n"
        "from rankscope.collector.service import CollectorService\n"
        "from rankscope.collector.settings.collector import CollectorSettings\n"
        "from rankscope.vocabulary.clock import SystemClock\n"
        f"folder = pathlib.Path({str(tmp_path)!r})\n"
        "values = {'data_dir': folder, 'http': {'listen': '127.0.0.1:0'}}\n"
        "settings = CollectorSettings.model_validate(values)\n"
        "service = CollectorService(settings, clock=SystemClock())\n"
        "assert service._tracing is None\n"
        "found = [name for name in sys.modules if name.startswith('opentelemetry.sdk')]\n"
        "assert not found, found\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, env={}, timeout=120)


@pytest.mark.parametrize(
    ("environ", "traces", "metrics"),
    [
        ({}, False, False),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://x"}, True, True),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://x"}, True, False),
        ({"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": "http://x"}, False, True),
        ({"OTEL_TRACES_EXPORTER": "console"}, True, False),
        (
            {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://x", "OTEL_METRICS_EXPORTER": "none"},
            True,
            False,
        ),
        (
            {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://x", "OTEL_SDK_DISABLED": "true"},
            False,
            False,
        ),
    ],
)
def test_the_standard_variables_say_what_is_exported(environ, traces, metrics):
    assert asked(environ, signal="TRACES") is traces
    assert asked(environ, signal="METRICS") is metrics
    assert asked(environ) is (traces or metrics)
