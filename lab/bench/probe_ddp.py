"""The probe's cost on a real data-parallel job: DDP over gloo, local gradient checks included.

Two ranks train, in steps of two lengths. `on against off`: the probe is attached and detached in
turn in blocks of steps, on both ranks at once, and the CPU time of the training thread is compared
in pairs of neighbouring blocks, until the standard error of the mean difference is a fifth of what
is promised, or the time is up. The check of the norm, once in seconds, falls outside of blocks so
short and costs what `NORM_SHARE` says. `callbacks` has it: what a step spends in the probe's
callbacks, by a clock around each (`probe_entries`), which needs fewer steps. `sender` is what the
probe's own thread uses; it holds the interpreter's lock for most of it.
"""

import importlib
import json
import math
import os
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

from ...probe import attach
from ...probe.sender import THREAD
from ..demo.stage import free_port
from . import probe_entries

WORLD = 2
_WIDTH, _LAYERS = 512, 6
_ROWS = {"short steps": 256, "usual steps": 1024}
"""Rows of a batch: steps of some 30 and 100 ms."""
_BLOCK_STEPS = 10
_FEWEST_PAIRS = 6
_PROMISED = 0.002
"""Of a step."""
_ERROR = _PROMISED / 5


def measure(seconds: float, environ: dict[str, str]) -> dict[str, Any]:
    """Return the figures of rank 0 for both lengths of step; each takes up to six times so long."""
    return {name: _measured(rows, seconds, environ) for name, rows in _ROWS.items()}


def _measured(rows: int, seconds: float, environ: dict[str, str]) -> dict[str, Any]:
    port = str(free_port())
    ranks = []
    for rank in range(WORLD):
        more = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": WORLD, "MASTER_PORT": port}
        ranks.append(
            subprocess.Popen(
                [sys.executable, "-m", __name__, str(rows), str(seconds)],
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


def ddp(rows: int, seconds: float) -> dict[str, Any]:
    """Train in this rank; return what a step costs with and without the probe."""
    torch: Any = importlib.import_module("torch")
    step, agree = _job(torch, rows)
    for _ in range(_BLOCK_STEPS):
        step()
    wall = agree(timed(step, _BLOCK_STEPS)[0])
    differences: list[float] = []
    until = time.monotonic() + 5 * seconds
    while len(differences) < _FEWEST_PAIRS or agree(
        float(_error(differences) > _ERROR * wall and time.monotonic() < until)
    ):
        differences.append(_pair(step, first=len(differences) % 2 == 0))
    more, error = statistics.mean(differences), _error(differences)
    return {
        "step wall_us": round(wall * 1e6, 1),
        "on against off": {
            "pairs": len(differences),
            "us": round(more * 1e6, 1),
            "percent_of_step": _percent(more, wall),
            "standard_error_percent": _percent(error, wall),
        },
        **_callbacks(torch, step, max(20, int(agree(seconds / wall)))),
    }


def _pair(step: Callable[[], None], *, first: bool) -> float:
    """Return the CPU seconds that a step costs more in a block with the probe."""
    found = {}
    for attached in (first, not first):
        watch = attach(job="bench") if attached else None
        timed(step, _BLOCK_STEPS)  # attaching itself and the first check come once
        found[attached] = timed(step, _BLOCK_STEPS)[1]
        if watch is not None:
            watch.detach()
    return found[True] - found[False]


def _callbacks(torch: Any, step: Callable[[], None], steps: int) -> dict[str, Any]:
    """Return what a step spends in the probe's callbacks, and what the probe's thread uses."""
    with probe_entries.counted(torch) as entries:
        watch = attach(job="bench")
        timed(step, _BLOCK_STEPS)
        entries.clear()
        sent = _sender_seconds()
        wall, _cpu = timed(step, steps)
        sent = _sender_seconds() - sent
        watch.detach()
    spent = sum(entries.seconds.values()) / steps
    clock = entries.clock_seconds() * sum(entries.calls.values()) / steps
    return {
        "callbacks": {
            "steps": steps,
            "us": round(spent * 1e6, 1),
            "of which the clock's": round(clock * 1e6, 1),
            "percent_of_step": _percent(spent - clock, wall),
            "us by callback": {
                name: round(seconds / steps * 1e6, 1)
                for name, seconds in sorted(entries.seconds.items(), key=lambda item: -item[1])
            },
        },
        "sender": {"percent_of_a_core": _percent(sent, wall * steps)},
    }


def _sender_seconds() -> float:
    """Return the CPU seconds of the probe's own thread."""
    found = next(each for each in threading.enumerate() if each.name == THREAD)
    return time.clock_gettime(time.pthread_getcpuclockid(found.ident or 0))


def _error(values: list[float]) -> float:
    """Return the standard error of their mean."""
    return statistics.stdev(values) / math.sqrt(len(values))


def _percent(part: float, whole: float) -> float:
    return round(part / whole * 100, 3)


def timed(step: Callable[[], None], steps: int) -> tuple[float, float]:
    """Run so many steps; return wall and CPU seconds a step of this thread."""
    began, cpu = time.perf_counter(), time.thread_time()
    for _ in range(steps):
        step()
    return (time.perf_counter() - began) / steps, (time.thread_time() - cpu) / steps


def _job(torch: Any, batch: int) -> tuple[Callable[[], None], Callable[[float], float]]:
    """Return a step of a DDP job, and how both ranks come to one number."""
    distributed: Any = importlib.import_module("torch.distributed")
    torch.set_num_threads(1)
    torch.manual_seed(0)
    distributed.init_process_group("gloo")
    nn = torch.nn
    layers = [nn.Sequential(nn.Linear(_WIDTH, _WIDTH), nn.ReLU()) for _ in range(_LAYERS)]
    model = nn.parallel.DistributedDataParallel(nn.Sequential(*layers, nn.Linear(_WIDTH, 1)))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
    rows = torch.randn(batch, _WIDTH)

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
    found = ddp(int(sys.argv[1]), float(sys.argv[2]))
    if os.environ["RANK"] == "0":
        print(json.dumps(found))
