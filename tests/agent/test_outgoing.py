import gzip
import threading
from typing import Any

import pytest
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
)

from rankscope.agent import outgoing
from rankscope.agent.spool import DiskSpool
from rankscope.formats.otlp import encode
from rankscope.vocabulary.samples import Event, Sample, TelemetryResource, attributes

JOB = TelemetryResource(host="node-1", job="job-1")
NODE = TelemetryResource(host="node-1")


@pytest.fixture
def going(spool, health):
    return outgoing.OutgoingTelemetry(
        spool=spool, health=health, now=lambda: 1000.0, spooled=lambda: None
    )


def sample(number: float) -> Sample:
    return Sample("training.loss", number, 1000.0, attributes({"rank": 0}))


def spooled(spool: DiskSpool) -> list[tuple[int, Any]]:
    kinds: dict[int, Any] = {1: ExportMetricsServiceRequest, 2: ExportLogsServiceRequest}
    found: list[tuple[int, Any]] = []
    while (record := spool.first()) is not None:
        message = kinds[record.kind].FromString(gzip.decompress(record.payload))
        found.append((record.kind, message))
        spool.done(record)
    return found


def test_a_flush_is_one_request_with_one_group_a_resource(going, spool):
    going.start()
    going.add(JOB, [sample(1.0)])
    going.add(NODE, [Sample("system.memory.usage", 1.0, 1000.0)])
    going.add(JOB, [sample(2.0)])
    going.close(timeout=60)
    ((kind, request),) = spooled(spool)
    assert kind == outgoing.METRICS
    assert len(request.resource_metrics) == 2
    (metric,) = request.resource_metrics[0].scope_metrics[0].metrics
    assert [point.as_double for point in metric.gauge.data_points] == [1.0, 2.0]


def test_events_do_not_wait_for_a_flush(going, spool):
    going.start()
    going.emit(JOB, [Event("process.exit", 1000.0, {"rank": 0})])
    going.add(JOB, [sample(1.0)])
    going.close(timeout=60)
    assert [kind for kind, _ in spooled(spool)] == [outgoing.LOGS, outgoing.METRICS]


def test_nothing_gathered_is_nothing_sent(going, spool):
    going.start()
    going.flush()
    going.emit(JOB, [])
    going.close(timeout=60)
    assert spooled(spool) == []


def test_a_large_flush_becomes_several_requests_and_keeps_its_order(going, spool):
    going.start()
    going.add(NODE, [sample(-1.0)])
    going.add(JOB, [sample(float(number)) for number in range(45_000)])
    going.close(timeout=60)
    values = []
    sizes = []
    for _, request in spooled(spool):
        points = [
            point.as_double
            for one in request.resource_metrics
            for point in one.scope_metrics[0].metrics[0].gauge.data_points
        ]
        values += points
        sizes.append(len(points))
    assert values == [float(number) for number in range(-1, 45_000)]
    assert max(sizes) <= 20_000


def test_what_does_not_fit_into_memory_is_dropped_and_counted(going, health):
    for _ in range(12):
        going.add(JOB, [sample(0.0)] * 20_000)
    assert health.counted("samples_dropped", "full") == 140_000


def test_a_disk_that_hangs_blocks_nobody_and_costs_what_does_not_fit(spool, health, monkeypatch):
    """The main thread gathers on while the spooling thread waits for the disk."""
    hanging, entered = threading.Event(), threading.Event()
    real = spool.append

    def append(*record):
        entered.set()
        hanging.wait(60)
        real(*record)

    monkeypatch.setattr(spool, "append", append)
    going = outgoing.OutgoingTelemetry(
        spool=spool, health=health, now=lambda: 1000.0, spooled=lambda: None
    )
    going.start()
    going.add(JOB, [sample(0.0)])
    going.flush()
    assert entered.wait(60)
    for number in range(100):
        going.add(JOB, [sample(float(number + 1))])
        going.flush()
    assert health.counted("samples_dropped", "spool_busy") == 36
    hanging.set()
    going.close(timeout=60)
    assert len(spooled(spool)) == 65


def test_a_batch_that_cannot_be_encoded_costs_only_itself(going, spool, health, monkeypatch):
    real = encode.metrics_request

    def picky(groups):
        if groups[0][1][0].value == 13.0:
            raise ValueError("not this one")
        return real(groups)

    monkeypatch.setattr(encode, "metrics_request", picky)
    going.start()
    for number in (1.0, 13.0, 2.0):
        going.add(JOB, [sample(number)])
        going.flush()
    going.close(timeout=60)
    assert len(spooled(spool)) == 2
    assert health.counted("samples_dropped", "encode") == 1


def test_what_the_disk_does_not_take_is_bounded_in_samples(going, health, monkeypatch):
    monkeypatch.setattr(outgoing, "_MOST", 3)
    for number in range(5):
        going.add(JOB, [sample(float(number))])
        going.flush()
    assert 2 == health.counted("samples_dropped", "full")
    going.start()
    going.close(timeout=60)
    assert 0 == going._handed
