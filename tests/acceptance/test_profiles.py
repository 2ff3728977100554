"""Looking into a real job, end to end: profiles of a slow rank, the stack of a hung one."""

import gzip
import json
import subprocess
import sys
import time
import urllib.request

import pytest

from rankscope.lab.demo.client import Client
from rankscope.lab.demo.hosts import divide, usable_cpus
from rankscope.lab.demo.processes import Processes
from rankscope.lab.demo.stage import Stage, clean_environment, free_port
from rankscope.lab.jobs import orders

pytestmark = [pytest.mark.acceptance, pytest.mark.slow, pytest.mark.timeout(400)]

JOB = "profiled"


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
        command = [sys.executable, "-m", "torch.distributed.run", f"--nnodes={len(hosts)}"]
        command += [f"--node-rank={number}", "--nproc-per-node=2", "--master-addr=127.0.0.1"]
        command += [f"--master-port={port}", "-m", "rankscope.lab.jobs.torch_trainer"]
        processes.start(f"torchrun-{number}", command, environ=environ, host=host)


def test_a_rank_is_profiled_on_request_and_on_suspicion_and_its_stack_is_there_when_it_hangs(
    short_path, valid_incident
):
    (short_path / "logs").mkdir()
    hosts, _ = divide(usable_cpus())
    allowed = {"RANKSCOPE_PROFILING__ALLOWED": "true", "RANKSCOPE_PROFILING__POLL_SECONDS": "0.5"}
    allowed["RANKSCOPE_PROFILING__INTERVAL_SECONDS"] = "0"
    with Processes(short_path / "logs") as processes:
        stage = Stage(short_path, processes, hosts)
        stage.collector({"RANKSCOPE_PROFILES__AUTOMATIC": "true"})
        client = Client(stage.address)
        wait("the collector", client.ready, 60)
        for host in hosts:
            stage.agent(host, allowed)
        torchrun(processes, hosts, short_path)

        def training():
            steps = [row["last_step"] for row in client.ranks(JOB)]
            return len(steps) == 4 and min(step or 0 for step in steps) > 5

        wait("the job", training, 150)
        command = [sys.executable, "-m", "rankscope.cli.main", "profile", JOB, "--ranks", "1"]
        command += ["--steps", "4", "--json", "--url", stage.address, "--out", str(short_path)]
        done = subprocess.run(command, capture_output=True, timeout=150, check=False)
        assert 0 == done.returncode, done.stdout + done.stderr
        document = json.loads(done.stdout)
        assert [(1, "suspect", "complete", 4), (3, "peer", "complete", 4)] == [
            (row["rank"], row["role"], row["status"], row["steps"]) for row in document["ranks"]
        ]
        kinds = {row["kind"] for row in document["comparison"]["rows"]}
        assert {"compute", "collectives", "gaps"} <= kinds
        for row in document["ranks"]:
            with urllib.request.urlopen(stage.address + row["trace"], timeout=10) as answer:
                trace = json.loads(gzip.decompress(answer.read()))
            assert any(one.get("name") == "gloo:all_reduce" for one in trace["traceEvents"])
        assert 2 == len(list(short_path.glob("profile-*.json.gz")))

        # And without anybody's help, once an incident names a slow rank.
        orders.give(short_path / "orders.json", mechanism="slow-loader", ranks=[2])

        def profiled():
            for row in client.incidents(JOB):
                if any(one["rows"] and one["suspect"] == 2 for one in row.get("profiles", ())):
                    return row
            return None

        incident = wait("a profile in the incident of a slow rank", profiled, 150)
        valid_incident(incident)
        (found,) = (one for one in incident["profiles"] if one["suspect"] == 2)
        rows = {row["kind"]: row["difference_seconds"] for row in found["rows"] if not row["name"]}
        assert rows["gaps"] > 0.03  # its loader sleeps for 60 ms a step; the others wait for it
        assert 2 == len(found["traces"])
        assert any(one["kind"] == "profile" for one in incident["timeline"])

        # A rank in which no thread can run any more still shows where it stands.
        orders.give(short_path / "orders.json", mechanism="gil-hold", ranks=[3])

        def stack():
            for row in client.incidents(JOB):
                for one in row.get("stacks", ()):
                    if one["odd"] and one["ranks"] == [3]:
                        return one["text"]
            return None

        assert "step (stuck.py" in wait("the stack of the rank that hangs", stack, 120)
