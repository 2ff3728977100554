"""`python -m bench.spikes.overhead`: what fingerprints cost a training thread, on and off in turns.

One process trains a GPT with the probe attached all the while; fingerprints alone are switched on
and off in blocks of steps. The figures are CPU seconds of the training thread, since a machine
with neighbours says little by the clock; the sender's thread is counted by what the process took
besides. With `--bare` the steps compute next to nothing, so that what is added to them can be told
from noise: batches of `--length` tokens, one update of one number.
"""

import argparse
import json
import statistics
import sys
import time
from typing import Any

import torch
from torch.utils.data import DataLoader, Dataset

from rankscope.probe import attaching

from ..budgets import probe as budgets
from .gpt import CONTEXT, TinyGpt, corpus

BLOCK = 16
"""Steps of a block."""
BARE_SECONDS = 0.02
"""What a bare step waits: the sender's thread has to keep up with it as with a real one."""


def main() -> int:
    """Print one JSON document."""
    parser = argparse.ArgumentParser(prog="python -m bench.spikes.overhead", description=__doc__)
    parser.add_argument("--pairs", type=int, default=40)
    parser.add_argument("--batch", type=int, default=32, help=f"samples of {CONTEXT} tokens")
    parser.add_argument("--width", type=int, default=128)
    parser.add_argument("--bare", action="store_true", help="nothing but loader and probe")
    parser.add_argument("--length", type=int, default=1024, help="tokens of a bare sample")
    given = parser.parse_args()
    torch.set_num_threads(1)
    if given.bare:
        text: Any = BareSamples(given.batch * BLOCK, given.length)
        model: Any = BareModel()
    else:
        text, model = corpus(given.batch * BLOCK, 1), TinyGpt(width=given.width, depth=4)
    row = measure(given.pairs, DataLoader(text, batch_size=given.batch), model)
    print(json.dumps({"pairs": given.pairs, "batch": given.batch, **row}, indent=1))
    return 0


class BareSamples(Dataset[dict[str, torch.Tensor]]):
    """Samples of `length` tokens with labels, as loaders of language models have them."""

    def __init__(self, count: int, length: int) -> None:
        self.tokens = torch.randint(0, 50_000, (count, length))

    def __len__(self) -> int:
        return len(self.tokens)

    def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
        return {"input_ids": self.tokens[index], "labels": self.tokens[index]}


class BareModel(torch.nn.Module):
    """One number, and a loss of it that no sample enters."""

    def __init__(self) -> None:
        super().__init__()
        self.number = torch.nn.Parameter(torch.ones(1))

    def forward(self, _: object) -> Any:
        time.sleep(BARE_SECONDS)
        return self.number.sum()


def measure(pairs: int, loader: Any, model: Any) -> dict[str, Any]:
    """Return seconds a step without fingerprints, and paired differences of blocks with them."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
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
    row: dict[str, Any] = {"step_ms": 1e3 * without}
    for name, which in (("training_thread", 0), ("rest_of_the_process", 1)):
        more = [on[which] - off[which] for on, off in zip(found[True], found[False], strict=True)]
        row[name] = {
            "us_a_step": 1e6 * statistics.median(more),
            "standard_error_us": 1e6 * statistics.stdev(more) / len(more) ** 0.5,
            "percent": 100 * statistics.median(more) / without,
        }
    return row


def block(model: Any, optimizer: Any, loader: Any) -> tuple[float, float]:
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
