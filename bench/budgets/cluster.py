"""Several collectors as one: CPU for the same telemetry, of one collector against three.

A fixed number of samples a second of twelve jobs, one in each partition, a request for each host as
agents send them, goes through haproxy to three arrangements, one after the other: `files`, one
collector with its own journal and SQLite; `one`, a single collector on NATS JetStream (three
servers, each payload on all of them) and PostgreSQL; `three`, three collectors on the same. Every
second is evaluated, and no second may be skipped: a collector that did less is no measure.

A collector has a core. With a core each three of them take
`3 x cpu_seconds(one) / cpu_seconds(three together)` times the throughput of one if the load is
spread evenly, and `cpu_seconds(one) / cpu_seconds(busiest of three)` times as it is spread here.
The first is `throughput_of_three`, asked to be 2.5 at least; the second stands beside it. CPU time
is that of the collectors, their snapshots' children included; what NATS, PostgreSQL and haproxy
spend is stated apart and is in none of the ratios.
"""

import http.client
import re
import tempfile
import time
import urllib.request
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import psutil

from rankscope.collector.cluster import names

from ..cluster.box import ClusterBox
from .pool import PreparedRequest
from .stream import SampleStream

PARTITIONS = 12
HOSTS_A_JOB = 16
CONNECTIONS = 8
WARM_SECONDS = 10
SETTLED_SECONDS = 60.0
_AGAIN_SECONDS = 0.2
ARRANGEMENTS = {"files": 1, "one": 1, "three": 3}
"""Name -> collectors. `files` shares no log."""
_GAUGE = re.compile(r"^(rankscope_collector_[a-z_]+)(?:{[^}]*})? ([0-9.e+-]+)$", re.MULTILINE)
_SKIPPED = "rankscope_collector_evaluation_skipped_seconds_total"
_LAG = "rankscope_collector_partition_lag_entries"


def measure(seconds: float) -> dict[str, Any]:
    """Return what was measured; each arrangement gets so many seconds of telemetry."""
    jobs = _jobs()
    pools = [
        PreparedRequest.of(body)
        for job in jobs
        for body in SampleStream(hosts=HOSTS_A_JOB, hosts_a_request=1, job=job).round(time.time())
    ]
    results: dict[str, Any] = {
        "jobs": len(jobs),
        "hosts": len(pools),
        "samples_a_second": sum(row.points for row in pools),
        "seconds": round(seconds),
    }
    for name, count in ARRANGEMENTS.items():
        results[name] = _arrangement(name, count, pools, round(seconds))
    one, three = results["one"], results["three"]
    results["throughput_of_three"] = round(3 * one["cpu_seconds"] / three["cpu_seconds"], 2)
    results["throughput_of_three_as_spread"] = round(
        one["cpu_seconds"] / max(three["cpu_seconds_of_each"]), 2
    )
    results["throughput_of_three_against_files"] = round(
        3 * results["files"]["cpu_seconds"] / three["cpu_seconds"], 2
    )
    results["baseline"] = "one collector on the same JetStream and PostgreSQL, the same samples"
    return results


def _jobs() -> list[str]:
    """Return as many jobs as there are partitions, one of each."""
    found: dict[int, str] = {}
    number = 0
    while len(found) < PARTITIONS:
        job = f"bench-{number}"
        found.setdefault(names.of_job(job, PARTITIONS), job)
        number += 1
    return [found[partition] for partition in range(PARTITIONS)]


def _arrangement(
    name: str, count: int, pools: list[PreparedRequest], seconds: int
) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="rankscope-bench-") as folder:
        box = ClusterBox(
            Path(folder),
            collectors=count,
            partitions=PARTITIONS,
            shared=name != "files",
            log={"snapshot_seconds": 60},
        )
        try:
            box.start()
            senders = _HostSenders(box.address)
            for step in range(WARM_SECONDS):
                senders.send(pools, step)
            before = _used(box)
            for step in range(WARM_SECONDS, WARM_SECONDS + seconds):
                senders.send(pools, step)
            _until_read(box)
            after = _used(box)
            skipped = sum(_gauge(port, _SKIPPED) for port in box.collectors.ports)
        finally:
            box.stop()
    used = {part: [b - a for a, b in zip(before[part], after[part], strict=True)] for part in after}
    samples = seconds * sum(row.points for row in pools)
    collectors = used.pop("collectors")
    return {
        "collectors": count,
        "samples": samples,
        "cpu_seconds": round(sum(collectors), 2),
        "cpu_seconds_of_each": [round(one, 2) for one in collectors],
        "samples_per_cpu_second": round(samples / sum(collectors)),
        "skipped_seconds": int(skipped),
        "requests_late_seconds": round(senders.late, 2),
        "requests_refused": senders.refused,
        "other_cpu_seconds": {part: round(sum(each), 2) for part, each in used.items()},
    }


class _HostSenders:
    """Some connections that send each host's request once a second, as agents do."""

    def __init__(self, address: tuple[str, int]) -> None:
        self._connections = [
            http.client.HTTPConnection(*address, timeout=60) for _ in range(CONNECTIONS)
        ]
        self._threads = ThreadPoolExecutor(CONNECTIONS)
        self._began = time.time()
        self.late = 0.0
        """By how much the slowest second took longer than one."""
        self.refused = 0
        """Requests answered 503, on a machine that is too busy, and sent again."""

    def send(self, pools: list[PreparedRequest], step: int) -> None:
        """Send what all hosts report of a second, spread over it; return at its end."""
        at = self._began + step
        shares = [pools[number::CONNECTIONS] for number in range(CONNECTIONS)]
        for _ in self._threads.map(partial(self._some, step, at), self._connections, shares):
            pass
        self.late = max(self.late, time.time() - at - 1.0)
        time.sleep(max(0.0, at + 1.0 - time.time()))

    def _some(
        self,
        step: int,
        at: float,
        connection: http.client.HTTPConnection,
        pools: list[PreparedRequest],
    ) -> None:
        for number, row in enumerate(pools):
            time.sleep(max(0.0, at + 0.8 * number / len(pools) - time.time()))
            body = row.later(step, at)
            while not _taken(connection, body):
                self.refused += 1
                time.sleep(_AGAIN_SECONDS)


def _taken(connection: http.client.HTTPConnection, body: bytes) -> bool:
    """Send a request; return whether it is acknowledged, False where it is to be sent again."""
    connection.request("POST", "/v1/metrics", body, {"Content-Type": "application/x-protobuf"})
    answer = connection.getresponse()
    text = answer.read()
    if answer.status not in (http.client.OK, http.client.SERVICE_UNAVAILABLE):
        raise RuntimeError(f"the collector answered {answer.status}: {text!r}")
    return answer.status == http.client.OK


def _until_read(box: ClusterBox) -> None:
    """Wait until evaluation has everything that was sent."""
    end = time.monotonic() + SETTLED_SECONDS
    while sum(_gauge(port, _LAG) for port in box.collectors.ports) and time.monotonic() < end:
        time.sleep(0.2)


def _used(box: ClusterBox) -> dict[str, list[float]]:
    """Return the CPU seconds of each process, with all of its children, by part."""
    collectors = [box.collectors.pid(number) for number in range(box.collectors.count)]
    return {part: [_tree(pid) for pid in pids] for part, pids in
            {"collectors": collectors, **box.pids()}.items()}  # fmt: skip


def _tree(pid: int) -> float:
    """Return the CPU seconds of a process, its children's, and those of the ones that ended."""
    top = psutil.Process(pid)
    return sum(_times(one) for one in [top, *top.children(recursive=True)])


def _times(process: psutil.Process) -> float:
    with suppress(psutil.NoSuchProcess):
        times = process.cpu_times()
        return sum((times.user, times.system, times.children_user, times.children_system))
    return 0.0


def _gauge(port: int, name: str) -> float:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=30) as answer:
        text = answer.read().decode()
    rows: Iterable[tuple[str, str]] = _GAUGE.findall(text)
    return sum(float(value) for metric, value in rows if metric == name)
