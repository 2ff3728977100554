"""A torchrun job with a fault, seen through public interfaces only, and replayed to the byte."""

import http.server
import json
import subprocess
import sys
import threading
import time
import urllib.request
from contextlib import contextmanager

import pytest
from standardwebhooks import Webhook

from rankscope.lab import mechanisms
from rankscope.lab.demo.client import Client
from rankscope.lab.demo.hosts import divide, usable_cpus
from rankscope.lab.demo.processes import Processes
from rankscope.lab.demo.stage import Stage, clean_environment, free_port
from rankscope.lab.jobs import orders

pytestmark = [pytest.mark.acceptance, pytest.mark.slow, pytest.mark.timeout(400)]

JOB = "torchrun/job 1"
"""Odd characters on purpose: ids are percent-encoded in the API."""


def wait(what, question, seconds):
    deadline = time.monotonic() + seconds
    while not (answer := question()):
        assert time.monotonic() < deadline, f"waited {seconds} s in vain for {what}"
        time.sleep(0.5)
    return answer


def torchrun(processes, hosts, folder):
    """Start one torchrun a host, two ranks each."""
    port = free_port()
    for number, host in enumerate(hosts):
        environ = {
            **clean_environment(),
            "RANKSCOPE_JOB_ID": JOB,
            "RANKSCOPE_AGENT": f"unix://{folder / host.name}.sock",
            orders.VARIABLE: str(folder / "orders.json"),
            "OMP_NUM_THREADS": "1",
        }
        command = [sys.executable, "-m", "torch.distributed.run", "--nnodes=2"]
        command += [f"--node-rank={number}", "--nproc-per-node=2", "--master-addr=127.0.0.1"]
        command += [f"--master-port={port}", "-m", "rankscope.lab.jobs.torch_trainer"]
        processes.start(f"torchrun-{number}", command, environ=environ, host=host)


@contextmanager
def receiver(address):
    """Register a webhook; yield the messages received, each signature verified."""
    received = []
    secret: list[str] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            received.append(Webhook(secret[0]).verify(body, dict(self.headers)))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *arguments):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        request = urllib.request.Request(
            f"{address}/api/v1/webhooks",
            data=json.dumps({"url": f"http://127.0.0.1:{server.server_port}/"}).encode(),
            headers={"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=10) as answer:
            secret.append(json.load(answer)["secret"])
        yield received
        server.shutdown()


def replayed(folder):
    command = [sys.executable, "-m", "rankscope.cli.main", "replay", "--json"]
    command.append(str(folder / "collector" / "journal"))
    return subprocess.run(command, capture_output=True, check=True, timeout=120).stdout


@pytest.mark.parametrize("name", ["exception", "nan-activation"])
def test_a_torchrun_job_ends_in_the_right_incident_and_its_journal_replays_to_it(
    name, short_path, valid_incident
):
    mechanism = mechanisms.named(name)
    (short_path / "logs").mkdir()
    hosts, _ = divide(usable_cpus())
    with Processes(short_path / "logs") as processes:
        stage = Stage(short_path, processes, hosts)
        collector, client = stage.collector(), Client(stage.address)
        wait("the collector", client.ready, 60)
        with receiver(stage.address) as messages:
            agents = [stage.agent(host) for host in hosts]
            torchrun(processes, hosts, short_path)

            def training():
                steps = [row["last_step"] for row in client.ranks(JOB)]
                return len(steps) == 4 and min(step or 0 for step in steps) > 20

            wait("the job", training, 150)
            orders.give(short_path / "orders.json", mechanism=name, ranks=[2])

            def diagnosed():
                for row in client.incidents(JOB):
                    stable = row["root_cause"]["status"] == "stable"
                    if row["severity"] == "critical" and stable:
                        return row
                return None

            document = wait("a critical incident with stable causes", diagnosed, 90)
            valid_incident(document)
            message = wait("the webhook", lambda: messages and messages[0], 30)
            assert message["type"] == "incident.opened"
            assert message["data"]["id"] == document["id"]
            valid_incident(message["data"])
            first = document["root_cause"]["hypotheses"][0]
            assert (first["fault"], first["entity"]["id"]) == (mechanism.fault, "2")
            assert first["entity"]["host"] == hosts[1].name
        # The collector goes first, so that what it knew at its end is what its journal holds.
        processes.stop(collector)
        processes.stop(*agents)

        once, again = replayed(short_path), replayed(short_path)
        assert once == again

        stage.collector()
        wait("the collector, again", client.ready, 60)
        kept = client.incident(document["id"])
        assert kept is not None
        (line,) = [line for line in once.splitlines() if json.loads(line)["id"] == document["id"]]
        assert json.dumps(kept, ensure_ascii=False).encode() == line
        assert len(client.incidents(JOB)) == len(once.splitlines())
