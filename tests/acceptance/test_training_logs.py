"""Jobs that import nothing of ours: what they print arrives as loss and step time."""

import sys
import urllib.parse
from functools import partial

import pytest
from tests.waiting import until

from rankscope.lab.demo.client import DemoClient
from rankscope.lab.demo.hosts import divide, usable_cpus
from rankscope.lab.demo.processes import DemoProcesses
from rankscope.lab.demo.stage import DemoStage, clean_environment, free_port

pytestmark = [pytest.mark.alone, pytest.mark.long]

SCRIPT = """
import datetime, os, sys, time
import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank, size, form = dist.get_rank(), dist.get_world_size(), sys.argv[1]
weights = torch.full((64, 64), 0.01, requires_grad=True)
for step in range(1, 100_000):
    began = time.monotonic()
    loss = (weights @ torch.randn(64, 64)).square().mean()
    loss.backward()
    dist.all_reduce(weights.grad)
    weights.grad = None
    time.sleep(0.1)
    took = 1000 * (time.monotonic() - began)
    value = 2.0 + step / 1000
    if form == "megatron" and rank == size - 1:
        print(
            f" [{datetime.datetime.now()}] iteration {step:8d}/  100000 | consumed samples: "
            f"{step * 8:12d} | elapsed time per iteration (ms): {took:.1f} | learning rate: "
            f"{1.5e-4:.6E} | global batch size: {8:5d} | lm loss: {value:.6E} | loss scale: 1.0 | "
            f"grad norm: 0.512 | number of skipped iterations: {0:3d} | "
            f"number of nan iterations: {0:3d} |",
            flush=True,
        )
    if form == "huggingface" and rank == 0:
        logs = {"loss": round(value, 4), "grad_norm": 0.54, "learning_rate": 5e-05, "epoch": 0.1}
        print(logs, flush=True)
"""


LIMITS = {
    "training.loss": (2.0, 3.0),
    "training.step.duration": (0.1, 60.0),
    "training.learning_rate": (1.49e-4, 1.51e-4),
    "training.grad_norm": (0.539, 0.541),
}

SHOWN = {
    ("megatron", 1): {"training.loss", "training.step.duration", "training.learning_rate"},
    ("huggingface", 0): {"training.loss", "training.grad_norm"},
}
"""Metrics by form of the lines and the rank that prints them."""


def test_jobs_without_our_probe_show_what_they_print(short_path):
    (short_path / "logs").mkdir()
    (short_path / "train.py").write_text(SCRIPT)
    host = divide(usable_cpus())[0][0]
    with DemoProcesses(short_path / "logs") as processes:
        stage = DemoStage(short_path, processes, [host])
        stage.collector()
        for form, _ in SHOWN:
            # Both ranks write to the file of their launcher, as `torchrun train.py > train.log`.
            command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node=2"]
            command += ["--master-addr=127.0.0.1", f"--master-port={free_port()}"]
            command += [str(short_path / "train.py"), form]
            job = {"RANKSCOPE_JOB_ID": f"logs/{form}", "OMP_NUM_THREADS": "1"}
            processes.start(form, command, environ={**clean_environment(), **job}, host=host)
        client = DemoClient(stage.address, timeout_seconds=60.0)
        until(client.ready, "the collector")
        stage.agent(host, {"RANKSCOPE_LOGS__FOLLOW": "true"})

        def values(form, rank, metric):
            quoted = urllib.parse.quote(f"logs/{form}", safe="")
            found = client.ask(f"/api/v1/jobs/{quoted}/series?metric={metric}&rank={rank}")
            points = found["series"][0]["points"] if found and found["series"] else []
            return [value for _, value in points if value is not None]

        for (form, rank), metrics in SHOWN.items():
            for metric in metrics:
                held = until(
                    partial(values, form, rank, metric),
                    f"{metric} of {form}",
                    lambda found: len(found) > 5,
                )
                least, most = LIMITS[metric]
                assert least <= min(held) <= max(held) <= most
            losses = values(form, rank, "training.loss")
            assert losses == sorted(losses)
            assert client.incidents(f"logs/{form}") == []
