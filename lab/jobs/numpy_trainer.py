"""A data-parallel trainer in numpy: two layers that learn a random teacher, gradients averaged.

Run one process a rank: `python -m rankscope.lab.jobs.numpy_trainer`, with the variables that any
launcher sets. About 10 ms of arithmetic a step; the rest of it sleeps where a device would work.
"""

import os
import sys
import time
from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from ...probe import attach
from . import loader, metrics, pace, storage
from .orders import RankOrders
from .star import StarEnd

Array = NDArray[np.float32]
WIDTH, BATCH, ROUNDS = 192, 96, 36
"""Sizes that make a step about 8 ms of arithmetic on one core of a usual machine."""


class NumpyModel:
    """Two dense layers with a tanh between; parameters and gradients as one flat vector each."""

    def __init__(self, random: np.random.Generator) -> None:
        """Start from small random weights, the same on every rank."""
        self.first = random.normal(0, 0.05, (WIDTH, WIDTH)).astype(np.float32)
        self.second = random.normal(0, 0.05, (WIDTH, 1)).astype(np.float32)

    def gradients(self, inputs: Array, targets: Array) -> tuple[float, Array]:
        """Return the loss and the gradient of a batch."""
        hidden = np.tanh(inputs @ self.first)
        error = hidden @ self.second - targets
        loss = float((error**2).mean())
        slope = (2.0 / error.size) * error
        back = (slope @ self.second.T) * (1 - hidden**2)
        return loss, np.concatenate([(inputs.T @ back).ravel(), (hidden.T @ slope).ravel()])

    def update(self, gradient: Array, rate: float) -> None:
        """Go one step down."""
        self.first -= rate * gradient[: self.first.size].reshape(self.first.shape)
        self.second -= rate * gradient[self.first.size :].reshape(self.second.shape)


def batches(
    random: np.random.Generator, teacher: NumpyModel, orders: RankOrders, dataset: list[bytes]
) -> Iterator[tuple[Array, Array]]:
    """Return this rank's own stream of inputs and what the teacher says to them."""
    while True:
        orders.load(dataset)
        inputs = random.standard_normal((BATCH, WIDTH), dtype=np.float32)
        yield inputs, np.tanh(inputs @ teacher.first) @ teacher.second


def train(environ: Mapping[str, str]) -> None:
    """Train until asked to stop; raises PeerLostError when a peer goes away."""
    rank, world = int(environ["RANK"]), int(environ["WORLD_SIZE"])
    sleep, orders = pace.device_seconds(environ), RankOrders(rank, environ)
    model, teacher = NumpyModel(np.random.default_rng(1)), NumpyModel(np.random.default_rng(2))
    dataset, random = loader.dataset(environ), np.random.default_rng([3, rank])

    def made() -> Iterator[tuple[Array, Array]]:
        return batches(random, teacher, orders, dataset)

    source = loader.batches(made) if loader.has_worker(environ) else made()
    star = StarEnd(
        rank=rank,
        world=world,
        address=environ["MASTER_ADDR"],
        port=int(environ["MASTER_PORT"]),
    )
    watch = attach(framework="numpy")
    stream = iter(watch.data(source))
    gather_steps = metrics.gather_steps(environ)
    for step in range(pace.steps(environ)):
        with watch.step(step):
            inputs, targets = next(stream)
            orders.step(step)
            if orders.change.ends():
                break
            if orders.change.spoils():
                inputs = inputs.copy()
                inputs[0, 0] = np.nan  # one bad activation is enough
            loss, gradient = model.gradients(inputs, targets)
            for _ in range(ROUNDS - 1):  # again, for the sake of the work
                loss, gradient = model.gradients(inputs, targets)
            time.sleep(sleep)
            with watch.collective("all_reduce", size_bytes=gradient.nbytes):
                gradient = star.all_reduce(gradient) / np.float32(world)
            norm = float(np.sqrt((gradient.astype(np.float64) ** 2).sum()))
            watch.record(loss=loss, scope="local", tokens=BATCH, learning_rate=0.05)
            watch.record(grad_norm=norm, scope="global")
            model.update(gradient, 0.05)
            if gather_steps and step % gather_steps == 0:
                results = metrics.predictions(rank, orders.change.gathered_bytes())
                with watch.collective("gather", size_bytes=len(results)):
                    gathered = star.gather(results)
                if gathered:
                    metrics.rank_all(gathered)
            if path := storage.due(environ, rank, step):
                with watch.checkpoint():
                    storage.write(path)
    watch.detach()
    star.finish()
    star.close()


if __name__ == "__main__":
    with np.errstate(invalid="ignore", over="ignore"):
        train(os.environ)
    sys.exit(0)
