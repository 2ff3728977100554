"""The probe's cost to the thread that trains, with an agent listening and without one.

Three figures, each from processes of its own. `bookkeeping`: one `watch.step()` with one `record`,
back to back, and with 5 ms of other work in between (the caches are then somebody else's, which is
what a real step finds; one json.dumps of three keys stands beside it as a measure of the machine).
`job`: a small torch model, the probe attached and detached in turn in blocks of steps; the paired
differences say what a step costs more, in wall time and in CPU time of the training thread.
`ddp` is the same for a data-parallel job (probe_ddp.py). Without torch the last two are absent.
"""

import importlib.util
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rankscope.probe import attach

from . import probe_ddp

_PAUSE_SECONDS = 0.005
_WIDTH = 512
_ROWS = 32
_BLOCK_SECONDS = 0.7
"""Of timed steps; as many before them: attaching itself, the first pulse and check come once."""


def measure(seconds: float) -> dict[str, Any]:
    """Return both figures, with an agent listening and without; each takes about so long."""
    results: dict[str, Any] = {}
    for figure in ("bookkeeping", "job"):
        if figure == "job" and importlib.util.find_spec("torch") is None:
            results[figure] = {"absent": "torch is not installed"}
            continue
        results[figure] = {}
        with listening() as address:
            for agent, where in (("listening", address), ("absent", "unix:///nowhere/probe.sock")):
                command = [sys.executable, "-m", __name__, figure, str(seconds)]
                environ = {**os.environ, "RANKSCOPE_AGENT": where, "OMP_NUM_THREADS": "1"}
                done = subprocess.run(command, env=environ, stdout=subprocess.PIPE, check=True)
                results[figure][f"agent {agent}"] = json.loads(done.stdout)
    if importlib.util.find_spec("torch") is not None:
        with listening() as address:
            environ = {**os.environ, "RANKSCOPE_AGENT": address}
            results["ddp"] = {"agent listening": probe_ddp.measure(seconds, environ)}
    return results


@contextmanager
def listening() -> Generator[str]:
    """Read datagrams from a socket and throw them away, as cheap an agent as there can be."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "probe.sock"
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as agent:
            agent.bind(str(path))

            def read() -> None:
                while agent.recv(65536):
                    pass

            thread = threading.Thread(target=read, daemon=True)
            thread.start()
            yield f"unix://{path}"
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as end:
                end.sendto(b"", str(path))
            thread.join()


def bookkeeping(seconds: float) -> dict[str, Any]:
    """Return microseconds a step of the calls alone; medians over steps."""
    watch = attach(job="bench", rank=0)

    def step() -> None:
        with watch.step():
            watch.record(loss=1.0, learning_rate=0.1)

    three = {"loss": 1.5, "rows": [1, 2, 3], "place": {"rank": "0"}}
    found = {
        "back to back": spread(step, 0.0, seconds / 4),
        "after 5 ms of other work": spread(step, _PAUSE_SECONDS, seconds / 4),
        "json.dumps, back to back": spread(lambda: json.dumps(three), 0.0, seconds / 4),
        "json.dumps, after 5 ms": spread(lambda: json.dumps(three), _PAUSE_SECONDS, seconds / 4),
    }
    watch.detach()
    return found


def spread(call: Callable[[], object], pause: float, seconds: float) -> dict[str, float]:
    """Return median and 99th percentile of the call's wall time in microseconds."""
    wall: list[float] = []
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        began = time.perf_counter()
        call()
        wall.append((time.perf_counter() - began) * 1e6)
        busy = time.perf_counter() + pause
        while time.perf_counter() < busy:
            pass
    return {
        "us_median": round(statistics.median(wall), 2),
        "us_p99": round(statistics.quantiles(wall, n=100)[98], 2),
        "calls": len(wall),
    }


def job(seconds: float) -> dict[str, Any]:
    """Return what a step of a small torch model costs with and without the probe."""
    step = _model()
    timed(step, _BLOCK_SECONDS)
    off: list[tuple[float, float]] = []
    on: list[tuple[float, float]] = []
    for pair in range(max(4, int(seconds / _BLOCK_SECONDS / 4))):
        for attached in (False, True) if pair % 2 else (True, False):
            watch = attach(job="bench", rank=0, world_size=1) if attached else None
            timed(step, _BLOCK_SECONDS)
            (on if attached else off).append(timed(step, _BLOCK_SECONDS))
            if watch is not None:
                watch.detach()
    found: dict[str, Any] = {"pairs": len(on)}
    for name, which in (("wall", 0), ("cpu of the training thread", 1)):
        without = statistics.median(each[which] for each in off)
        more = statistics.median(b[which] - a[which] for a, b in zip(off, on, strict=True))
        found[name] = {
            "off_us": round(without * 1e6, 1),
            "paired_difference_us": round(more * 1e6, 1),
            "paired_difference_percent": round(more / without * 100, 2),
        }
    return found


def timed(step: Callable[[], None], seconds: float) -> tuple[float, float]:
    """Run steps for so long; return wall and CPU seconds a step of this thread."""
    began, cpu, steps = time.perf_counter(), time.thread_time(), 0
    while time.perf_counter() - began < seconds:
        step()
        steps += 1
    return (time.perf_counter() - began) / steps, (time.thread_time() - cpu) / steps


def _model() -> Callable[[], None]:
    torch: Any = importlib.import_module("torch")
    torch.set_num_threads(1)
    torch.manual_seed(0)
    nn = torch.nn
    layers = [nn.Sequential(nn.Linear(_WIDTH, _WIDTH), nn.ReLU()) for _ in range(6)]
    model = nn.Sequential(*layers, nn.Linear(_WIDTH, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
    rows = torch.randn(_ROWS, _WIDTH)

    def step() -> None:
        optimizer.zero_grad()
        (model(rows) ** 2).mean().backward()
        optimizer.step()

    return step


if __name__ == "__main__":
    figures = {"bookkeeping": bookkeeping, "job": job}
    print(json.dumps(figures[sys.argv[1]](float(sys.argv[2]))))
