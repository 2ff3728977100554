"""Trains the tiny GPT, data-parallel over gloo on the CPU, with at most one fault of `spoiling`.

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
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Subset

from rankscope import probe

from . import spoiling
from .gpt import BATCH, CONTEXT, TinyGpt, corpus
from .shapes import SpikeShape

RATE, WARM_UP = 3e-3, 20
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
    """Train to the end."""
    shape, fault, rank = told.shape, told.fault, told.rank
    ranks, suspect = shape.ranks, rank == shape.suspect
    os.environ.update(told.environ)
    watch: Any = probe.attach()
    torch.set_num_threads(1)
    dist.init_process_group(
        "gloo", init_method=f"file://{told.folder}/meeting-{int(told.again)}",
        rank=rank, world_size=ranks,
    )  # fmt: skip
    torch.manual_seed(shape.seed)
    model = TinyGpt()
    text = corpus(shape.steps * BATCH * ranks, shape.seed)
    if fault in spoiling.DATA:
        spoiling.spoil(text, shape)
    first, random = 0, None
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE)
    if told.again:
        first, random = resume(told, model, optimizer)
    torch.manual_seed(shape.seed * 1000 + rank)
    replica = DistributedDataParallel(model)
    order = order_of(shape, rank, 0 if fault == "data_from_start" else first)
    loader = DataLoader(Subset(text, order), batch_size=BATCH)
    watch.dataset(text, locate=lambda place: text.locate(order[place]))
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
    half = Precision(2.0**shape.lasts) if fault == "fp16_overflow" else None
    for step, samples in enumerate(batches, first):
        if step >= (shape.stops if shape.resumes and not told.again else shape.steps):
            break
        time.sleep(PAUSE_SECONDS)
        now[0] = step
        for group in optimizer.param_groups:
            group["lr"] = rate_of(shape, fault, step)
        with watch.step(index=step):
            optimizer.zero_grad()
            with half.forward() if half else contextlib.nullcontext():
                loss = replica(eased(samples, shape, fault, step))
            (half.scaler.scale(loss) if half else loss).backward()
            if step >= shape.at - EARLIER:
                for parameter, gradient in unsynced.items():
                    parameter.grad = gradient[0]
            if half:
                half.scaler.unscale_(optimizer)
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1e9)
            if half:
                half.scaler.step(optimizer)
                half.scaler.update()
            else:
                optimizer.step()
        with torch.no_grad():
            if step == shape.at and suspect and fault == "weight_flip":
                weight, place = spoiling.chosen(list(model.parameters()), shape)
                spoiling.flip(weight.data, place, shape.lasts)
            if step == shape.at and suspect and fault == "optimizer_flip":
                spoiling.flip_of_state(optimizer, shape)
            if step >= shape.at - EARLIER:
                for parameter in drifting:
                    parameter.mul_(1.0 - shape.factor)
            if half and step >= shape.at:  # a norm behind it hides the growth until it overflows
                for parameter in model.blocks[-1].forward_layer[-1].parameters():
                    parameter.mul_(shape.factor)
        if shape.resumes and not told.again and step + 1 == shape.at:
            save(told, model, optimizer, step + 1)
    watch.detach()
    dist.destroy_process_group()


class Precision:
    """Half precision as torch has it: autocast, and a loss scale that falls at an overflow."""

    def __init__(self, scale: float) -> None:
        self.scaler = torch.amp.GradScaler("cpu", init_scale=scale)

    def forward(self) -> Any:
        """Return what a forward pass runs in."""
        return torch.autocast("cpu", dtype=torch.float16)


def order_of(shape: SpikeShape, rank: int, first: int) -> list[int]:
    """Return the samples of a rank, from a step on."""
    return [
        sample
        for step in range(first, shape.steps)
        for sample in range(
            (step * shape.ranks + rank) * BATCH, (step * shape.ranks + rank + 1) * BATCH
        )
    ]


def rate_of(shape: SpikeShape, fault: str, step: int) -> float:
    """Return the learning rate of a step: a warm-up, a cosine, and what a fault makes of them."""
    if fault == "warm_up_lost":
        return shape.factor * RATE
    if fault == "warm_restart" and step >= RESTART_AT:
        step += WARM_UP * (shape.variant == "at once") - RESTART_AT
    jumped = fault == "rate_jump" and shape.at <= step < shape.at + shape.lasts
    times = shape.factor if jumped else 1.0
    if step < WARM_UP:
        return times * RATE * (step + 1) / WARM_UP
    return times * RATE * (0.1 + 0.45 * (1 + math.cos(math.pi * step / shape.steps)))


def eased(samples: torch.Tensor, shape: SpikeShape, fault: str, step: int) -> torch.Tensor:
    """Return the samples of a step; of a curriculum shorter or simpler ones at first."""
    if fault != "curriculum" or step >= SHORT_UNTIL:
        return samples
    if shape.variant == "length":
        return samples[:, : CONTEXT // 2 + 1]
    part = samples[:, : CONTEXT // 4]  # comes twice, and is known by the second time
    return torch.cat([part, samples[:, : CONTEXT + 1 - CONTEXT // 4]], dim=1)


def save(told: TrainedAttempt, model: TinyGpt, optimizer: Any, step: int) -> None:
    """Write what a resume needs; each rank its own random numbers."""
    held = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": step,
            "random": torch.get_rng_state()}  # fmt: skip
    torch.save(held, told.folder / f"checkpoint-{told.rank}.pt")


def resume(told: TrainedAttempt, model: TinyGpt, optimizer: Any) -> tuple[int, torch.Tensor | None]:
    """Load a checkpoint, less what the fault loses.

    Return the step to go on from, and the state of random numbers: None where it is left as a new
    process has it.
    """
    held = torch.load(told.folder / f"checkpoint-{told.rank}.pt")
    model.load_state_dict(held["model"])
    if told.fault != "optimizer_lost":
        optimizer.load_state_dict(held["optimizer"])
    random = held["random"]
    if told.fault == "wrong_random":
        if told.shape.variant == "another seed":
            random = torch.Generator().manual_seed(told.shape.seed + 7 + told.rank).get_state()
        elif told.shape.variant == "of rank 0":
            random = torch.load(told.folder / "checkpoint-0.pt")["random"]
        else:
            random = None
    return int(held["step"]), random
