"""Payloads of a hostile sender: small to send, meant to be dear to whoever takes them.

Each function returns (path, body in protobuf) of one payload; `number` counts the payloads of an
attack from 0, so that names can be new in each.
"""

import time
from collections.abc import Callable, Sequence
from typing import Any

from rankscope.formats.otlp import encode
from rankscope.vocabulary.samples import Event, Sample, Scalar, TelemetryResource

METRICS, LOGS = "/v1/metrics", "/v1/logs"

_WORDS = "NCCL WARN Timeout: no reply of 10.0.0.7 for rank 3, connection closed by peer; "

RequestBody = tuple[str, bytes]


def texts(number: int, *, records: int, text_bytes: int) -> RequestBody:
    """Return log lines of one job, each with a long text."""
    text = (_WORDS * (text_bytes // len(_WORDS) + 1))[:text_bytes]
    return _logs(
        [(_resource("hostile"), [_line(f"{number}.{line} {text}") for line in range(records)])]
    )


def ranks(number: int, *, jobs: int, ranks: Sequence[int]) -> RequestBody:
    """Return a loss of these ranks, in each of so many jobs."""
    del number
    at = time.time()
    groups = [
        (
            _resource(f"hostile-{job}"),
            [Sample("training.loss", 2.0, at, (("rank", rank),)) for rank in ranks],
        )
        for job in range(jobs)
    ]
    return METRICS, encode.metrics_request(groups)


def groups(number: int, *, ranks: str) -> RequestBody:
    """Return a communication group with these ranks, a new one each time."""
    pairs = (("group", f"dp:{number}"), ("kind", "dp"), ("ranks", ranks), ("size", 10_000_000))
    sample = Sample("collective.group.info", 1.0, time.time(), (*pairs, ("rank", 0)))
    return METRICS, encode.metrics_request([(_resource("hostile"), [sample])])


def job_ids(number: int, *, jobs: int) -> RequestBody:
    """Return a log line of each of so many new jobs."""
    return _logs([(_resource(f"j{number}-{job}"), [_line("x")]) for job in range(jobs)])


def attempts(number: int, *, attempts: int) -> RequestBody:
    """Return a log line of each of so many new attempts of one job."""
    first = number * attempts
    return _logs(
        [(_resource("hostile", attempt=first + one), [_line("x")]) for one in range(attempts)]
    )


def host_names(number: int, *, hosts: int) -> RequestBody:
    """Return a log line of each of so many new hosts."""
    return _logs(
        [(TelemetryResource(f"h{number}-{host}", None), [_line("x")]) for host in range(hosts)]
    )


def long_names(number: int, *, name_bytes: int) -> RequestBody:
    """Return a sample of a job with a long name, a new one each time."""
    name = f"{number}-".ljust(name_bytes, "n")
    sample = Sample("training.loss", 2.0, time.time(), (("rank", 0),))
    return METRICS, encode.metrics_request([(_resource(name), [sample])])


PAYLOADS: dict[str, Callable[..., RequestBody]] = {
    made.__name__: made
    for made in (texts, ranks, groups, job_ids, attempts, host_names, long_names)
}


def payload(sends: str, number: int, arguments: dict[str, Any]) -> RequestBody:
    """Return the payload of this number of an attack."""
    return PAYLOADS[sends](number, **arguments)


def _resource(job: str, *, attempt: int = 0) -> TelemetryResource:
    return TelemetryResource("hostile-host", job, attempt)


def _line(text: str) -> Event:
    signed: dict[str, Scalar] = {"signature": "nccl.timeout", "role": "root", "rank": 0}
    return Event("log.fault", time.time(), {**signed, "text": text})


def _logs(found: Sequence[tuple[TelemetryResource, Sequence[Event]]]) -> RequestBody:
    return LOGS, encode.logs_request(found)
