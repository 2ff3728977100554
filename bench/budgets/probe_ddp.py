"""The probe's cost on a real data-parallel job: DDP over gloo, local gradient checks included.

Two figures from two ranks that train. `on against off`: the probe is attached and detached in turn
in blocks of steps, on both ranks at once, and the CPU time of the training thread is compared in
pairs of neighbouring blocks. What the probe costs a step does not grow with the step, but the
chance in a step's CPU time does, so the difference is taken on a small model, whose steps last
some milliseconds, until its standard error is `_ERROR_SECONDS` or the time is up;
`step_from_which_it_is_kept_ms` is the shortest step of which that, with two standard errors, is
what is promised. The check of the norm, once in seconds, falls outside of blocks so short and
costs what `NORM_SHARE` says. `callbacks`: what a step of a larger model spends in the probe's
callbacks, by a clock around each (`probe_entries`): caches are cold there, as in real jobs.
`sender` is what the probe's own thread uses; it holds the interpreter's lock for most of it.
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

from rankscope.lab.demo.stage import free_port
from rankscope.probe import attach
from rankscope.probe.sender import THREAD

from . import probe_entries

WORLD = 2
_LAYERS = 6
_SIZES = {"tiny steps": (128, 8), "short steps": (512, 256), "usual steps": (512, 1024)}
"""Width of a layer and rows of a batch: steps of some 4, 30 to 60 and 80 to 160 ms."""
_BLOCK_STEPS = 20
_FEWEST_PAIRS = 6
_PROMISED = 0.002
"""Of a step."""
_ERROR_SECONDS = 15e-6


def measure(seconds: float, environ: dict[str, str]) -> dict[str, Any]:
    """Return the figures of rank 0; that of the tiny steps takes up to ten times so long."""
    return {name: _measured(name, seconds, environ) for name in _SIZES}


def _measured(size: str, seconds: float, environ: dict[str, str]) -> dict[str, Any]:
    port = str(free_port())
    ranks = []
    for rank in range(WORLD):
        more = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": WORLD, "MASTER_PORT": port}
        ranks.append(
            subprocess.Popen(
                [sys.executable, "-m", __name__, size, str(seconds)],
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


def ddp(size: str, seconds: float) -> dict[str, Any]:
    """Train in this rank; return what a step costs with the probe."""
    torch: Any = importlib.import_module("torch")
    step, agree = _job(torch, *_SIZES[size])
    timed(step, _BLOCK_STEPS)
    wall = agree(timed(step, _BLOCK_STEPS)[0])
    found = {"step wall_us": round(wall * 1e6, 1)}
    if size == "tiny steps":
        return found | {"on against off": _on_against_off(step, agree, 10 * seconds)}
    return found | _callbacks(torch, step, max(20, int(agree(seconds / wall))))


def _on_against_off(
    step: Callable[[], None], agree: Callable[[float], float], seconds: float
) -> dict[str, Any]:
    """Return the CPU time that a step costs more with the probe, and how sure that is."""
    differences: list[float] = []
    until = time.monotonic() + seconds
    while len(differences) < _FEWEST_PAIRS or agree(
        float(_error(differences) > _ERROR_SECONDS and time.monotonic() < until)
    ):
        differences.append(_pair(step, first=len(differences) % 2 == 0))
    more, error = statistics.mean(differences), _error(differences)
    return {
        "pairs": len(differences),
        "us": round(more * 1e6, 1),
        "standard_error_us": round(error * 1e6, 1),
        "step_from_which_it_is_kept_ms": round((more + 2 * error) / _PROMISED * 1e3, 1),
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


def _job(torch: Any, width: int, batch: int) -> tuple[Callable[[], None], Callable[[float], float]]:
    """Return a step of a DDP job, and how both ranks come to one number."""
    distributed: Any = importlib.import_module("torch.distributed")
    torch.set_num_threads(1)
    torch.manual_seed(0)
    distributed.init_process_group("gloo")
    nn = torch.nn
    layers = [nn.Sequential(nn.Linear(width, width), nn.ReLU()) for _ in range(_LAYERS)]
    model = nn.parallel.DistributedDataParallel(nn.Sequential(*layers, nn.Linear(width, 1)))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
    rows = torch.randn(batch, width)

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
    found = ddp(sys.argv[1], float(sys.argv[2]))
    if os.environ["RANK"] == "0":
        print(json.dumps(found))
