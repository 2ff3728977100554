"""Sends over gRPC, in a process of its own as senders are: grpc_sender.py ADDRESS WHAT [TOKEN].

WHAT is `metrics` or `logs`, sent by the OpenTelemetry SDK's exporters; `codes`: the status codes of
calls that must be refused, written one a line; or `stalled`: how a call with the token ends while
others, which have none, never send their message.
"""

import sys
import threading

import grpc
from opentelemetry.exporter.otlp.proto.grpc._log_exporter import OTLPLogExporter
from opentelemetry.exporter.otlp.proto.grpc.metric_exporter import OTLPMetricExporter
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import SimpleLogRecordProcessor
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource

RESOURCE = Resource.create(
    {"host.name": "gpu-7", "rankscope.job.id": "sdk/run ü", "rankscope.job.attempt": 2}
)
METRICS = "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export"
TRACES = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"


def bearer(token):
    return {"authorization": f"Bearer {token}"} if token else {}


def metrics(address, token):
    exporter = OTLPMetricExporter(
        f"http://{address}", insecure=True, headers=bearer(token) or None, timeout=60,
        compression=grpc.Compression.Gzip,
    )  # fmt: skip
    reader = PeriodicExportingMetricReader(exporter, export_interval_millis=3_600_000)
    provider = MeterProvider([reader], resource=RESOURCE, shutdown_on_exit=False)
    provider.get_meter("trainer").create_gauge("training.loss").set(2.5, {"rank": 3})
    provider.shutdown()  # exports what there is


def logs(address, token):
    provider = LoggerProvider(resource=RESOURCE, shutdown_on_exit=False)
    exporter = OTLPLogExporter(f"http://{address}", insecure=True, headers=bearer(token) or None)
    provider.add_log_record_processor(SimpleLogRecordProcessor(exporter))
    provider.get_logger("node").emit(event_name="gpu.fault", attributes={"code": 79})
    provider.shutdown()


def codes(address, token):
    with grpc.insecure_channel(address) as channel:
        for method, headers, body in (
            (METRICS, {}, b""),
            (METRICS, bearer("wrong"), b""),
            (METRICS, bearer(token), b"\xff"),
            (TRACES, {}, b""),
        ):
            try:
                channel.unary_unary(method)(body, metadata=tuple(headers.items()), timeout=60)
                sys.stdout.write("OK\n")
            except grpc.RpcError as error:
                sys.stdout.write(f"{error.code().name}\n")


def stalled(address, token):
    never = threading.Event()

    def nothing():
        never.wait()
        yield b""

    with grpc.insecure_channel(address) as channel:
        held = []  # a call that nobody holds is cancelled
        for number in range(16):
            headers = tuple(bearer("wrong" if number % 2 else "").items())
            held.append(channel.stream_unary(METRICS).future(nothing(), metadata=headers))
        method = channel.unary_unary(METRICS)
        method(b"", metadata=tuple(bearer(token).items()), timeout=100, wait_for_ready=True)
        sys.stdout.write("OK\n")
        sys.stdout.flush()
        never.set()


if __name__ == "__main__":
    address, what, *token = sys.argv[1:]
    {"metrics": metrics, "logs": logs, "codes": codes, "stalled": stalled}[what](
        address, "".join(token)
    )
