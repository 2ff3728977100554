"""Requests of a hostile sender: small to send, meant to be dear to whoever takes them.

Each function returns one request; `number` counts the requests of an attack from 0, so that names
can be new in each. Each is large only by what its row of the table says: nothing is kept here.
"""

import gzip
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import cramjam

from rankscope.formats import wire
from rankscope.formats.otlp import encode
from rankscope.formats.remote_write.encode import WriteRequest, encoded_labels
from rankscope.vocabulary.samples import Event, Sample, Scalar, TelemetryResource, attributes

METRICS, LOGS, WRITE = "/v1/metrics", "/v1/logs", "/api/v1/write"
JOB, HOST = "hostile", "hostile-host"
VICTIM = "honest"
"""What the names of honest jobs and hosts begin with."""

_PROTOBUF, _JSON = "application/x-protobuf", "application/json"
_WORDS = "NCCL WARN Timeout: no reply of 10.0.0.7 for rank 3, connection closed by peer; "
_OTHERS_HOSTS = 20


@dataclass(frozen=True, slots=True)
class HostileRequest:
    """What is asked for; without a body: a GET."""

    path: str
    body: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=lambda: {"content-type": _PROTOBUF})


def texts(number: int, *, records: int, text_bytes: int) -> HostileRequest:
    """Return log lines of one job, each with a long text."""
    text = (_WORDS * (text_bytes // len(_WORDS) + 1))[:text_bytes]
    return _logs([(_resource(), [_line(f"{number}.{line} {text}") for line in range(records)])])


def many_attributes(number: int, *, place: str, count: int, records: int) -> HostileRequest:
    """Return records, points, or one resource, with so many attributes."""
    named: dict[str, Scalar] = {f"a{number}-{one}": f"value {one}" for one in range(count)}
    if place == "resource":
        resource = TelemetryResource(HOST, JOB, extra=attributes(named))
        return _logs([(resource, [_line("x")] * records)])
    if place == "record":
        return _logs([(_resource(), [Event("log.fault", time.time(), named)] * records)])
    at = time.time()
    rows = [
        Sample("training.loss", 2.0, at, attributes({**named, "rank": rank}))
        for rank in range(records)
    ]
    return _metrics([(_resource(), rows)])


def nested(number: int, *, records: int, depth: int, width: int) -> HostileRequest:
    """Return log records with lists in lists as a value: so wide, so deep."""
    values = wire.block(1, wire.block(1, b"x" * 20)) * width
    for _level in range(depth - 1):
        values = wire.block(1, wire.block(5, values))
    value = wire.block(5, values)
    pair = wire.block(6, wire.block(1, f"nested-{number}".encode()) + wire.block(2, value))
    at = wire.tag(1, wire.FIXED64) + time.time_ns().to_bytes(8, "little")
    record = wire.block(2, at + pair + wire.block(12, b"log.fault"))
    return HostileRequest(
        LOGS,
        wire.block(1, encode.resource_block(_resource()) + wire.block(2, record * records)),
    )


def ranks(number: int, *, jobs: int, first: int, count: int) -> HostileRequest:
    """Return a loss of so many ranks, new ones each time, in each of so many jobs."""
    at = time.time()
    start = first + number * count if count > 1 else first
    return _metrics(
        [
            (
                _resource(f"{JOB}-{job}"),
                [
                    Sample("training.loss", 2.0, at, (("rank", rank),))
                    for rank in range(start, start + count)
                ],
            )
            for job in range(jobs)
        ]
    )


def groups(number: int, *, groups: int, ranks: str = "", ranges: int = 0) -> HostileRequest:
    """Return new communication groups with these ranks, or with ranges that lie over each other."""
    written = ranks or ",".join(f"{one}-{one + 9999}" for one in range(ranges))
    at = time.time()
    rows = [
        Sample(
            "collective.group.info",
            1.0,
            at,
            attributes(
                {
                    "group": f"dp:{number}.{one}",
                    "kind": "dp",
                    "ranks": written,
                    "size": 8,
                    "rank": 0,
                }
            ),
        )
        for one in range(groups)
    ]
    return _metrics([(_resource(), rows)])


Named = Literal["job", "attempt", "host", "device", "series", "metric"]


def names(number: int, *, of: Named, by: str, count: int, name_bytes: int = 0) -> HostileRequest:
    """Return a log line or a sample of each of so many new names of a kind."""
    new = [f"{JOB}-{number}-{one}".ljust(name_bytes, "n") for one in range(count)]
    if by == "write":
        return _written(of, new)
    resources = {
        "job": [_resource(name) for name in new],
        "attempt": [_resource(attempt=number * count + one) for one in range(count)],
        "host": [TelemetryResource(name) for name in new],
    }.get(of, [TelemetryResource(HOST) if of == "device" else _resource()] * count)
    if by == "logs":
        return _logs([(one, [_line("x")]) for one in resources])
    attribute = {"device": "hw.id", "series": "group"}.get(of, "hw.sensor")
    metric = "hw.temperature" if of in ("device", "host") else "training.loss"
    at = time.time()
    return _metrics(
        [
            (one, [Sample(metric, 2.0, at, ((attribute, name), ("rank", 0)))])
            for one, name in zip(resources, new, strict=True)
        ]
    )


def times(number: int, *, offset_seconds: float, count: int, ranks: int) -> HostileRequest:
    """Return so many losses of a far time, of so many ranks; what repeats is the same sample."""
    at = time.time() + offset_seconds
    step = 0.001 if offset_seconds else 0.0
    rows = [
        Sample("training.loss", 2.0, at + step * one, (("rank", one % ranks),))
        for one in range(count)
    ]
    del number
    return _metrics([(_resource(), rows)])


def packed(number: int, *, codec: str, unpacked_bytes: int) -> HostileRequest:
    """Return a body that unpacks to so many bytes: one long text, of one letter."""
    text = f"{number} ".ljust(unpacked_bytes, "x")
    if codec == "snappy":
        request = WriteRequest()
        request.add(encoded_labels({"__name__": "up", "job_id": JOB, "text": text}), 1, 1.0)
        return _snappy(request)
    body = encode.logs_request([(_resource(), [_line(text)])])
    return HostileRequest(
        LOGS,
        gzip.compress(body, 6),
        {"content-type": _PROTOBUF, "content-encoding": "gzip"},
    )


def json_records(number: int, *, depth: int, records: int) -> HostileRequest:
    """Return log records as OTLP JSON, whose value is lists in lists."""
    value = '{"arrayValue":{"values":[' * depth + '{"stringValue":"x"}' + "]}}" * depth
    record = (
        f'{{"timeUnixNano":"{time.time_ns()}","eventName":"log.fault",'
        f'"attributes":[{{"key":"text{number}","value":{value}}}]}}'
    )
    job = f'{{"key":"rankscope.job.id","value":{{"stringValue":"{JOB}"}}}}'
    host = f'{{"key":"host.name","value":{{"stringValue":"{HOST}"}}}}'
    body = (
        f'{{"resourceLogs":[{{"resource":{{"attributes":[{job},{host}]}},'
        f'"scopeLogs":[{{"logRecords":[{",".join([record] * records)}]}}]}}]}}'
    )
    return HostileRequest(LOGS, body.encode(), {"content-type": _JSON})


def alerts(number: int, *, alerts: int) -> HostileRequest:
    """Return a webhook of an Alertmanager with so many alerts, each of a new host."""
    found = [
        {
            "status": "firing",
            "labels": {"alertname": f"Hostile{one}", "host_name": f"{HOST}-{number}-{one}"},
            "annotations": {"summary": _WORDS},
            "startsAt": "2026-03-02T08:00:45Z",
            "fingerprint": f"{number}-{one}",
        }
        for one in range(alerts)
    ]
    body = {"version": "4", "status": "firing", "receiver": "x", "alerts": found}
    return HostileRequest("/api/v1/alerts", json.dumps(body).encode(), {"content-type": _JSON})


def queries(number: int, *, paths: Sequence[str]) -> HostileRequest:
    """Return one question of these after the other; AGO: ten minutes ago, NOW."""
    path = paths[number % len(paths)]
    now = int(time.time())
    return HostileRequest(path.replace("AGO", str(now - 600)).replace("NOW", str(now)), None, {})


def claims(number: int, *, of: str, job: str, count: int) -> HostileRequest:
    """Return what a token says of others: of the ranks of a job, or of hosts in its own."""
    at = time.time()
    if of == "clocks":
        switch = (("network.switch", f"{JOB}-switch-{number}"),)
        return _metrics(
            [
                (
                    TelemetryResource(f"{VICTIM}-{host:02d}", job, extra=switch),
                    [Sample("system.clock.offset", 3600.0, at)],
                )
                for host in range(_OTHERS_HOSTS)
            ]
        )
    made: Callable[[int], Event] = {
        "exits": lambda one: Event(
            "process.exit", at, {"rank": one, "pid": 1000 + one, "exit_code": 1, "signal": 9}
        ),
        "faults": lambda one: Event(
            "gpu.fault",
            at,
            {
                "hw.id": f"GPU-{one % 160}",
                "code": 79,
                "vendor": "nvidia",
                "class": "fatal",
                "gpu": 0,
            },
        ),
        "agents": lambda _one: Event("agent.lifecycle", at, {"phase": "shutdown"}),
    }[of]
    return _logs(
        [
            (TelemetryResource(f"{VICTIM}-{one % _OTHERS_HOSTS:02d}", job), [made(one)])
            for one in range(count)
        ]
    )


PAYLOADS: dict[str, Callable[..., HostileRequest]] = {
    made.__name__: made
    for made in (
        *(texts, many_attributes, nested, ranks, groups, names, times, packed, json_records),
        *(alerts, queries, claims),
    )
}


def payload(sends: str, number: int, arguments: Mapping[str, Any]) -> HostileRequest:
    return PAYLOADS[sends](number, **arguments)


def _resource(job: str = JOB, *, attempt: int = 0) -> TelemetryResource:
    return TelemetryResource(HOST, job, attempt)


def _line(text: str) -> Event:
    signed: dict[str, Scalar] = {"signature": "nccl.timeout", "role": "root", "rank": 0}
    return Event("log.fault", time.time(), {**signed, "text": text})


def _logs(found: Sequence[tuple[TelemetryResource, Sequence[Event]]]) -> HostileRequest:
    return HostileRequest(LOGS, encode.logs_request(found))


def _metrics(found: Sequence[tuple[TelemetryResource, Sequence[Sample]]]) -> HostileRequest:
    return HostileRequest(METRICS, encode.metrics_request(found))


def _written(of: Named, new: Sequence[str]) -> HostileRequest:
    request = WriteRequest()
    for name in new:
        labels = {"__name__": "DCGM_FI_DEV_GPU_TEMP", "Hostname": HOST, "gpu": "0", "UUID": "GPU-1"}
        labels |= {
            "metric": {"__name__": name.replace("-", "_")},
            "host": {"Hostname": name},
            "job": {"job_id": name},
        }[of]
        request.add(encoded_labels(labels), int(time.time() * 1000), 40.0)
    return _snappy(request)


def _snappy(request: WriteRequest) -> HostileRequest:
    return HostileRequest(
        WRITE,
        bytes(cramjam.snappy.compress_raw(request.body())),
        {
            "content-type": _PROTOBUF,
            "content-encoding": "snappy",
            "x-prometheus-remote-write-version": "0.1.0",
        },
    )
