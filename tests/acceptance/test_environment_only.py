"""torchrun with a script that imports nothing of ours: environment variables are all there is."""

import ast
import operator
import shutil
import sys
import urllib.parse
import urllib.request
from functools import partial
from pathlib import Path

import pytest
from tests.waiting import until

from rankscope.lab.demo.client import DemoClient
from rankscope.lab.demo.hosts import divide, usable_cpus
from rankscope.lab.demo.processes import DemoProcesses
from rankscope.lab.demo.stage import DemoStage, clean_environment, free_port

pytestmark = pytest.mark.alone

ROOT = Path(__file__).parents[2]

TRAINED = """
import time, torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
model = DistributedDataParallel(torch.nn.Linear(64, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
for step in range(1, 100_000):
    began = time.monotonic()
    optimizer.zero_grad()
    loss = model(torch.randn(32, 64)).square().mean()
    loss.backward()
    optimizer.step()
    time.sleep(0.1)
    if dist.get_rank() == 0:
        took = 1000 * (time.monotonic() - began)
        print(f"iter {step}: loss {loss.item():.4f}, time {took:.2f}ms", flush=True)
"""

PRINTED = """
import os, time
for step in range(1, 100_000):
    time.sleep(0.1)
    if os.environ["RANK"] == "0":
        print(f"iter {step}: loss {2 + step / 1000:.4f}, time {100:.2f}ms", flush=True)
"""
"""Of a job without the probe only what it prints is seen, and the variables of its launcher."""

PROBED, PLAIN = "env/probe", "env/nothing"


def start_line(folder):
    """Put into a folder what the wheel puts beside the packages: this checkout has no wheel."""
    folder.mkdir()
    tree = ast.parse((ROOT / "setup.py").read_text())
    (line,) = [
        ast.literal_eval(row.value)
        for row in tree.body
        if isinstance(row, ast.Assign) and ast.unparse(row.targets[0]) == "LINE"
    ]
    (folder / "rankscope_probe.pth").write_text(line)
    shutil.copy(ROOT / "deploy/probe/sitecustomize.py", folder)
    return str(folder)


def torchrun(processes, script, job, environ, host):
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node=2"]
    command += ["--master-addr=127.0.0.1", f"--master-port={free_port()}"]
    environ = {**clean_environment(), "OMP_NUM_THREADS": "1", "RANKSCOPE_JOB_ID": job, **environ}
    name = job.rpartition("/")[2]
    processes.start(name, [*command, str(script)], environ=environ, host=host)


def test_loss_step_time_and_collectives_are_in_the_api_and_the_metrics(short_path):
    (short_path / "logs").mkdir()
    scripts = {PROBED: short_path / "train.py", PLAIN: short_path / "train_plainly.py"}
    scripts[PROBED].write_text(TRAINED)
    scripts[PLAIN].write_text(PRINTED)
    host = divide(usable_cpus())[0][0]
    page = f"127.0.0.1:{free_port()}"
    with DemoProcesses(short_path / "logs") as processes:
        stage = DemoStage(short_path, processes, [host])
        stage.collector()
        attach = {
            "RANKSCOPE_PROBE": "1",
            "RANKSCOPE_AGENT": f"unix://{short_path / host.name}.sock",
            "PYTHONPATH": start_line(short_path / "probe"),
        }
        torchrun(processes, scripts[PROBED], PROBED, attach, host)
        torchrun(processes, scripts[PLAIN], PLAIN, {}, host)
        client = DemoClient(stage.address, timeout_seconds=60.0)
        until(client.ready, "the collector")
        follow = {"RANKSCOPE_LOGS__FOLLOW": "true", "RANKSCOPE_EXPORT__LISTEN": page}
        stage.agent(host, {**follow, "RANKSCOPE_EXPORT__GROUPS": "true"})

        def ranks(job, metric):
            """Return the ranks that have three values of a metric in the API."""
            quoted = urllib.parse.quote(job, safe="")
            found = client.ask(f"/api/v1/jobs/{quoted}/series?metric={metric}") or {"series": []}
            return sorted(
                {row["rank"] for row in found["series"] if len(row["points"]) > 2} - {None}
            )

        for job, metric, expected in (
            (PLAIN, "training.loss", [0]),
            (PLAIN, "training.step.duration", [0]),
            (PLAIN, "training.rank.info", [0, 1]),
            (PROBED, "training.loss", [0, 1]),
            (PROBED, "training.step.duration", [0, 1]),
            (PROBED, "collective.enqueued", [0, 1]),
            (PROBED, "collective.completed", [0, 1]),
        ):
            until(partial(ranks, job, metric), f"{metric} of {job}", partial(operator.eq, expected))
        for job in (PLAIN, PROBED):
            rows = client.ranks(job)
            assert [(0, 0, host.name), (1, 1, host.name)] == [
                (row["rank"], row["local_rank"], row["host"]) for row in rows
            ]
            assert all(row["pid"] for row in rows)
            # Of a tenth of a second and more each, however many lines are read at once.
            assert (client.step_seconds(job) or 0.0) >= 0.1
            assert [] == client.incidents(job)

        with urllib.request.urlopen(f"http://{page}/metrics", timeout=60) as answer:
            shown = answer.read().decode().splitlines()
        for job, name in (
            (PLAIN, "training_loss"),
            (PLAIN, "training_step_duration_seconds"),
            (PROBED, "training_loss"),
            (PROBED, "training_step_duration_seconds"),
            (PROBED, "collective_completed"),
        ):
            assert any(row.startswith(f"{name}{{") and f'job_id="{job}"' in row for row in shown)
