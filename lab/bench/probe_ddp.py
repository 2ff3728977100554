"""The probe's cost on a real data-parallel job: DDP over gloo, local gradient checks included.

Two ranks train in steps; the probe is attached and detached in turn in blocks of as many steps on
both. `cpu of the training thread` compares the blocks in pairs. Where other work shares the machine
its noise is larger than the promise; `callbacks` is then the figure to look at: the time of a step
that the interpreter's own profiler finds in the probe and in what it calls, its cost included,
which makes it an upper bound.
"""

import cProfile
import importlib
import json
import os
import pstats
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

from ...probe import attach
from ..demo.stage import free_port

WORLD = 2
_WIDTH, _ROWS, _LAYERS = 512, 256, 6
_BLOCK_STEPS = 40
_BUILTIN = "~"
"""What the profiler calls the file of a function that is not written in Python."""


def measure(seconds: float, environ: dict[str, str]) -> dict[str, Any]:
    """Return the figures of rank 0; the job takes about so long."""
    port = str(free_port())
    ranks = []
    for rank in range(WORLD):
        more = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": WORLD, "MASTER_PORT": port}
        ranks.append(
            subprocess.Popen(
                [sys.executable, "-m", __name__, str(seconds)],
                env={
                    **environ,
                    **{name: str(value) for name, value in more.items()},
                    "MASTER_ADDR": "127.0.0.1",
                    "GLOO_SOCKET_IFNAME": "lo",
                    "OMP_NUM_THREADS": "1",
                },
                stdout=subprocess.PIPE,
            )
        )
    answers = [rank.communicate()[0] for rank in ranks]
    if any(rank.returncode for rank in ranks):
        raise RuntimeError("a rank of the job failed")
    found: dict[str, Any] = json.loads(answers[0])
    return found


def ddp(seconds: float) -> dict[str, Any]:
    """Train in this rank; return what a step costs with and without the probe."""
    step, agree = _job()
    for _ in range(_BLOCK_STEPS):
        step()
    took = agree(timed(step, _BLOCK_STEPS)[0])
    pairs = max(3, int(seconds / (took * _BLOCK_STEPS * 4)))
    off: list[tuple[float, float]] = []
    on: list[tuple[float, float]] = []
    share: list[float] = []
    for pair in range(pairs):
        for attached in (False, True) if pair % 2 else (True, False):
            watch = attach(job="bench") if attached else None
            timed(step, _BLOCK_STEPS)  # attaching itself and the first check come once
            if watch is None:
                off.append(timed(step, _BLOCK_STEPS))
                continue
            on.append(timed(step, _BLOCK_STEPS))
            share.append(_callbacks(step) / _BLOCK_STEPS)
            watch.detach()
    wall, cpu = (statistics.median(each[which] for each in off) for which in (0, 1))
    more = statistics.median(b[1] - a[1] for a, b in zip(off, on, strict=True))
    callbacks = statistics.median(share)
    return {
        "pairs": pairs,
        "step wall_us": round(wall * 1e6, 1),
        "cpu of the training thread": {
            "off_us": round(cpu * 1e6, 1),
            "paired_difference_us": round(more * 1e6, 1),
            "paired_difference_percent_of_step": round(more / wall * 100, 3),
        },
        "callbacks": {
            "us": round(callbacks * 1e6, 1),
            "percent_of_step": round(callbacks / wall * 100, 3),
        },
    }


def timed(step: Callable[[], None], steps: int) -> tuple[float, float]:
    """Run so many steps; return wall and CPU seconds a step of this thread."""
    began, cpu = time.perf_counter(), time.thread_time()
    for _ in range(steps):
        step()
    return (time.perf_counter() - began) / steps, (time.thread_time() - cpu) / steps


def _callbacks(step: Callable[[], None]) -> float:
    """Return the CPU seconds that a block of steps spends in the probe, profiled."""
    profile = cProfile.Profile(time.thread_time)
    profile.enable()
    for _ in range(_BLOCK_STEPS):
        step()
    profile.disable()
    return in_probe(pstats.Stats(profile))


def in_probe(stats: pstats.Stats) -> float:
    """Return the seconds of the probe's functions, with the builtin ones that they call.

    Not with the functions in Python that they call: a hook around one of the job's calls that.
    """
    rows: dict[Any, Any] = stats.stats  # type: ignore[attr-defined]
    total = 0.0
    for (file, _, _), (_, _, own, _, callers) in rows.items():
        if _ours(file):
            total += own
        elif file == _BUILTIN:
            total += sum(row[2] for caller, row in callers.items() if _ours(caller[0]))
    return total


def _ours(file: str) -> bool:
    return f"{os.sep}probe{os.sep}" in file


def _job() -> tuple[Callable[[], None], Callable[[float], float]]:
    """Return a step of a DDP job, and how both ranks come to one number."""
    torch: Any = importlib.import_module("torch")
    distributed: Any = importlib.import_module("torch.distributed")
    torch.set_num_threads(1)
    torch.manual_seed(0)
    distributed.init_process_group("gloo")
    nn = torch.nn
    layers = [nn.Sequential(nn.Linear(_WIDTH, _WIDTH), nn.ReLU()) for _ in range(_LAYERS)]
    model = nn.parallel.DistributedDataParallel(nn.Sequential(*layers, nn.Linear(_WIDTH, 1)))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
    rows = torch.randn(_ROWS, _WIDTH)

    def step() -> None:
        optimizer.zero_grad()
        (model(rows) ** 2).mean().backward()
        optimizer.step()

    def agree(value: float) -> float:
        tensor = torch.tensor([value])
        distributed.all_reduce(tensor)
        return float(tensor[0]) / WORLD

    return step, agree


if __name__ == "__main__":
    found = ddp(float(sys.argv[1]))
    if os.environ["RANK"] == "0":
        print(json.dumps(found))
