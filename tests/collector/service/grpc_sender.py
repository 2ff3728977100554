"""Sends over gRPC, in a process of its own: grpc_sender.py ADDRESS WHAT [TOKEN [TOKEN OF OTHERS]].

WHAT is `metrics` or `logs`, sent by the OpenTelemetry SDK's exporters; `codes`: the status codes of
calls that must be refused, written one a line; `stalled`: how a call with the token ends while
others, which have none, never send their message; or `half`: the same, with the token of others
where there is one, while those with the token sent half of their message, and then the status codes
with which these end.
"""

import socket
import sys
import threading

import grpc
import h2.config
import h2.connection
import h2.events
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


def half(address, token, others):
    """Speak HTTP/2 by hand: a client of grpcio sends whole messages only."""
    host, _, port = address.rpartition(":")
    headers = [
        (":method", "POST"), (":scheme", "http"), (":path", METRICS), (":authority", address),
        ("te", "trailers"), ("content-type", "application/grpc"), *bearer(token).items(),
    ]  # fmt: skip
    ends = set()
    with socket.create_connection((host, int(port))) as raw:
        wire = h2.connection.H2Connection(h2.config.H2Configuration(header_encoding=None))
        wire.initiate_connection()
        streams = {wire.get_next_available_stream_id() + 2 * number for number in range(16)}
        for stream in sorted(streams):
            wire.send_headers(stream, headers)
            wire.send_data(stream, b"\0" + (1000).to_bytes(4, "big") + b"half of it")
        raw.sendall(wire.data_to_send())
        with grpc.insecure_channel(address) as channel:
            method = channel.unary_unary(METRICS)
            method(b"", metadata=tuple(bearer(others).items()), timeout=100, wait_for_ready=True)
            sys.stdout.write("OK\n")
        while streams:
            for event in wire.receive_data(raw.recv(65536)):
                if isinstance(event, h2.events.TrailersReceived | h2.events.ResponseReceived):
                    status = dict(event.headers).get(b"grpc-status")
                    ends |= {status.decode()} if status else set()
                if isinstance(event, h2.events.StreamEnded | h2.events.StreamReset):
                    streams.discard(event.stream_id)
            raw.sendall(wire.data_to_send())
    sys.stdout.writelines(f"{end}\n" for end in sorted(ends))


if __name__ == "__main__":
    address, what, token, others, *_ = *sys.argv[1:], "", ""
    others = others or token
    senders = {"metrics": metrics, "logs": logs, "codes": codes, "stalled": stalled}
    if what == "half":
        half(address, token, others)
    else:
        senders[what](address, token)
