"""Trains the tiny GPT under torchrun, data-parallel over gloo, with at most one fault.

`python -m torch.distributed.run --nproc-per-node 2 -m bench.spikes.trainer`, told by the
environment: SPIKES_FAULT (a name of FAULTS, empty for none), SPIKES_SEED, SPIKES_STEPS, SPIKES_AT
(the step of the fault), SPIKES_FROM (a checkpoint to go on from), SPIKES_SAVE_AT and SPIKES_SAVE
(where it is written). The fault is what really happens: samples are overwritten before they are
batched, bits of weights and gradients are flipped in memory, a parameter is left out of the
reduction, a part of the checkpoint is not loaded.
"""

import math
import os
import time
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Subset

from rankscope import probe

from .gpt import BATCH, CONTEXT, VOCABULARY, SampledCorpus, TinyGpt, corpus

RATE, WARM_UP = 3e-3, 20
PAUSE_SECONDS = 0.08
"""Added to each step: a spike is reported for 13 steps after its end, looked for each second."""
SUSPECT = 1
"""The rank that has the fault, where one has it."""

DATA = ("poisoned_shard", "corrupted_tokens", "duplicated_shard", "odd_batch")
RESTART_AT, SHORT_UNTIL = 110, 80
"""Harmless: a schedule that begins again there, samples of half the length until then."""


def main() -> None:
    """Train to the end."""
    fault = os.environ.get("SPIKES_FAULT", "")
    seed = int(os.environ.get("SPIKES_SEED", "1"))
    steps = int(os.environ.get("SPIKES_STEPS", "200"))
    stop = int(os.environ.get("SPIKES_STOP", steps))
    at = int(os.environ.get("SPIKES_AT", "150"))
    watch: Any = probe.attach()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank, ranks = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(seed)
    model = TinyGpt()
    text = corpus(steps * BATCH * ranks, seed)
    if fault in DATA and rank == SUSPECT:
        spoil(text, fault, first=(at * ranks + rank) * BATCH, stride=ranks * BATCH, seed=seed)
    first = 0
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE)
    if source := os.environ.get("SPIKES_FROM"):
        first = resume(Path(source), model, optimizer, fault)
    torch.manual_seed(seed * 1000 + rank + (0 if not first or fault == "wrong_random" else first))
    replica = DistributedDataParallel(model)
    data_from = 0 if fault == "data_from_start" else first
    order = [
        sample
        for step in range(data_from, steps)
        for sample in range((step * ranks + rank) * BATCH, (step * ranks + rank + 1) * BATCH)
    ]
    loader = DataLoader(Subset(text, order), batch_size=BATCH)
    watch.dataset(text, locate=lambda place: text.locate(order[place]))
    schedule_lost = fault == "warm_up_lost"
    flips(model, fault, rank, at)
    unsynced = local_gradients(model) if fault == "dropped_sync" else {}
    for step, samples in enumerate(loader, first):
        if step >= stop:
            break
        time.sleep(PAUSE_SECONDS)
        place = step - RESTART_AT if fault == "warm_restart" and step >= RESTART_AT else step
        scheduled = rate(place, steps) * (
            1000.0 if fault == "rate_jump" and at <= step < at + 3 else 1.0
        )
        if schedule_lost and first:
            scheduled = 60.0 * RATE
        for group in optimizer.param_groups:
            group["lr"] = scheduled
        _STEP[0] = step
        if fault == "curriculum" and step < SHORT_UNTIL:
            samples = samples[:, : CONTEXT // 2 + 1]
        with watch.step(index=step):
            optimizer.zero_grad()
            loss = replica(samples)
            loss.backward()
            if step >= at - 40:
                for parameter, gradient in unsynced.items():
                    parameter.grad = gradient[0]
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1e9)
            optimizer.step()
        if fault == "weight_flip" and rank == SUSPECT and step == at:
            flip(model.blocks[0].forward_layer[0].weight.data, 17)
        if fault == "replica_drift" and rank == SUSPECT and step >= at - 40:
            with torch.no_grad():
                for parameter in model.parameters():
                    parameter.mul_(0.998)
        if step + 1 == int(os.environ.get("SPIKES_SAVE_AT", "-1")) and rank == 0:
            save(Path(os.environ["SPIKES_SAVE"]), model, optimizer, step + 1)
    watch.detach()
    dist.destroy_process_group()


_STEP = [0]


def rate(step: int, steps: int) -> float:
    """Return the learning rate of a step: a warm-up, then a cosine."""
    if step < WARM_UP:
        return RATE * (step + 1) / WARM_UP
    return RATE * (0.1 + 0.45 * (1 + math.cos(math.pi * step / steps)))


def spoil(text: SampledCorpus, fault: str, *, first: int, stride: int, seed: int) -> None:
    """Overwrite samples of four steps of one rank, from sample `first` on."""
    draw = torch.Generator().manual_seed(seed + 99)
    for step in range(4):
        rows = slice(first + step * stride, first + step * stride + BATCH)
        if fault == "duplicated_shard":
            text.samples[rows] = text.samples[first - (40 - step) * stride :][:BATCH]
        elif fault == "odd_batch":  # harmless: one sample of eight in one step
            if not step:
                text.samples[rows.start] = torch.randint(
                    0, VOCABULARY, (CONTEXT + 1,), generator=draw
                )
        elif fault == "corrupted_tokens":
            text.samples[rows] = torch.randint(0, VOCABULARY, (BATCH, CONTEXT + 1), generator=draw)
        else:  # the same few rare tokens over and over
            text.samples[rows] = VOCABULARY - 1 - (torch.arange(CONTEXT + 1) % 2)


def flip(values: torch.Tensor, place: int) -> None:
    """Flip the highest bit of a float's exponent in memory: a small number becomes huge."""
    values.view(-1).view(torch.int32)[place] ^= 1 << 30


def flips(model: TinyGpt, fault: str, rank: int, at: int) -> None:
    """Hang a hook on a weight that flips a bit of its own gradient in one step, on one rank."""
    if fault != "gradient_flip" or rank != SUSPECT:
        return

    def hook(gradient: torch.Tensor) -> torch.Tensor | None:
        if _STEP[0] != at:
            return None
        changed = gradient.clone()
        flip(changed, 17)
        return changed

    model.blocks[0].forward_layer[0].weight.register_hook(hook)


def local_gradients(model: TinyGpt) -> dict[torch.nn.Parameter, list[torch.Tensor]]:
    """Keep the gradients of one layer as they are before the reduction; used in its place."""
    kept: dict[torch.nn.Parameter, list[torch.Tensor]] = {}
    for parameter in model.blocks[1].forward_layer.parameters():
        held = kept[parameter] = [torch.zeros_like(parameter)]

        def hook(gradient: torch.Tensor, held: list[torch.Tensor] = held) -> None:
            held[0] = gradient.clone()

        parameter.register_hook(hook)
    return kept


def save(path: Path, model: TinyGpt, optimizer: Any, step: int) -> None:
    """Write what a resume needs."""
    held = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": step}
    torch.save(held, path)


def resume(path: Path, model: TinyGpt, optimizer: Any, fault: str) -> int:
    """Load a checkpoint, less what the fault loses; return the step to go on from."""
    held = torch.load(path)
    model.load_state_dict(held["model"])
    if fault != "optimizer_lost":
        optimizer.load_state_dict(held["optimizer"])
    if fault == "weights_half_lost":
        for parameter in model.blocks[1].parameters():
            torch.nn.init.normal_(parameter, std=0.2)
    return int(held["step"])


if __name__ == "__main__":
    main()
