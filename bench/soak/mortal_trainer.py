"""A data-parallel trainer in torch that dies of its fault: gloo gives up, and so does the job.

Run it under torchrun: `torchrun ... -m bench.soak.mortal_trainer MECHANISM RANK FOLDER`.
Nothing of ours watches it. It logs as small training scripts do, and what is left of it is what any
job leaves: the output of its ranks, and in FOLDER a Flight Recorder dump of each rank that saw a
collective fail, as torch writes it.
"""

import contextlib
import os
import sys
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

from rankscope.lab import mechanisms
from rankscope.lab.mechanisms import JobChange

STEP, STEPS = 25, 2000
"""The fault comes in the first; the second is never reached."""
TIMEOUT_SECONDS = 6.0
WIDTH = 64


def train(mechanism: mechanisms.FaultMechanism, culprit: int) -> None:
    """Train until a collective fails; raises RuntimeError, as gloo does."""
    import torch  # noqa: PLC0415  only where the job is a torch job
    from torch import distributed, nn  # noqa: PLC0415

    torch.set_num_threads(1)
    distributed.init_process_group("gloo", timeout=timedelta(seconds=TIMEOUT_SECONDS))
    rank = distributed.get_rank()
    model: Any = nn.parallel.DistributedDataParallel(nn.Linear(WIDTH, WIDTH))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    change = JobChange()
    for step in range(1, STEPS):
        began = time.monotonic()
        if step == STEP and rank == culprit:
            change = (mechanism.change or JobChange)()
            if mechanism.signal:
                os.kill(os.getpid(), mechanism.signal)
        change.load([])
        change.step(rank, step)
        if change.ends():
            distributed.barrier()
        if change.other_collective():
            distributed.broadcast(torch.zeros(8), src=rank)
        if size := change.other_size():
            distributed.all_reduce(torch.zeros(size))
        alone = change.skips_collective()
        with model.no_sync() if alone else contextlib.nullcontext():
            loss = model(torch.randn(8, WIDTH)).square().mean()
            loss.backward()
        if alone and change.waits_alone():
            distributed.barrier()
        optimizer.step()
        time.sleep(0.03)
        if rank == 0:
            took = 1000 * (time.monotonic() - began)
            print(f"iter {step}: loss {loss.item():.4f}, time {took:.2f}ms", flush=True)


def main() -> int:
    """Train; leave the recorder's dump where a collective failed."""
    mechanism, culprit, folder = mechanisms.named(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3])
    try:
        train(mechanism, culprit)
    except RuntimeError:
        from torch._C import _distributed_c10d  # noqa: PLC0415

        dump = getattr(_distributed_c10d, "_dump_fr_trace")(  # noqa: B009  no stub has it
            includeStackTraces=False
        )
        (folder / f"comm_lib_trace_rank_{os.environ['RANK']}").write_bytes(dump)
        raise
    return 0


if __name__ == "__main__":
    sys.exit(main())
