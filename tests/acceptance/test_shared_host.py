"""Jobs of two collectors on one host that runs out of memory: one incident, one page, always.

Collectors, NATS and PostgreSQL are processes of their own, and the detectors are the real ones. The
collector that has the incident is killed.
"""

import itertools
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import httpx
import pytest
from tests.waiting import until

from bench.cluster.box import ClusterBox
from bench.cluster.takeovers import one_job_each, partitions
from rankscope.collector.cluster.gateway import PASSED_ON
from rankscope.formats.otlp import encode
from rankscope.lab.demo.client import DemoClient
from rankscope.vocabulary.samples import Event, Sample, TelemetryResource

pytestmark = [pytest.mark.long, pytest.mark.timeout(600)]

PARTITIONS = 4
HOST = "shared"
BEFORE, AFTER, STEP_SECONDS = 8, 8, 0.5


@pytest.fixture
def box(tmp_path: Path, program) -> Iterator[ClusterBox]:
    """Return two collectors over one NATS server and PostgreSQL, started."""
    program("postgres")
    one = ClusterBox(tmp_path, collectors=2, servers=1, balanced=False, partitions=PARTITIONS)
    one.start()
    yield one
    one.stop()


def metrics(job: str, step: int) -> bytes:
    """Return a step of a job of four ranks, two of them on the shared host."""
    at = time.time()
    groups = []
    for host, ranks in ((HOST, (0, 1)), (f"{job}-own", (2, 3))):
        samples = [sample for rank in ranks for sample in _rank(rank, step, at)]
        groups.append((TelemetryResource(host=host, job=job), samples))
    return encode.metrics_request(groups)


def _rank(rank: int, step: int, at: float) -> list[Sample]:
    mine = (("rank", rank),)
    placed = (("local_rank", rank % 2), ("pid", 100 + rank), ("world_size", 4))
    return [
        Sample("training.step", float(step), at, mine),
        Sample("training.step.duration", STEP_SECONDS, at, mine),
        Sample("training.rank.info", 1.0, at, (*mine, *placed)),
    ]


def out_of_memory(job: str) -> bytes:
    """Return that the kernel of the shared host has killed a rank of a job."""
    at, whose = time.time(), TelemetryResource(host=HOST, job=job)
    killed = {"rank": 0, "pid": 100}
    return encode.logs_request(
        [
            (
                whose,
                [
                    Event("host.oom_kill", at, killed, whose),
                    Event("process.exit", at, {**killed, "exit_code": 137, "signal": 9}, whose),
                ],
            )
        ]
    )


def train(client: DemoClient, jobs: Iterable[str], steps: Iterable[int]) -> None:
    """Send steps of all jobs in real time: receive times are those of JetStream."""
    for step in steps:
        for job in jobs:
            send(client, "/v1/metrics", metrics(job, step))
        time.sleep(STEP_SECONDS)


def send(client: DemoClient, path: str, body: bytes) -> None:
    """Send a payload until it is taken."""
    until(lambda: client.send(path, body, "application/x-protobuf") == 200, f"{path} to be taken")


def owners(box: ClusterBox) -> dict[str, int]:
    """Return for each collector a job that it has: one that it answers for and asks no other."""

    def answers(port: int, job: str) -> bool:
        address = f"http://127.0.0.1:{port}/api/v1/jobs/{job}"
        return httpx.get(address, headers={PASSED_ON: "1"}, timeout=60).status_code == 404

    def found() -> dict[int, str]:
        # The first is in partition 0, that of the correlator.
        return {
            number: job
            for job in one_job_each(PARTITIONS)[1:]
            for number, port in enumerate(box.collectors.ports)
            if answers(port, job)
        }

    return {
        job: number for number, job in until(found, "both to own", lambda n: len(n) == 2).items()
    }


def pages(box: ClusterBox) -> dict[str, str]:
    """Return the incident of each page that says that one was opened, by webhook-id."""
    return {
        row.webhook_id: row.incident
        for row in box.receiver.messages
        if row.type == "incident.opened"
    }


def incidents(client: DemoClient) -> list[tuple[str, list[str], str]]:
    """Return id, jobs and the host that is blamed, of each incident that is not over."""
    found = until(lambda: client.ask("/api/v1/incidents?limit=100"), "the incidents")["items"]
    return [
        (row["id"], sorted(row["jobs"]), row["root_cause"]["hypotheses"][0]["entity"]["id"])
        for row in found
        if row["status"] != "resolved"
    ]


def test_an_incident_of_two_collectors_jobs_stays_one_when_its_owner_is_killed(box):
    until(
        lambda: [partitions(port) for port in box.collectors.ports] == [(2, 0)] * 2,
        "partitions of both",
    )
    jobs = owners(box)
    client, steps = box.collectors.clients[0], itertools.count(1)
    train(client, jobs, itertools.islice(steps, BEFORE))
    for job in jobs:
        send(client, "/v1/logs", out_of_memory(job))
    one_of_both = [(sorted(jobs), HOST)]
    (incident,) = until(
        lambda: incidents(client),
        "one of both",
        lambda all_: [row[1:] for row in all_] == one_of_both,
    )
    paged = until(lambda: pages(box), "its page")
    assert [incident[0]] == list(paged.values())

    killed = jobs[client.incident(incident[0])["job"]]
    box.collectors.kill(killed)
    client, port = box.collectors.clients[1 - killed], box.collectors.ports[1 - killed]
    until(lambda: partitions(port) == (PARTITIONS, 0), "all to be taken over")
    train(client, jobs, itertools.islice(steps, AFTER))
    assert [incident] == incidents(client)
    assert paged == pages(box)
