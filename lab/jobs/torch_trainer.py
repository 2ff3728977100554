"""A data-parallel trainer in torch: DDP over gloo, one line for the probe.

Run it under torchrun, or one process a rank with the variables torchrun would set:
`python -m rankscope.lab.jobs.torch_trainer`.
"""

import contextlib
import os
import sys
import time
from collections.abc import Iterator, Mapping
from typing import Any

from ...probe import attach
from . import loader, metrics, pace, storage
from .orders import RankOrders

WIDTH, BATCH = 320, 384
"""Sizes that make a step about 8 ms of arithmetic on one core of a usual machine."""


def train(environ: Mapping[str, str]) -> None:
    """Train until asked to stop; raises RuntimeError, as gloo does, when a peer goes away."""
    import torch  # noqa: PLC0415  only where the job is a torch job
    from torch import distributed, nn  # noqa: PLC0415

    torch.set_num_threads(1)  # ranks share CPUs, and a lab stays light
    distributed.init_process_group("gloo")
    rank = distributed.get_rank()
    orders, sleep = RankOrders(rank, environ), pace.device_seconds(environ)
    torch.manual_seed(1)
    layers = [nn.Linear(WIDTH, WIDTH), nn.Tanh(), nn.Linear(WIDTH, WIDTH), nn.Tanh()]
    network = nn.Sequential(*layers, nn.Linear(WIDTH, 1))
    model: Any = nn.parallel.DistributedDataParallel(network)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    source = torch.Generator().manual_seed(100 + rank)
    dataset = loader.dataset(environ)

    def batches() -> Iterator[Any]:
        while True:
            orders.load(dataset)
            yield torch.randn(BATCH, WIDTH, generator=source)

    class Stream(torch.utils.data.IterableDataset[Any]):
        def __iter__(self) -> Iterator[Any]:
            return batches()

    made: Any = batches()
    if loader.has_worker(environ):
        made = torch.utils.data.DataLoader(Stream(), batch_size=None, num_workers=1)
    watch = attach(model=model, optimizer=optimizer)
    stream = iter(watch.data(made))
    gather_steps, world = metrics.gather_steps(environ), distributed.get_world_size()
    for step in range(pace.steps(environ)):
        with watch.step(step):
            inputs = next(stream)
            targets = inputs.mean(dim=1, keepdim=True)
            orders.step(step)
            if orders.change.ends():
                break
            if orders.change.spoils():
                inputs[0, 0] = float("nan")  # one bad activation is enough
            if orders.change.other_collective():
                distributed.broadcast(torch.zeros(8), src=0 if rank else 1)
            if size := orders.change.other_size():
                distributed.all_reduce(torch.zeros(size))
            alone = orders.change.skips_collective()
            optimizer.zero_grad()
            with model.no_sync() if alone else contextlib.nullcontext():
                loss = (model(inputs) - targets).square().mean()
                time.sleep(sleep)
                loss.backward()
            if alone and orders.change.waits_alone():
                distributed.barrier()  # as a rank does that left its loop, and waits for the others
            norm = nn.utils.clip_grad_norm_(model.parameters(), 10.0)
            watch.record(loss=loss, scope="local", tokens=BATCH)
            watch.record(grad_norm=norm, scope="global")
            optimizer.step()
            if gather_steps and step % gather_steps == 0:
                results = metrics.predictions(rank, orders.change.gathered_bytes())
                gathered: list[Any] | None = [None] * world if rank == 0 else None
                distributed.gather_object(results, gathered, dst=0)
                if gathered:
                    metrics.rank_all(gathered)
            if path := storage.due(environ, rank, step):
                with watch.checkpoint():
                    storage.write(path)
    watch.detach()
    _finish(distributed, world)
    distributed.destroy_process_group()


def _finish(distributed: Any, world: int) -> None:
    """Wait until every rank has left the loop, as a launcher's exit barrier does."""
    store = distributed.distributed_c10d._get_default_store()  # noqa: SLF001  no public way
    store.add("rankscope-lab-ended", 1)
    while store.add("rankscope-lab-ended", 0) < world:
        time.sleep(0.2)


if __name__ == "__main__":
    train(os.environ)
    sys.exit(0)
