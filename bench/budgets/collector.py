"""Collector intake: samples per CPU-second from HTTP to windows, and journal bytes a sample.

Two streams of about 2,700 points a request go to a collector of its own process over loopback, one
after the other: `steady`, whose requests lie alike in their bytes from step to step, and `varying`,
whose points are shuffled so that no two requests ever do. The CPU time is that of the collector's
process alone; what it spends on evaluating, measured while nothing arrives, is distinguished.
Baseline: the same requests parsed with protobuf's upb and walked in plain Python, decoding only:
neither HTTP, nor journal, nor windows.
"""

import http.client
import itertools
import random
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psutil
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
)

from rankscope.collector.settings.journal import JournalSettings
from rankscope.formats import segments

from .pool import PreparedRequest
from .stream import SampleStream

HOSTS = 40
HOSTS_A_REQUEST = 10
WARM_ROUNDS = 3
IDLE_SECONDS = 4.0
BASELINE_REQUESTS = 40
POOL_ROUNDS = 24
"""Different requests of each kind. More than the layouts that a decoder remembers for a sender, so
that those of `varying` are never met again."""

Request = tuple[bytes, int]


def measure(seconds: float) -> dict[str, Any]:
    """Return what was measured; each stream is sent for so many seconds."""
    results: dict[str, Any] = {"hosts": HOSTS, "hosts_a_request": HOSTS_A_REQUEST}
    for name, prepare in (("steady", _steady), ("varying", _varying)):
        pool = prepare()
        row = _stream(_sent_for_ever(pool), seconds)
        row["baseline"] = "upb parse and a walk in plain Python, decoding only"
        row["baseline_samples_per_cpu_second"] = _walked(_sent_for_ever(pool))
        row["ratio_to_baseline"] = round(
            row["samples_per_cpu_second"] / row["baseline_samples_per_cpu_second"], 2
        )
        results[name] = row
    return results


def _stream(requests: Iterator[list[Request]], seconds: float) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="rankscope-bench-") as folder:
        with _collector(Path(folder)) as (process, address):
            senders = _RoundSenders(address)
            for _ in range(WARM_ROUNDS):
                senders.send(next(requests))
            kept = segments.size(Path(folder) / "journal")
            watched = psutil.Process(process.pid)
            before = _cpu(watched)
            samples = sent = 0
            until = time.monotonic() + seconds
            while time.monotonic() < until:
                group = next(requests)
                senders.send(group)
                sent += len(group)
                samples += sum(points for _, points in group)
            used = _cpu(watched) - before
            memory = watched.memory_info().rss
            senders.close()
            # Every second is evaluated, busy or not: with nothing to take, that is all it does.
            before = _cpu(watched)
            time.sleep(IDLE_SECONDS)
            evaluation = (_cpu(watched) - before) / IDLE_SECONDS * seconds
        kept = segments.size(Path(folder) / "journal") - kept
    return {
        "requests": sent,
        "samples": samples,
        "samples_a_request": round(samples / sent),
        "cpu_seconds": round(used, 2),
        "of_it_judging_cpu_seconds": round(evaluation, 2),
        "samples_per_cpu_second": round(samples / (used - evaluation)),
        "samples_per_cpu_second_with_judging": round(samples / used),
        "journal_bytes_a_sample": round(kept / samples, 2),
        "rss_bytes": memory,
    }


def _steady() -> list[list[PreparedRequest]]:
    stream = SampleStream(hosts=HOSTS, hosts_a_request=HOSTS_A_REQUEST)
    return [
        [PreparedRequest.of(body) for body in stream.round(time.time())] for _ in range(POOL_ROUNDS)
    ]


def _varying() -> list[list[PreparedRequest]]:
    stream = SampleStream(hosts=HOSTS, hosts_a_request=HOSTS_A_REQUEST)
    draw = random.Random(1)
    return [
        [PreparedRequest.of(_shuffled(body, draw)) for body in stream.round(time.time())]
        for _ in range(POOL_ROUNDS)
    ]


def _sent_for_ever(pool: list[list[PreparedRequest]]) -> Iterator[list[Request]]:
    for step in itertools.count():
        at = time.time()
        lap, place = divmod(step, len(pool))
        yield [(row.later(lap * len(pool), at), row.points) for row in pool[place]]


def _shuffled(body: bytes, draw: random.Random) -> bytes:
    """Return the request with the points of every metric in another order."""
    request = ExportMetricsServiceRequest.FromString(body)
    for resource in request.resource_metrics:
        for scope in resource.scope_metrics:
            for metric in scope.metrics:
                points = metric.gauge.data_points or metric.sum.data_points
                order = list(points)
                draw.shuffle(order)
                del points[:]
                points.extend(order)
    return bytes(request.SerializeToString())


class _RoundSenders:
    """As many connections as there are requests in a round, all used at once."""

    def __init__(self, address: str) -> None:
        count = HOSTS // HOSTS_A_REQUEST
        netloc = urlsplit(address).netloc
        self._connections = [http.client.HTTPConnection(netloc) for _ in range(count)]
        self._threads = ThreadPoolExecutor(count)

    def send(self, group: list[Request]) -> None:
        """Send the requests of one round and wait for the answers."""
        for _ in self._threads.map(_send, self._connections, group):
            pass

    def close(self) -> None:
        self._threads.shutdown()
        for connection in self._connections:
            connection.close()


def _send(connection: http.client.HTTPConnection, request: Request) -> None:
    connection.request(
        "POST", "/v1/metrics", request[0], {"Content-Type": "application/x-protobuf"}
    )
    answer = connection.getresponse()
    said = answer.read()
    if answer.status != 200 or said:
        raise RuntimeError(f"the collector answered {answer.status}: {said!r}")


def _walked(requests: Iterator[list[Request]]) -> int:
    """Return how many samples a CPU-second the baseline decodes."""
    bodies: list[Request] = []
    while len(bodies) < BASELINE_REQUESTS:
        bodies += next(requests)
    began = time.process_time()
    rows: list[tuple[str, tuple[tuple[str, Any], ...], int, float]] = []
    for body, _ in bodies:
        rows.clear()
        request = ExportMetricsServiceRequest.FromString(body)
        for resource in request.resource_metrics:
            for scope in resource.scope_metrics:
                for metric in scope.metrics:
                    points = metric.gauge.data_points or metric.sum.data_points
                    for point in points:
                        pairs = tuple(
                            (pair.key, getattr(pair.value, pair.value.WhichOneof("value") or ""))
                            for pair in point.attributes
                        )
                        rows.append((metric.name, pairs, point.time_unix_nano, point.as_double))
    return round(sum(points for _, points in bodies) / (time.process_time() - began))


def _cpu(process: psutil.Process) -> float:
    times = process.cpu_times()
    return times.user + times.system


@contextmanager
def _collector(folder: Path) -> Generator[tuple[subprocess.Popen[str], str]]:
    environ = {
        "PATH": "/usr/bin:/bin",
        "RANKSCOPE_DATA_DIR": str(folder),
        "RANKSCOPE_HTTP__LISTEN": "127.0.0.1:0",
        "RANKSCOPE_JOURNAL__SEGMENT_BYTES": str(JournalSettings().segment_bytes),
    }
    command = [sys.executable, "-m", "rankscope.cli.main", "collector"]
    with subprocess.Popen(
        command, env=environ, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        try:
            said = process.stdout.readline() if process.stdout else ""
            found = re.search(r"http://\S+", said)
            if found is None:
                raise RuntimeError("the collector did not start")
            yield process, found[0]
            process.terminate()
            process.wait(30)
        finally:
            process.kill()
