"""Looking into a real job, end to end: profiles of a slow rank, the stack of a hung one."""

import gzip
import json
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest
from tests.waiting import until

from rankscope.lab.demo.client import DemoClient
from rankscope.lab.demo.hosts import divide, usable_cpus
from rankscope.lab.demo.processes import DemoProcesses
from rankscope.lab.demo.stage import DemoStage, clean_environment
from rankscope.lab.jobs import orders

JOB = "profiled"
JOBS = Path(__file__).with_name("forked_jobs.py")


def test_a_rank_is_profiled_on_request_and_on_suspicion_and_its_stack_is_there_when_it_hangs(
    short_path, valid_incident
):
    pytest.importorskip("torch", reason="gloo is torch's")
    (short_path / "logs").mkdir()
    hosts, _ = divide(usable_cpus())
    allowed = {"RANKSCOPE_PROFILING__ALLOWED": "true", "RANKSCOPE_PROFILING__POLL_SECONDS": "0.5"}
    allowed["RANKSCOPE_PROFILING__INTERVAL_SECONDS"] = "0"
    with DemoProcesses(short_path / "logs") as processes:
        stage = DemoStage(short_path, processes, hosts)
        stage.collector({"RANKSCOPE_PROFILES__AUTOMATIC": "true"})
        client = DemoClient(stage.address, timeout_seconds=60.0)
        until(client.ready, "the collector")
        for host in hosts:
            stage.agent(host, allowed)
        agents = ",".join(f"unix://{short_path / host.name}.sock" for host in hosts)
        command = [sys.executable, str(JOBS), str(short_path), agents, JOB]
        environ = {**clean_environment(), "RANKSCOPE_LAB_DEVICE_SECONDS": "0.1"}
        processes.start("job", command, environ=environ)

        def steps():
            return [row["last_step"] or 0 for row in client.ranks(JOB)]

        until(steps, "the job", lambda found: len(found) == 4 and min(found) > 5)
        command = [sys.executable, "-m", "rankscope.cli.main", "profile", JOB, "--ranks", "1"]
        command += ["--steps", "4", "--json", "--url", stage.address, "--out", str(short_path)]
        done = subprocess.run(command, capture_output=True, timeout=240, check=False)
        assert 0 == done.returncode, done.stdout + done.stderr
        document = json.loads(done.stdout)
        assert [(1, "suspect", "complete", 4), (3, "peer", "complete", 4)] == [
            (row["rank"], row["role"], row["status"], row["steps"]) for row in document["ranks"]
        ]
        kinds = {row["kind"] for row in document["comparison"]["rows"]}
        assert {"compute", "collectives", "gaps"} <= kinds
        for row in document["ranks"]:
            with urllib.request.urlopen(stage.address + row["trace"], timeout=60) as answer:
                trace = json.loads(gzip.decompress(answer.read()))
            assert any(one.get("name") == "gloo:all_reduce" for one in trace["traceEvents"])
        assert 2 == len(list(short_path.glob("profile-*.json.gz")))

        # And without anybody's help, once an incident names a slow rank.
        orders.give(short_path / f"{JOB}.json", mechanism="slow-loader", ranks=[2])

        def profiled(incidents):
            return [
                row
                for row in incidents
                if any(one["rows"] and one["suspect"] == 2 for one in row.get("profiles", ()))
            ]

        what = "a profile in the incident of a slow rank"
        incident = profiled(until(lambda: client.incidents(JOB), what, profiled))[0]
        valid_incident(incident)
        (found,) = (one for one in incident["profiles"] if one["suspect"] == 2)
        rows = {row["kind"]: row["difference_seconds"] for row in found["rows"] if not row["name"]}
        assert rows["gaps"] > 0.03  # its loader sleeps for 150 ms a step; the others wait for it
        assert 2 == len(found["traces"])
        assert any(one["kind"] == "profile" for one in incident["timeline"])

        # A rank in which no thread can run any more still shows where it stands.
        orders.give(short_path / f"{JOB}.json", mechanism="gil-hold", ranks=[3])

        def stacks():
            return [
                one["text"]
                for row in client.incidents(JOB)
                for one in row.get("stacks", ())
                if one["odd"] and one["ranks"] == [3]
            ]

        assert "step (stuck.py" in until(stacks, "the stack of the rank that hangs")[0]
