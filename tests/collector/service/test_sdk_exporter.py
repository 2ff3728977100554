"""The OpenTelemetry SDK's own exporter as a client of the intake."""

import logging
import subprocess
import sys
import threading
from pathlib import Path

import grpc
import pytest
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import SimpleLogRecordProcessor
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource

from rankscope.collector.intake import over_grpc
from rankscope.collector.intake.decoding import PayloadDecoder
from rankscope.collector.intake.payloads import Payload
from rankscope.collector.journal import journal as journals
from rankscope.collector.journal.kinds import PayloadKind
from rankscope.collector.settings.intake import IntakeSettings
from rankscope.formats.otlp.columns import SeriesTable

RESOURCE = Resource.create(
    {"host.name": "gpu-7", "rankscope.job.id": "sdk/run ü", "rankscope.job.attempt": 2}
)

SENDER = str(Path(__file__).with_name("grpc_sender.py"))


def decoded(folder, kind):
    table = SeriesTable()
    decoder = PayloadDecoder(table)
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

    ((batch, table),) = decoded(tmp_path / "data", PayloadKind.METRICS_PROTOBUF)
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
    ((batch, _),) = decoded(tmp_path / "data", PayloadKind.LOGS_PROTOBUF)
    (event,) = batch.events
    assert (event.name, event.attributes["code"], event.resource.host) == ("gpu.fault", 79, "gpu-7")


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
    batches = list(decoded(tmp_path, PayloadKind.METRICS_PROTOBUF))
    exporter.shutdown()
    assert len(batches) == 1


def sent_over_grpc(intake, what, *tokens):
    """Send in another process; return the lines that it printed."""
    command = [sys.executable, SENDER, intake.address, what, *tokens]
    sent = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    return sent.stdout.split()


def test_metrics_and_logs_of_the_sdk_arrive_over_grpc(collector_at, tmp_path):
    with collector_at(tmp_path / "data", intake={"grpc_listen": "127.0.0.1:0"}) as service:
        (intake,) = service._connected
        sent_over_grpc(intake, "metrics")
        sent_over_grpc(intake, "logs")
    ((batch, table),) = decoded(tmp_path / "data", PayloadKind.METRICS_PROTOBUF)
    assert batch.metrics.columns.value.tolist() == [2.5]
    assert table[0].resource.job == "sdk/run ü"
    assert len(list(decoded(tmp_path / "data", PayloadKind.LOGS_PROTOBUF))) == 1


def test_without_a_token_grpc_is_refused_where_tokens_are_asked_for(collector_at, tmp_path):
    tokens = [{"token": "a-token-of-16-chars", "role": "ingest", "jobs": ["sdk/*"]}]
    with collector_at(
        tmp_path / "data", intake={"grpc_listen": "127.0.0.1:0"}, api={"tokens": tokens}
    ) as service:
        (intake,) = service._connected
        assert sent_over_grpc(intake, "codes", "a-token-of-16-chars") == [
            "UNAUTHENTICATED", "UNAUTHENTICATED", "INVALID_ARGUMENT", "UNIMPLEMENTED",
        ]  # fmt: skip
        sent_over_grpc(intake, "metrics", "a-token-of-16-chars")
    assert len(list(decoded(tmp_path / "data", PayloadKind.METRICS_PROTOBUF))) == 1


def test_who_has_no_token_keeps_nobody_waiting_over_grpc(collector_at, tmp_path):
    tokens = [{"token": "a-token-of-16-chars", "role": "ingest"}]
    with collector_at(
        tmp_path / "data", intake={"grpc_listen": "127.0.0.1:0"}, api={"tokens": tokens}
    ) as service:
        (intake,) = service._connected
        assert ["OK"] == sent_over_grpc(intake, "stalled", "a-token-of-16-chars")


@pytest.mark.parametrize(
    ("messages", "sent_by"),
    [(64, ["a-token-of-16-chars"]), (4, ["a-token-of-16-chars", "another-of-16-chars"])],
)
def test_who_stops_within_a_message_keeps_nobody_waiting_over_grpc(
    collector_at, tmp_path, messages, sent_by
):
    """Its call ends by itself, with a status that senders repeat.

    Messages that are read at once have room of their token, so that other tokens have theirs.
    """
    tokens = [{"token": token, "role": "ingest"} for token in sent_by]
    with collector_at(
        tmp_path / "data",
        http={"listen": "127.0.0.1:0", "body_seconds": 5},
        intake={
            "grpc_listen": "127.0.0.1:0",
            "grpc_limit_bytes": 1 << 20,
            "buffer_bytes": messages << 20,
        },
        api={"tokens": tokens},
    ) as service:
        (intake,) = service._connected
        ends = sent_over_grpc(intake, "half", *sent_by)
    assert ends == ["OK", str(grpc.StatusCode.DEADLINE_EXCEEDED.value[0])]


def test_an_address_that_another_collector_has_is_refused_with_its_key(collector_at, tmp_path):
    with collector_at(tmp_path / "data", intake={"grpc_listen": "127.0.0.1:0"}) as service:
        (intake,) = service._connected
        services = service.services()
        taken = services.settings.model_copy(
            update={"intake": IntakeSettings(grpc_listen=intake.address)}
        )
        with pytest.raises(OSError, match=f"^intake.grpc_listen {intake.address}: it is in use"):
            over_grpc.GrpcIntake(
                taken,
                sink=services.stages,
                clock=services.clock,
                health=services.health,
                connections=100,
            )
