"""Ways to hang of the laboratory, once each, in real jobs: the culprit is named first."""

import operator
import os
import sys
from pathlib import Path

import pytest
from tests.waiting import until

from bench.soak.real_faults import HANGS
from rankscope.lab import mechanisms
from rankscope.lab.demo.client import DemoClient
from rankscope.lab.demo.hosts import divide, usable_cpus
from rankscope.lab.demo.processes import DemoProcesses
from rankscope.lab.demo.stage import DemoStage, clean_environment
from rankscope.lab.jobs import orders

JOBS = Path(__file__).with_name("forked_jobs.py")
CULPRIT = 2
STEPS = 25
OF_EACH_FAULT = ("skipped-collective", "stop-signal", "early-exit")


@pytest.mark.parametrize(
    "ways",
    [
        pytest.param(OF_EACH_FAULT, id="one-of-each-fault"),
        pytest.param(tuple(HANGS), id="all", marks=pytest.mark.long),
    ],
)
def test_whoever_hangs_in_whichever_way_is_named_first(ways, short_path):
    pytest.importorskip("torch", reason="gloo is torch's")
    (short_path / "logs").mkdir()
    (host, _), _ = divide(usable_cpus())
    with DemoProcesses(short_path / "logs") as processes:
        stage = DemoStage(short_path, processes, (host,))
        stage.collector()
        client = DemoClient(stage.address, timeout_seconds=60.0)
        until(client.ready, "the collector")
        stage.agent(host)
        agent = f"unix://{short_path / host.name}.sock"
        command = [sys.executable, str(JOBS), str(short_path), agent, *ways]
        environ = {**clean_environment(), "RANKSCOPE_LAB_DEVICE_SECONDS": "0.5"}
        processes.start("jobs", command, environ=environ)

        def young():
            return [
                job
                for job in ways
                if len(rows := client.ranks(job)) < 4
                or min(row["last_step"] or 0 for row in rows) < STEPS
            ]

        until(young, f"no job with fewer than {STEPS} steps", operator.not_)
        for job in ways:
            if number := mechanisms.named(job).signal:
                os.kill(int((short_path / f"{job}-{CULPRIT}.pid").read_text()), number)
            orders.give(short_path / f"{job}.json", mechanism=job, ranks=[CULPRIT])

        def unexplained():
            found = {job: accused(client, job) for job in ways}
            return {job: ranks for job, ranks in found.items() if [CULPRIT] not in ranks}

        until(unexplained, "no job whose incidents miss the culprit", operator.not_)


def accused(client, job):
    """Return whom the first cause of each incident of a job names."""
    return [
        row["root_cause"]["hypotheses"][0]["entity"]["ranks"]
        for row in client.incidents(job)
        if row["root_cause"]["hypotheses"][0]["fault"] != "unknown"
    ]
