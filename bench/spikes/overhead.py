"""`python -m bench.spikes.overhead`: what fingerprints cost a training thread, on and off in turns.

One process trains a GPT with the probe attached all the while; fingerprints alone are switched on
and off in blocks of steps. The figures are CPU seconds of the training thread, since a machine
with neighbours says little by the clock; the sender's thread is counted by what the process took
besides.
"""

import argparse
import json
import statistics
import sys
import time
from typing import Any

import torch
from torch.utils.data import DataLoader

from rankscope.probe import attaching

from ..budgets import probe as budgets
from .gpt import CONTEXT, TinyGpt, corpus

BLOCK = 16
"""Steps of a block."""


def main() -> int:
    """Print one JSON document."""
    parser = argparse.ArgumentParser(prog="python -m bench.spikes.overhead", description=__doc__)
    parser.add_argument("--pairs", type=int, default=40)
    parser.add_argument("--batch", type=int, default=32, help=f"samples of {CONTEXT} tokens")
    parser.add_argument("--width", type=int, default=128)
    given = parser.parse_args()
    torch.set_num_threads(1)
    print(json.dumps(measure(given.pairs, given.batch, given.width), indent=1))
    return 0


def measure(pairs: int, batch: int, width: int) -> dict[str, Any]:
    """Return seconds a step without fingerprints, and paired differences of blocks with them."""
    model = TinyGpt(width=width, depth=4)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    loader = DataLoader(corpus(batch * BLOCK, 1), batch_size=batch)
    found: dict[bool, list[tuple[float, float]]] = {True: [], False: []}
    with budgets.listening() as address:
        watch = attaching.attach(job="bench", rank=0, environ={"RANKSCOPE_AGENT": address})
        held: Any = vars(attaching)["_attached"]  # the switch is no part of what users see
        ring = held[2]._timeline.batches  # noqa: SLF001
        for pair in range(pairs + 2):
            for on in (pair % 2 == 0, pair % 2 == 1):
                ring.on = on
                cost = block(model, optimizer, loader)
                if pair >= 2:  # the first are warm-up
                    found[on].append(cost)
        watch.detach()
    without = statistics.median(own for own, _ in found[False])
    row: dict[str, Any] = {"pairs": pairs, "tokens": batch * CONTEXT, "step_ms": 1e3 * without}
    for name, which in (("training_thread", 0), ("rest_of_the_process", 1)):
        more = [on[which] - off[which] for on, off in zip(found[True], found[False], strict=True)]
        row[name] = {
            "us_a_step": 1e6 * statistics.median(more),
            "standard_error_us": 1e6 * statistics.stdev(more) / len(more) ** 0.5,
            "percent": 100 * statistics.median(more) / without,
        }
    return row


def block(model: TinyGpt, optimizer: Any, loader: Any) -> tuple[float, float]:
    """Train a block; return CPU seconds a step of this thread, and of all the others."""
    own, whole = time.thread_time(), time.process_time()
    for samples in loader:
        optimizer.zero_grad()
        model(samples).backward()
        optimizer.step()
    time.sleep(0.15)  # the sender's next round belongs to this block
    own, whole = time.thread_time() - own, time.process_time() - whole
    return own / BLOCK, (whole - own) / BLOCK


if __name__ == "__main__":
    sys.exit(main())
