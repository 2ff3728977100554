"""OTLP/HTTP and remote write, status by status, against a running stages."""

import asyncio
import gzip
import json
import struct
import threading
from types import SimpleNamespace

import cramjam
import httpx
import pytest
from fastapi import FastAPI
from google.rpc.status_pb2 import Status
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceResponse
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
    ExportMetricsServiceResponse,
)

from rankscope.collector.flows.stages import CollectorStages
from rankscope.collector.intake import bodies
from rankscope.collector.intake.decoding import PayloadDecoder
from rankscope.collector.intake.routes import IntakeRoutes, router
from rankscope.collector.intake.waiting import BusyError
from rankscope.collector.settings.intake import IntakeSettings

PROTOBUF = {"Content-Type": "application/x-protobuf"}
JSON = {"Content-Type": "application/json; charset=utf-8"}
LIMIT = 1 << 20


@pytest.fixture
def services(pipeline, memory_journal, decisions, sink, clock, health):
    stages = CollectorStages(
        pipeline=pipeline,
        journal=memory_journal,
        decisions=decisions,
        sink=sink,
        clock=clock,
        health=health,
    )
    stages.start()
    yield SimpleNamespace(stages=stages, health=health)
    stages.stop()


@pytest.fixture
def app(services):
    application = FastAPI()
    settings = IntakeSettings(body_limit_bytes=LIMIT)
    intake = IntakeRoutes(services.stages, health=services.health, settings=settings)
    application.include_router(router(intake))
    return application


@pytest.fixture
def post(app):
    """Return a function that posts to the intake and returns the answer."""

    def send(path, content, headers):
        async def run():
            transport = httpx.ASGITransport(app=app)
            async with httpx.AsyncClient(transport=transport, base_url="http://x") as client:
                return await client.post(path, content=content, headers=headers)

        return asyncio.run(run())

    return send


@pytest.fixture
def applied(services, pipeline):
    """Return a function that gives the pipeline's calls, once all that was answered is applied."""

    def calls():
        services.stages.stop()
        return pipeline.calls

    return calls


def test_protobuf_is_answered_in_protobuf(post, metrics_body):
    answer = post("/v1/metrics", metrics_body(1.0, 2.0), PROTOBUF)
    assert (answer.status_code, answer.content) == (200, b"")
    assert answer.headers["content-type"] == "application/x-protobuf"


def test_json_is_answered_in_json(post):
    line = json.dumps(
        {
            "resourceLogs": [
                {
                    "scopeLogs": [
                        {"logRecords": [{"eventName": "gpu.fault", "timeUnixNano": "1700000000"}]}
                    ]
                }
            ]
        }
    )
    answer = post("/v1/logs", line, JSON)
    assert (answer.status_code, answer.content) == (200, b"{}")
    assert answer.headers["content-type"] == "application/json"


def test_an_empty_request_is_a_success(post):
    assert post("/v1/metrics", b"", PROTOBUF).status_code == 200
    assert post("/v1/metrics", b"{}", JSON).status_code == 200


@pytest.mark.parametrize(
    ("encoding", "pack"),
    [("gzip", gzip.compress), ("zstd", lambda body: bytes(cramjam.zstd.compress(body)))],
)
def test_compressed_bodies_are_unpacked(post, metrics_body, applied, encoding, pack):
    headers = PROTOBUF | {"Content-Encoding": encoding}
    assert post("/v1/metrics", pack(metrics_body(7.0)), headers).status_code == 200
    assert applied()[0][2] == (("training.step", 1_700_000_000.0, 7.0),)


def test_what_cannot_be_kept_is_a_partial_success_in_the_senders_encoding(post):
    request = ExportMetricsServiceRequest()
    metric = request.resource_metrics.add().scope_metrics.add().metrics.add(name="latency")
    metric.histogram.data_points.add(time_unix_nano=1_700_000_000_000_000_000, count=3)
    answer = post("/v1/metrics", request.SerializeToString(), PROTOBUF)
    said = ExportMetricsServiceResponse.FromString(answer.content).partial_success
    assert (answer.status_code, said.rejected_data_points) == (200, 1)
    assert "histogram" in said.error_message

    record = {"resourceLogs": [{"scopeLogs": [{"logRecords": [{"timeUnixNano": "1"}]}]}]}
    answer = post("/v1/logs", json.dumps(record), JSON)
    assert answer.json()["partialSuccess"]["rejectedLogRecords"] == "1"

    nameless = b"\x0a\x06\x12\x04\x12\x02\x10\x01"
    answer = post("/v1/logs", nameless, PROTOBUF)
    said_of_logs = ExportLogsServiceResponse.FromString(answer.content).partial_success
    assert said_of_logs.rejected_log_records == 1


def test_garbage_is_400_with_a_status_in_the_senders_encoding(post, health):
    answer = post("/v1/metrics", b"\xff\xff\xff", PROTOBUF)
    assert answer.status_code == 400
    assert Status.FromString(answer.content).code == 3
    answer = post("/v1/logs", b"{", JSON)
    assert (answer.status_code, answer.json()["code"]) == (400, 3)
    assert health.undecodable._value.get() == 2


def test_a_body_that_is_not_in_its_content_encoding_is_400(post, metrics_body):
    for encoding in ("gzip", "zstd", "deflate"):
        headers = PROTOBUF | {"Content-Encoding": encoding}
        assert post("/v1/metrics", b"not compressed", headers).status_code == 400
    cut = gzip.compress(metrics_body(1.0))[:-9]
    headers = PROTOBUF | {"Content-Encoding": "gzip"}
    assert post("/v1/metrics", cut, headers).status_code == 400


@pytest.mark.parametrize(
    ("headers"),
    [
        {},
        {"Content-Type": "text/plain"},
        {"Content-Type": "application/protobuf"},
        PROTOBUF | {"Content-Encoding": "br"},
    ],
)
def test_a_type_or_encoding_that_is_not_taken_is_415(post, metrics_body, headers):
    assert post("/v1/metrics", metrics_body(1.0), headers).status_code == 415


@pytest.mark.parametrize(
    ("encoding", "pack"),
    [
        ("identity", lambda body: body),
        ("gzip", gzip.compress),
        ("zstd", lambda body: bytes(cramjam.zstd.compress(body))),
    ],
)
def test_the_limit_counts_what_comes_out_of_the_compression(post, encoding, pack):
    headers = PROTOBUF | {"Content-Encoding": encoding}
    answer = post("/v1/metrics", pack(b"\0" * (LIMIT + 1)), headers)
    assert answer.status_code == 413
    assert Status.FromString(answer.content).code == 8


def test_alerts_of_an_alertmanager_become_events(post, applied):
    labels = {"alertname": "NodeDiskFull", "instance": "gpu-1:9100", "severity": "warning"}
    alert = {
        "status": "firing",
        "labels": labels,
        "annotations": {"summary": "97% used"},
        "startsAt": "2023-11-14T22:13:20Z",
        "endsAt": "0001-01-01T00:00:00Z",
        "fingerprint": "00ff00ff00ff00ff",
    }
    body = {"version": "4", "alerts": [alert, {**alert, "labels": {"alertname": "Watchdog"}}]}
    answer = post("/api/v1/alerts", json.dumps(body), JSON)
    assert (200, {"accepted": 1, "left_out": 1}) == (answer.status_code, answer.json())
    assert [("alert", 1_700_000_000.0)] == [
        event for name, _, events in applied() if name == "events" for event in events
    ]


@pytest.mark.parametrize("body", ["", "[]", "{}", '{"alerts": 7}', '{"alerts": [7]}', "[" * 9999])
def test_what_is_no_webhook_of_an_alertmanager_is_a_problem_document(post, body):
    answer = post("/api/v1/alerts", body, JSON)
    assert (400, "application/problem+json") == (
        answer.status_code,
        answer.headers["content-type"],
    )
    assert 400 == answer.json()["status"]


def test_traces_are_404_and_not_worth_a_retry(post):
    assert post("/v1/traces", b"", PROTOBUF).status_code == 404


def test_a_full_queue_is_503_with_retry_after_and_never_429(post, services, monkeypatch):
    def full(_payload):
        raise BusyError("full")

    monkeypatch.setattr(services.stages, "submit", full)
    for path, headers in (
        ("/v1/metrics", PROTOBUF),
        ("/v1/logs", JSON),
        ("/api/v1/write", PROTOBUF | {"Content-Encoding": "snappy"}),
    ):
        content = bytes(cramjam.snappy.compress_raw(b"")) if "write" in path else b""
        answer = post(path, content, headers)
        assert answer.status_code == 503
        assert int(answer.headers["retry-after"]) >= 1


def test_a_full_disk_is_503_and_counted(post, memory_journal, metrics_body, health):
    memory_journal.failure = OSError(28, "No space left on device")
    answer = post("/v1/metrics", metrics_body(1.0), PROTOBUF)
    assert (answer.status_code, "retry-after" in answer.headers) == (503, True)
    assert health.journal_failures._value.get() == 1


def test_a_payload_that_no_decoder_survives_is_answered_so_that_nobody_repeats_it(
    post, monkeypatch, metrics_body
):
    def dies(_self, _payload):
        raise ZeroDivisionError

    monkeypatch.setattr(PayloadDecoder, "decode", dies)
    for kind in (PROTOBUF, JSON):
        answer = post("/v1/metrics", metrics_body(1.0), kind)
        assert (answer.status_code, "retry-after" in answer.headers) == (500, False)
    body = write_request({"__name__": "training_loss"}, 2.5, 1_700_000_000_500)
    answer = post("/api/v1/write", body, WRITE)
    assert (answer.status_code, "retry-after" in answer.headers) == (400, False)


def test_whoever_gives_a_batch_ten_seconds_is_asked_to_wait_less_than_a_third_of_them(
    post, services, memory_journal, metrics_body, monkeypatch
):
    """Else OpenTelemetry's Python exporter gives it up at once, or after one more try."""
    memory_journal.failure = OSError(28, "No space left on device")
    full = post("/v1/metrics", metrics_body(1.0), PROTOBUF)

    def busy(_payload):
        raise BusyError("full")

    monkeypatch.setattr(services.stages, "submit", busy)
    waits = post("/v1/metrics", metrics_body(1.0), PROTOBUF)
    services.stages.stop()
    for answer in (full, waits):
        assert 2 <= int(answer.headers["retry-after"]) <= 3


def test_a_sender_that_goes_away_in_the_middle_does_no_harm(app, post, metrics_body, health):
    async def receive():
        return {"type": "http.disconnect"}

    async def send(_message):
        return None

    scope = {
        "type": "http",
        "method": "POST",
        "path": "/v1/metrics",
        "raw_path": b"/v1/metrics",
        "query_string": b"",
        "root_path": "",
        "scheme": "http",
        "server": ("x", 80),
        "client": ("x", 1),
        "headers": [(b"content-type", b"application/x-protobuf")],
        "app": app,
    }
    asyncio.run(app(scope, receive, send))
    assert health.disconnects._value.get() == 1
    assert post("/v1/metrics", metrics_body(1.0), PROTOBUF).status_code == 200


def test_a_bomb_in_snappy_is_refused_unopened(post, health):
    declared = b"\xff\xff\xff\xff\x0f"  # 4 GiB in five bytes
    headers = PROTOBUF | {"Content-Encoding": "snappy"}
    assert post("/api/v1/write", declared + b"\0", headers).status_code == 413
    assert health.refused.labels("413")._value.get() == 1


def test_remote_write_of_an_unknown_message_is_415(post):
    headers = WRITE | {
        "Content-Type": "application/x-protobuf;proto=io.prometheus.write.v3.Request"
    }
    assert post("/api/v1/write", b"\0", headers).status_code == 415


def write_request_2(value, name="training_loss"):
    """Return a Request of remote write 2.0 with one sample."""
    texts = ["", "__name__", name, "host_name", "gpu-1", "rank", "3"]
    sample = b"\x09" + struct.pack("<d", value) + b"\x10" + varint(1_700_000_000_500)
    series = field(1, bytes(range(1, 7))) + field(2, sample)
    body = b"".join(field(4, text.encode()) for text in texts) + field(5, series)
    return bytes(cramjam.snappy.compress_raw(body))


def written(answer):
    """Return what a sender of 2.0 is told of its samples, histograms and exemplars."""
    names = ("samples", "histograms", "exemplars")
    return [answer.headers.get(f"x-prometheus-remote-write-{name}-written") for name in names]


def test_version_2_is_answered_with_what_was_written(post, applied):
    answer = post("/api/v1/write", write_request_2(2.5), WRITE_2)
    assert (answer.status_code, written(answer)) == (204, ["1", "0", "0"])
    assert applied()[0][2] == (("training.loss", 1_700_000_000.5, 2.5),)


def test_a_sample_of_version_2_that_nobody_looks_at_counts_as_written(post):
    """Else the sender would take it for lost."""
    answer = post("/api/v1/write", write_request_2(2.5, name="go_goroutines"), WRITE_2)
    assert (answer.status_code, written(answer)) == (204, ["1", "0", "0"])


def test_what_version_2_cannot_place_is_400_with_what_was_written(post):
    answer = post("/api/v1/write", write_request_2(2.5, name=""), WRITE_2)
    assert (answer.status_code, written(answer)) == (400, ["0", "0", "0"])


def test_many_gzip_members_are_not_worth_the_time(post):
    headers = PROTOBUF | {"Content-Encoding": "gzip"}
    assert post("/v1/metrics", gzip.compress(b"") * 1000, headers).status_code == 400


def varint(number):
    low, rest = number & 127, number >> 7
    return bytes([low | 128]) + varint(rest) if rest else bytes([low])


def field(number, content):
    return bytes([number << 3 | 2]) + varint(len(content)) + content


def write_request(labels, value, at_ms):
    pairs = b"".join(
        field(1, field(1, name.encode()) + field(2, text.encode()))
        for name, text in sorted(labels.items())
    )
    sample = b"\x09" + struct.pack("<d", value) + b"\x10" + varint(at_ms)
    return bytes(cramjam.snappy.compress_raw(field(1, pairs + field(2, sample))))


WRITE = {
    "Content-Type": "application/x-protobuf",
    "Content-Encoding": "snappy",
    "X-Prometheus-Remote-Write-Version": "0.1.0",
}
WRITE_2 = {
    "Content-Type": "application/x-protobuf;proto=io.prometheus.write.v2.Request",
    "Content-Encoding": "snappy",
    "X-Prometheus-Remote-Write-Version": "2.0.0",
}


def test_remote_write_is_answered_204_and_applied(post, applied):
    labels = {"__name__": "training_loss", "host_name": "gpu-1", "rank": "3"}
    answer = post("/api/v1/write", write_request(labels, 2.5, 1_700_000_000_500), WRITE)
    assert (answer.status_code, answer.content) == (204, b"")
    assert applied()[0][2] == (("training.loss", 1_700_000_000.5, 2.5),)


def test_a_sample_that_remote_write_cannot_place_is_400_for_good(post, health):
    answer = post("/api/v1/write", write_request({"rank": "3"}, 2.5, 1_700_000_000_500), WRITE)
    assert answer.status_code == 400
    rejected = health.registry.get_sample_value
    reasons = [
        sample.labels["reason"]
        for metric in health.registry.collect()
        for sample in metric.samples
        if sample.name == "rankscope_collector_rejected_items_total"
    ]
    assert [
        rejected("rankscope_collector_rejected_items_total", {"reason": reason})
        for reason in reasons
    ] == [1.0]


@pytest.mark.parametrize("body", [b"", b"\xff\xff", b"\x05hello", b"\x03\x08abc"])
def test_garbage_in_remote_write_is_400(post, body):
    assert post("/api/v1/write", body, WRITE).status_code == 400


@pytest.mark.parametrize(
    ("pack", "encoding"),
    [(gzip.compress, "gzip"), (lambda body: bytes(cramjam.zstd.compress(body)), "zstd")],
)
@pytest.mark.parametrize(("size", "inline"), [(1000, True), (2000, False)])
def test_what_a_small_body_unpacks_to_decides_where_it_is_unpacked(
    post, monkeypatch, pack, encoding, size, inline
):
    """A few bytes that become many are unpacked where nobody waits for them."""
    monkeypatch.setattr(bodies, "QUICK_BYTES", 1500)
    done, unpack = [], bodies.unpack

    def noted(body, encoding, *, limit):
        unpacked = unpack(body, encoding, limit=limit)
        done.append((len(unpacked), threading.current_thread() is threading.main_thread()))
        return unpacked

    monkeypatch.setattr(bodies, "unpack", noted)
    post("/v1/metrics", pack(bytes(size)), PROTOBUF | {"Content-Encoding": encoding})
    assert [(size, inline)] == done


def test_a_webhook_over_its_own_limit_is_413(services):
    application = FastAPI()
    settings = IntakeSettings(alerts_limit_bytes=1024)
    intake = IntakeRoutes(services.stages, health=services.health, settings=settings)
    application.include_router(router(intake))

    async def sent(size):
        transport = httpx.ASGITransport(app=application)
        async with httpx.AsyncClient(transport=transport, base_url="http://x") as client:
            body = b'{"alerts": []}'.ljust(size)
            return (await client.post("/api/v1/alerts", content=body)).status_code

    assert [200, 413] == [asyncio.run(sent(size)) for size in (1024, 1025)]
