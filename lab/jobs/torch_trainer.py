"""A data-parallel trainer in torch: DDP over gloo, one line for the probe.

Run it under torchrun, or one process a rank with the variables torchrun would set:
`python -m rankscope.lab.jobs.torch_trainer`.
"""

import os
import sys
import time
from collections.abc import Iterator, Mapping
from typing import Any

from ...probe import attach
from . import pace
from .orders import Orders

WIDTH, BATCH = 320, 384
"""Sizes that make a step about 8 ms of arithmetic on one core of a usual machine."""


def train(environ: Mapping[str, str]) -> None:
    """Train until asked to stop; raises RuntimeError, as gloo does, when a peer goes away."""
    import torch  # noqa: PLC0415  only where the job is a torch job
    from torch import distributed, nn  # noqa: PLC0415

    torch.set_num_threads(1)  # ranks share CPUs, and a lab stays light
    distributed.init_process_group("gloo")
    rank = distributed.get_rank()
    orders, sleep = Orders(rank, environ), pace.device_seconds(environ)
    torch.manual_seed(1)
    layers = [nn.Linear(WIDTH, WIDTH), nn.Tanh(), nn.Linear(WIDTH, WIDTH), nn.Tanh()]
    network = nn.Sequential(*layers, nn.Linear(WIDTH, 1))
    model: Any = nn.parallel.DistributedDataParallel(network)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    watch = attach(model=model, optimizer=optimizer)
    source = torch.Generator().manual_seed(100 + rank)

    def batches() -> Iterator[Any]:
        while True:
            orders.load()
            yield torch.randn(BATCH, WIDTH, generator=source)

    stream = iter(watch.data(batches()))
    for step in range(pace.steps(environ)):
        with watch.step(step):
            inputs = next(stream)
            targets = inputs.mean(dim=1, keepdim=True)
            if orders.obey(step):
                inputs[0, 0] = float("nan")  # one bad activation is enough
            orders.preprocess()
            optimizer.zero_grad()
            loss = (model(inputs) - targets).square().mean()
            time.sleep(sleep)
            loss.backward()
            norm = nn.utils.clip_grad_norm_(model.parameters(), 10.0)
            watch.record(loss=loss, scope="local", tokens=BATCH)
            watch.record(grad_norm=norm, scope="global")
            optimizer.step()
    watch.detach()
    distributed.destroy_process_group()


if __name__ == "__main__":
    train(os.environ)
    sys.exit(0)
