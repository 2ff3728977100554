"""The OpenTelemetry SDK's own exporter as a client of the intake."""

import logging
import threading

import grpc
import pytest
from grpc import Compression as GrpcCompression
from opentelemetry.exporter.otlp.proto.grpc._log_exporter import (
    OTLPLogExporter as GrpcLogExporter,
)
from opentelemetry.exporter.otlp.proto.grpc.metric_exporter import (
    OTLPMetricExporter as GrpcMetricExporter,
)
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import SimpleLogRecordProcessor
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource

from rankscope.collector.intake.decoding import Decoder
from rankscope.collector.intake.payloads import Payload
from rankscope.collector.journal import journal as journals
from rankscope.collector.journal.kinds import Kind
from rankscope.formats.otlp.columns import SeriesTable

RESOURCE = Resource.create(
    {"host.name": "gpu-7", "rankscope.job.id": "sdk/run ü", "rankscope.job.attempt": 2}
)


def decoded(folder, kind):
    table = SeriesTable()
    decoder = Decoder(table)
    for entry in journals.read(folder / "journal"):
        if entry.kind is kind:
            yield decoder.decode(Payload(entry.kind, entry.body)), table


@pytest.mark.parametrize("compression", [Compression.Gzip, Compression.NoCompression])
def test_metrics_of_the_sdk_arrive_with_their_values(collector, tmp_path, compression):
    exporter = OTLPMetricExporter(f"{collector.address}/v1/metrics", compression=compression)
    reader = PeriodicExportingMetricReader(exporter, export_interval_millis=3_600_000)
    provider = MeterProvider([reader], resource=RESOURCE, shutdown_on_exit=False)
    meter = provider.get_meter("trainer")
    meter.create_gauge("training.loss").set(2.5, {"rank": 3})
    meter.create_counter("training.memory.retries").add(4, {"rank": 3})
    meter.create_histogram("latency").record(0.1)
    provider.shutdown()  # exports what there is

    ((batch, table),) = decoded(tmp_path / "data", Kind.METRICS_PROTOBUF)
    columns = batch.metrics.columns
    got = {
        (table[series].metric, table[series].attributes, value)
        for series, value in zip(columns.series.tolist(), columns.value.tolist(), strict=True)
    }
    assert got == {
        ("training.loss", (("rank", 3),), 2.5),
        ("training.memory.retries", (("rank", 3),), 4.0),
    }
    resource = table[0].resource
    assert (resource.host, resource.job, resource.attempt) == ("gpu-7", "sdk/run ü", 2)
    assert batch.rejected == 1  # the histogram: answered as partial success, not lost silently


def test_logs_of_the_sdk_arrive_as_events(collector, tmp_path):
    exporter = OTLPLogExporter(f"{collector.address}/v1/logs", compression=Compression.Gzip)
    provider = LoggerProvider(resource=RESOURCE, shutdown_on_exit=False)
    provider.add_log_record_processor(SimpleLogRecordProcessor(exporter))
    provider.get_logger("node").emit(
        event_name="gpu.fault", attributes={"code": 79, "text": "fell off the bus"}
    )
    provider.shutdown()
    ((batch, _),) = decoded(tmp_path / "data", Kind.LOGS_PROTOBUF)
    (event,) = batch.events
    assert (event.name, event.attributes["code"], event.resource.host) == ("gpu.fault", 79, "gpu-7")


@pytest.mark.slow
def test_an_exporter_whose_collector_is_away_for_a_moment_delivers(collector_at, tmp_path, caplog):
    """Refused connections are tried again by the SDK, by its own rules."""
    caplog.set_level(logging.CRITICAL)
    with collector_at(tmp_path) as service:
        address = service.address
    exporter = OTLPMetricExporter(f"{address}/v1/metrics", timeout=60)
    reader = PeriodicExportingMetricReader(exporter, export_interval_millis=3_600_000)
    provider = MeterProvider([reader], resource=RESOURCE, shutdown_on_exit=False)
    provider.get_meter("trainer").create_gauge("training.loss").set(2.5)
    sending = threading.Thread(target=provider.force_flush)
    sending.start()
    with collector_at(tmp_path, http={"listen": address[len("http://") :]}):
        sending.join()
    batches = list(decoded(tmp_path, Kind.METRICS_PROTOBUF))
    exporter.shutdown()
    assert len(batches) == 1


def grpc_metrics(address, headers=None):
    """Return an exporter over gRPC, and a provider that exports a loss when it is shut down."""
    exporter = GrpcMetricExporter(
        f"http://{address}", insecure=True, headers=headers, timeout=10,
        compression=GrpcCompression.Gzip,
    )  # fmt: skip
    reader = PeriodicExportingMetricReader(exporter, export_interval_millis=3_600_000)
    provider = MeterProvider([reader], resource=RESOURCE, shutdown_on_exit=False)
    provider.get_meter("trainer").create_gauge("training.loss").set(2.5, {"rank": 3})
    return provider


def test_metrics_and_logs_of_the_sdk_arrive_over_grpc(collector_at, tmp_path):
    with collector_at(tmp_path / "data", intake={"grpc_listen": "127.0.0.1:0"}) as service:
        (intake,) = service._connected
        grpc_metrics(intake.address).shutdown()
        logs = LoggerProvider(resource=RESOURCE, shutdown_on_exit=False)
        exporter = GrpcLogExporter(f"http://{intake.address}", insecure=True)
        logs.add_log_record_processor(SimpleLogRecordProcessor(exporter))
        logs.get_logger("node").emit(event_name="gpu.fault", attributes={"code": 79})
        logs.shutdown()
    ((batch, table),) = decoded(tmp_path / "data", Kind.METRICS_PROTOBUF)
    assert batch.metrics.columns.value.tolist() == [2.5]
    assert table[0].resource.job == "sdk/run ü"
    assert len(list(decoded(tmp_path / "data", Kind.LOGS_PROTOBUF))) == 1


def test_without_a_token_grpc_is_refused_where_tokens_are_asked_for(collector_at, tmp_path):
    tokens = [{"token": "a-token-of-16-chars", "role": "ingest", "jobs": ["sdk/*"]}]
    with collector_at(
        tmp_path / "data", intake={"grpc_listen": "127.0.0.1:0"}, api={"tokens": tokens}
    ) as service:
        (intake,) = service._connected
        channel = grpc.insecure_channel(intake.address)
        export = channel.unary_unary(
            "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export"
        )
        for headers, body, code in (
            ((), b"", grpc.StatusCode.UNAUTHENTICATED),
            ((("authorization", "Bearer wrong"),), b"", grpc.StatusCode.UNAUTHENTICATED),
            (
                (("authorization", "Bearer a-token-of-16-chars"),),
                b"\xff",
                grpc.StatusCode.INVALID_ARGUMENT,
            ),
        ):
            with pytest.raises(grpc.RpcError) as refused:
                export(body, metadata=headers, timeout=20)
            assert refused.value.code() == code
        traces = channel.unary_unary("/opentelemetry.proto.collector.trace.v1.TraceService/Export")
        with pytest.raises(grpc.RpcError) as refused:
            traces(b"", timeout=20)
        assert refused.value.code() == grpc.StatusCode.UNIMPLEMENTED
        channel.close()
        grpc_metrics(intake.address, {"authorization": "Bearer a-token-of-16-chars"}).shutdown()
    assert len(list(decoded(tmp_path / "data", Kind.METRICS_PROTOBUF))) == 1
