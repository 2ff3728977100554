"""A job without the probe, looked into from outside: py-spy's profile of it, and its stacks."""

import gzip
import importlib.metadata
import json
import os
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest
from tests.waiting import until

from rankscope.agent.profiling import spying
from rankscope.lab.demo.client import DemoClient
from rankscope.lab.demo.hosts import divide, usable_cpus
from rankscope.lab.demo.processes import DemoProcesses
from rankscope.lab.demo.stage import DemoStage, clean_environment, free_port

pytestmark = pytest.mark.long

JOB = "unprobed"
SCRIPT = """
import pathlib, sys, time
import torch
import torch.distributed as dist

def forgotten_lock():
    while True:
        time.sleep(1)

def load_batch():
    time.sleep(0.05)
    return torch.randn(64, 64)

dist.init_process_group("gloo")
order = pathlib.Path(sys.argv[1])
weights = torch.full((64, 64), 0.01, requires_grad=True)
for step in range(1, 1_000_000):
    began = time.monotonic()
    loss = (weights @ load_batch()).square().mean()
    loss.backward()
    if dist.get_rank() == 1 and order.exists():
        forgotten_lock()
    dist.all_reduce(weights.grad)
    weights.grad = None
    took = 1000 * (time.monotonic() - began)
    print(f"iter {step}: loss {2 + step / 1000:.4f}, time {took:.2f}ms", flush=True)
"""


@pytest.fixture
def spy():
    """Return where py-spy is; without it, or without the right to use it, nothing can be seen."""
    found = spying.program() or _installed()
    if found is None:
        pytest.skip(spying.MISSING)
    command = [sys.executable, "-c", "import time; print(flush=True); time.sleep(600)"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as sleeper:
        assert sleeper.stdout is not None
        sleeper.stdout.readline()
        done = subprocess.run(
            [found, "dump", "--nonblocking", "--pid", str(sleeper.pid)],
            capture_output=True, check=False, text=True,
        )  # fmt: skip
        sleeper.kill()
    if done.returncode:
        pytest.skip(f"py-spy may not look at another process here: {done.stderr.strip()}")
    return found


def _installed():
    """Return the program of an installed py-spy that is not in PATH."""
    try:
        files = importlib.metadata.files("py-spy") or []
    except importlib.metadata.PackageNotFoundError:
        return None
    return next((str(one.locate()) for one in files if one.name == "py-spy"), None)


def test_ranks_without_a_probe_are_profiled_and_the_one_that_hangs_shows_its_stack(
    short_path, valid_incident, spy
):
    (short_path / "logs").mkdir()
    (short_path / "train.py").write_text(SCRIPT)
    host = divide(usable_cpus())[0][0]
    allowed = {
        "PATH": os.pathsep.join([str(Path(spy).parent), os.environ.get("PATH", "")]),
        "RANKSCOPE_LOGS__FOLLOW": "true",
        "RANKSCOPE_PROFILING__ALLOWED": "true",
        "RANKSCOPE_PROFILING__PY_SPY": "true",
        "RANKSCOPE_PROFILING__POLL_SECONDS": "0.5",
        "RANKSCOPE_PROFILING__MAX_SECONDS": "2",
        "RANKSCOPE_STACKS__PY_SPY": "true",
    }
    with DemoProcesses(short_path / "logs") as processes:
        stage = DemoStage(short_path, processes, [host])
        stage.collector()
        command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node=2"]
        command += ["--master-addr=127.0.0.1", f"--master-port={free_port()}"]
        command += [str(short_path / "train.py"), str(short_path / "hang")]
        job = {"RANKSCOPE_JOB_ID": JOB, "OMP_NUM_THREADS": "1"}
        processes.start("torchrun", command, environ={**clean_environment(), **job}, host=host)
        client = DemoClient(stage.address, timeout_seconds=60.0)
        until(client.ready, "the collector")
        stage.agent(host, allowed)
        until(lambda: client.ranks(JOB), "both ranks", lambda found: len(found) == 2)

        command = [sys.executable, "-m", "rankscope.cli.main", "profile", JOB, "--ranks", "0,1"]
        command += ["--json", "--url", stage.address, "--out", str(short_path)]
        done = subprocess.run(command, capture_output=True, timeout=240, check=False)
        assert 0 == done.returncode, done.stdout + done.stderr
        document = json.loads(done.stdout)
        assert [(0, "complete"), (1, "complete")] == [
            (row["rank"], row["status"]) for row in document["ranks"]
        ]
        for row in document["ranks"]:
            with urllib.request.urlopen(stage.address + row["trace"], timeout=60) as answer:
                trace = json.loads(gzip.decompress(answer.read()))
            assert any("load_batch (train.py)" == one["name"] for one in trace["traceEvents"])

        (short_path / "hang").touch()

        def stack():
            for incident in client.incidents(JOB):
                for one in incident.get("stacks", ()):
                    if one["ranks"] == [1] and "forgotten_lock (train.py" in one["text"]:
                        return incident
            return None

        incident = until(stack, "the stack of the rank that hangs")
        valid_incident(incident)
