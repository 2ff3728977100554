"""A data-parallel trainer in torch that goes on from its checkpoint: what a controller restarts.

Run it under torchrun. Two variables: RANKSCOPE_LAB_STATE names the checkpoint's file,
RANKSCOPE_LAB_STATE_STEPS how often it is written (default: every 20 steps). Rank 0 writes, all
ranks read at their start. After each step rank 0 writes the step and the time beside the
checkpoint (`.progress`), for whoever measures how long a recovery takes.
"""

import json
import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...probe import attach
from . import pace
from .orders import RankOrders
from .torch_trainer import BATCH, WIDTH

STATE, EVERY = "RANKSCOPE_LAB_STATE", "RANKSCOPE_LAB_STATE_STEPS"


def train(environ: Mapping[str, str]) -> None:
    """Train from the newest checkpoint until something ends the process."""
    import torch  # noqa: PLC0415  only where the job is a torch job
    from torch import distributed, nn  # noqa: PLC0415

    torch.set_num_threads(1)
    distributed.init_process_group("gloo")
    rank, state, every = distributed.get_rank(), Path(environ[STATE]), int(environ.get(EVERY, "20"))
    orders, sleep = RankOrders(rank, environ), pace.device_seconds(environ)
    torch.manual_seed(1)
    network = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.Tanh(), nn.Linear(WIDTH, 1))
    optimizer = torch.optim.SGD(network.parameters(), lr=0.05)
    first = 0
    if state.is_file():
        held = torch.load(state, weights_only=True)
        network.load_state_dict(held["network"])
        optimizer.load_state_dict(held["optimizer"])
        first = int(held["step"]) + 1
    model: Any = nn.parallel.DistributedDataParallel(network)
    source = torch.Generator().manual_seed(100 + rank + 1000 * first)
    watch = attach(model=model, optimizer=optimizer)
    for step in range(first, pace.steps(environ)):
        with watch.step(step):
            inputs = torch.randn(BATCH, WIDTH, generator=source)
            orders.step(step)
            optimizer.zero_grad()
            loss = (model(inputs) - inputs.mean(dim=1, keepdim=True)).square().mean()
            time.sleep(sleep)
            loss.backward()
            optimizer.step()
            watch.record(loss=loss, scope="local", tokens=BATCH)
            if rank == 0 and step and step % every == 0:
                with watch.checkpoint():
                    made = {
                        "step": step,
                        "network": network.state_dict(),
                        "optimizer": optimizer.state_dict(),
                    }
                    draft = state.with_suffix(".draft")
                    torch.save(made, draft)
                    draft.replace(state)  # whole or not at all
        if rank == 0:
            write_progress(state, step=step, first=first)


def write_progress(state: Path, *, step: int, first: int) -> None:
    """Write how far training is: seen whole or not at all."""
    draft = state.with_suffix(".progress-draft")
    draft.write_text(json.dumps({"step": step, "first": first, "at": time.time()}))
    draft.replace(state.with_suffix(".progress"))


def progress(state: Path) -> dict[str, Any] | None:
    """Return the last step, the first one of this attempt, and when; None before any."""
    try:
        found: dict[str, Any] = json.loads(state.with_suffix(".progress").read_text())
    except (FileNotFoundError, ValueError):
        return None
    return found


if __name__ == "__main__":
    train(os.environ)
    sys.exit(0)
