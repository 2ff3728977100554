"""A torchrun job with a fault, seen through public interfaces only, and replayed to the byte."""

import json
import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager

import pytest
from standardwebhooks import Webhook
from tests.serving import Answer, served
from tests.waiting import PATIENCE_SECONDS, until

from rankscope.collector.store import IncidentDatabaseStore
from rankscope.lab import mechanisms
from rankscope.lab.demo.client import DemoClient
from rankscope.lab.demo.hosts import divide, usable_cpus
from rankscope.lab.demo.processes import DemoProcesses
from rankscope.lab.demo.stage import DemoStage, clean_environment, free_port
from rankscope.lab.jobs import orders
from rankscope.vocabulary.times import rfc3339

JOB = "torchrun/job 1"
"""Odd characters on purpose: ids are percent-encoded in the API."""


@contextmanager
def receiver(address):
    """Register a webhook; yield the messages received, each signature verified."""
    received = []
    secret: list[str] = []

    def take(request):
        received.append(Webhook(secret[0]).verify(request.body.decode(), dict(request.headers)))
        return Answer(status=204)

    with served(take) as hook:
        request = urllib.request.Request(
            f"{address}/api/v1/webhooks",
            data=json.dumps({"url": f"{hook}/"}).encode(),
            headers={"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=60) as answer:
            secret.append(json.load(answer)["secret"])
        yield received


def torchrun(processes, hosts, folder):
    """Start a job of the laboratory as people do, once a host; its orders are in the folder."""
    port = free_port()
    for number, host in enumerate(hosts):
        environ = {
            **clean_environment(),
            "RANKSCOPE_JOB_ID": JOB,
            "RANKSCOPE_AGENT": f"unix://{folder / host.name}.sock",
            orders.VARIABLE: str(folder / "orders.json"),
            "OMP_NUM_THREADS": "1",
            "RANKSCOPE_LAB_DEVICE_SECONDS": "0.2",
        }
        command = [sys.executable, "-m", "torch.distributed.run", f"--nnodes={len(hosts)}"]
        command += [f"--node-rank={number}", "--nproc-per-node=2", "--master-addr=127.0.0.1"]
        command += [f"--master-port={port}", "-m", "rankscope.lab.jobs.torch_trainer"]
        processes.start(f"torchrun-{number}", command, environ=environ, host=host)


def replayed(folder):
    command = [sys.executable, "-m", "rankscope.cli.main", "replay", "--json"]
    command.append(str(folder / "collector" / "journal"))
    return subprocess.run(command, capture_output=True, check=True, timeout=120).stdout


@pytest.mark.parametrize(
    "name", ["nan-activation", pytest.param("exception", marks=pytest.mark.long)]
)
def test_a_torchrun_job_ends_in_the_right_incident_and_its_journal_replays_to_it(
    name, short_path, valid_incident
):
    mechanism = mechanisms.named(name)
    (short_path / "logs").mkdir()
    hosts, _ = divide(usable_cpus())
    with DemoProcesses(short_path / "logs") as processes:
        stage = DemoStage(short_path, processes, hosts)
        collector, client = stage.collector(), DemoClient(stage.address, timeout_seconds=60.0)
        until(client.ready, "the collector")
        with receiver(stage.address) as messages:
            agents = [stage.agent(host) for host in hosts]
            torchrun(processes, hosts, short_path)

            def steps():
                return [row["last_step"] or 0 for row in client.ranks(JOB)]

            until(steps, "the job", lambda found: len(found) == 4 and min(found) > 20)
            orders.give(short_path / "orders.json", mechanism=name, ranks=[2])

            def diagnosed(incidents):
                return [
                    row
                    for row in incidents
                    if row["severity"] == "critical" and row["root_cause"]["status"] == "stable"
                ]

            what = "a critical incident with stable causes"
            document = diagnosed(until(lambda: client.incidents(JOB), what, diagnosed))[0]
            valid_incident(document)

            # A busy machine may have been worth an incident of its own before.
            def told():
                return [row for row in messages if row["data"]["id"] == document["id"]]

            message = until(told, "the webhook")[0]
            assert message["type"] == "incident.opened"
            valid_incident(message["data"])
            first = document["root_cause"]["hypotheses"][0]
            assert (first["fault"], first["entity"]["id"]) == (mechanism.fault, "2")
            assert first["entity"]["host"] == hosts[1].name
        # The collector goes first, so that what it knew at its end is what its journal holds. It
        # needs its time for that: one that is killed has not evaluated what it took last.
        processes.stop(collector, grace_seconds=PATIENCE_SECONDS)
        stopped = rfc3339(time.time())
        processes.stop(*agents)

        once, again = replayed(short_path), replayed(short_path)
        assert once == again

        # Before a collector runs again: its first evaluation may already change an open incident.
        store = IncidentDatabaseStore(f"sqlite:///{short_path / 'collector' / 'rankscope.db'}")
        kept = store.incident(document["id"])
        store.close()
        (line,) = [line for line in once.splitlines() if json.loads(line)["id"] == document["id"]]
        assert json.dumps(kept, ensure_ascii=False).encode() == line

        stage.collector()
        until(client.ready, "the collector, again")
        assert client.incident(document["id"]) is not None
        # Nobody reports meanwhile: on a busy machine long enough for an incident of its own.
        known = [json.loads(line)["id"] for line in once.splitlines()]
        found = client.incidents(JOB)
        assert sorted(known) == sorted(row["id"] for row in found if row["detected_at"] < stopped)
