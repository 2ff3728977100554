"""Trains the tiny GPT over gloo on the CPU in one of `layouts`, with a fault of `spoiling` at most.

One function a process: `train(told)`, started by `runs`, with the probe attached. The loop is what
a user's is: a loader, a schedule, clipping at a norm that is never reached, a checkpoint.
"""

import contextlib
import math
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, Subset

from rankscope import probe

from . import layouts, shapes, spoiling, trainers
from .gpt import BATCH, CONTEXT, SampledCorpus, TinyGpt, corpus
from .layouts import TrainedModel
from .shapes import SpikeShape, TrainingLayout

WARM_UP = 20
_LOOPS = ("transformers", "lightning")
"""Layouts that bring a loop of their own."""
PAUSE_SECONDS = 0.08
"""Added to each step: a spike is reported for 13 steps after its end, looked for each second."""

RESTART_AT, SHORT_UNTIL = 90, 60
"""Harmless: a schedule that begins again there; easier samples until then."""
EARLIER = 30
"""So many steps before its `at` a fault begins that needs time to show."""


@dataclass(frozen=True, slots=True)
class TrainedAttempt:
    """One process of one attempt. folder: where its processes meet, and the checkpoints lie."""

    shape: SpikeShape
    rank: int
    folder: Path
    environ: dict[str, str]
    again: bool = False

    @property
    def fault(self) -> str:
        """Return the fault; a resumed run has it in its second attempt alone."""
        return self.shape.fault if self.again or not self.shape.resumes else ""


def train(told: TrainedAttempt) -> None:
    shape, rank = told.shape, told.rank
    layout = shapes.layouts()[shape.layout]
    os.environ.update(told.environ)
    watch: Any = None if layout.parallel in _LOOPS else probe.attach()
    torch.set_num_threads(1)
    dist.init_process_group(
        "gloo", init_method=f"file://{told.folder}/meeting-{int(told.again)}",
        rank=rank, world_size=shape.ranks,
    )  # fmt: skip
    torch.manual_seed(shape.seed)
    model = TinyGpt()
    text = corpus(shape.steps * BATCH * shape.shares * layout.micro_batches, shape.seed)
    if told.fault in spoiling.DATA:
        spoiling.spoil(text, shape, layout.micro_batches)
    if watch is None:
        _loop_of_framework(told, layout, model, text)
    else:
        _loop(told, layout, model, text, watch)
        watch.detach()
    dist.destroy_process_group()


def _loop_of_framework(
    told: TrainedAttempt, layout: TrainingLayout, model: TinyGpt, text: SampledCorpus
) -> None:
    shape = told.shape
    torch.manual_seed(shape.seed * 1000 + told.rank)

    def rates(step: int) -> float:
        return share_of(shape, told.fault, step)

    if layout.parallel == "transformers":
        trainers.transformers(
            layout, model, text, shape.steps, rates, str(told.folder), PAUSE_SECONDS
        )
    else:
        trainers.lightning(
            layout, model, text, order_of(shape, told.rank, 0), shape.steps, rates, shape.ranks,
            str(told.folder), PAUSE_SECONDS,
        )  # fmt: skip


def _loop(
    told: TrainedAttempt, layout: TrainingLayout, model: TinyGpt, text: SampledCorpus, watch: Any
) -> None:
    shape, fault, rank = told.shape, told.fault, told.rank
    suspect, micro = rank == shape.suspect, layout.micro_batches
    trained = layouts.built(layout, model)
    first, random = resume(told, trained) if told.again else (0, None)
    torch.manual_seed(shape.seed * 1000 + shape.share_of(rank))
    order = order_of(shape, rank, 0 if fault == "data_from_start" else first, micro)
    loader = DataLoader(Subset(text, order), batch_size=BATCH)
    watch.dataset(text, locate=lambda place: text.locate(order[place]))
    if not layout.marked:
        watch.continue_from(first)
    if random is not None:
        torch.set_rng_state(random)
    batches = iter(loader)
    if random is not None and shape.variant == "after the loader":
        torch.set_rng_state(random)
    now = [first]
    if fault == "gradient_flip" and suspect:
        spoiling.flip_of_gradient(model, shape, now)
    unsynced = spoiling.local_gradients(model, shape) if fault == "dropped_sync" else {}
    drifting = list(model.parameters()) if fault == "replica_drift" and suspect else []
    if shape.variant == "one" and drifting:
        drifting = spoiling.layer_of(model, shape)
    if fault == "fp16_overflow":
        trained.half_precision(2.0**shape.lasts)
    end = shape.stops if shape.resumes and not told.again else shape.steps
    for step in range(first, end):
        time.sleep(PAUSE_SECONDS)
        now[0] = step
        trained.set_rate(share_of(shape, fault, step))
        with watch.step(index=step) if layout.marked else contextlib.nullcontext():
            trained.gradients(eased(next(batches), shape, fault, step) for _ in range(micro))
            if step >= shape.at - EARLIER:
                for parameter, gradient in unsynced.items():
                    parameter.grad = gradient[0]
            trained.clip()
            trained.update()
        with torch.no_grad():
            if step == shape.at and suspect and fault == "weight_flip":
                weight, place = spoiling.chosen(list(model.parameters()), shape)
                spoiling.flip(weight.data, place, shape.lasts)
            if step == shape.at and suspect and fault == "optimizer_flip":
                spoiling.flip_of_state(trained.optimizers[0], shape)
            if step >= shape.at - EARLIER:
                for parameter in drifting:
                    parameter.mul_(1.0 - shape.factor)
            if fault == "fp16_overflow" and step >= shape.at:
                # A norm behind it hides the growth until it overflows.
                for parameter in model.blocks[-1].forward_layer[-1].parameters():
                    parameter.mul_(shape.factor)
        if shape.resumes and not told.again and step + 1 == shape.at:
            save(told, trained, step + 1)


def order_of(shape: SpikeShape, rank: int, first: int, micro: int = 1) -> list[int]:
    """Return the samples of a rank, from a step on; `micro` batches a step."""
    share, shares = shape.share_of(rank), shape.shares
    return [
        sample
        for batch in range(first * micro, shape.steps * micro)
        for sample in range((batch * shares + share) * BATCH, (batch * shares + share + 1) * BATCH)
    ]


def share_of(shape: SpikeShape, fault: str, step: int) -> float:
    """Return the learning rate of a step as a share of the highest.

    A warm-up, a cosine, and what a fault makes of them.
    """
    if fault == "warm_up_lost":
        return shape.factor
    if fault == "warm_restart" and step >= RESTART_AT:
        step += WARM_UP * (shape.variant == "at once") - RESTART_AT
    jumped = fault == "rate_jump" and shape.at <= step < shape.at + shape.lasts
    times = shape.factor if jumped else 1.0
    if step < WARM_UP:
        return times * (step + 1) / WARM_UP
    return times * (0.1 + 0.45 * (1 + math.cos(math.pi * step / shape.steps)))


def eased(samples: torch.Tensor, shape: SpikeShape, fault: str, step: int) -> torch.Tensor:
    """Return the samples of a step; of a curriculum shorter or simpler ones at first."""
    if fault != "curriculum" or step >= SHORT_UNTIL:
        return samples
    if shape.variant == "length":
        return samples[:, : CONTEXT // 2 + 1]
    part = samples[:, : CONTEXT // 4]  # comes twice, and is known by the second time
    return torch.cat([part, samples[:, : CONTEXT + 1 - CONTEXT // 4]], dim=1)


def save(told: TrainedAttempt, trained: TrainedModel, step: int) -> None:
    """Write what a resume needs; each rank its own part, and its own random numbers."""
    held = {"model": trained.model.state_dict(), "step": step, "random": torch.get_rng_state(),
            "optimizers": [one.state_dict() for one in trained.optimizers]}  # fmt: skip
    torch.save(held, told.folder / f"checkpoint-{told.rank}.pt")


def resume(told: TrainedAttempt, trained: TrainedModel) -> tuple[int, torch.Tensor | None]:
    """Load a checkpoint, less what the fault loses.

    Return the step to go on from, and the state of random numbers: None where it is left as a new
    process has it.
    """
    held = torch.load(told.folder / f"checkpoint-{told.rank}.pt", weights_only=False)
    trained.model.load_state_dict(held["model"])
    if told.fault != "optimizer_lost":
        for optimizer, state in zip(trained.optimizers, held["optimizers"], strict=True):
            optimizer.load_state_dict(state)
    random = held["random"]
    if told.fault == "wrong_random":
        if told.shape.variant == "another seed":
            random = torch.Generator().manual_seed(told.shape.seed + 7 + told.rank).get_state()
        elif told.shape.variant == "of rank 0":
            random = torch.load(told.folder / "checkpoint-0.pt", weights_only=False)["random"]
        else:
            random = None
    return int(held["step"]), random
