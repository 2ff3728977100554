"""What runs on the device: `python -m bench.device.job KIND`, each as people write their jobs.

`steady` trains, with the probe; `leak` trains and keeps a tensor more with every step; `foreign`
belongs to no job, holds 8 GiB and computes without a pause; `oom` asks for more memory than there
is; `measured` compares steps with and without the probe and dumps the Flight Recorder. Without CUDA
they run on the CPU, for a rehearsal: steps sleep as long as a device would compute.
"""

import argparse
import importlib
import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import torch
from torch import distributed, nn

from rankscope.lab.node.nvml import gpu_uuid
from rankscope.probe import attach, attaching
from rankscope.probe.placement import ProcessPlacement
from rankscope.probe.silent import SilentWatch

from . import FOREIGN_BYTES, LEAK_SHARE

_STEP_SECONDS, _LEAK_STEP_SECONDS, _MEASURED_STEP_SECONDS = 0.15, 0.25, 0.03
_PROFILED_STEPS, _BLOCK_SECONDS, _PAIRS = 20, 1.5, 4
_SYNCHRONISING = ("cudaDeviceSynchronize", "cudaStreamSynchronize", "cudaEventSynchronize")
_CUDA = torch.cuda.is_available()
_DEVICE = torch.device("cuda", 0) if _CUDA else torch.device("cpu")


class DeviceWork:
    """A model that computes on the device for about so many seconds a step."""

    def __init__(self, seconds: float, width: int = 4096 if _CUDA else 64) -> None:
        self.model = nn.Sequential(nn.Linear(width, width), nn.Tanh(), nn.Linear(width, width))
        self.model.to(_DEVICE)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=1e-3)
        self.inputs = torch.randn(width, width, device=_DEVICE)
        self._sleep, self._passes = 0.0 if _CUDA else seconds, 1
        if _CUDA:
            self.step()
            began = time.perf_counter()
            for _ in range(4):
                float(self.step())
            self._passes = max(1, round(seconds * 4 / (time.perf_counter() - began)))

    def step(self, *, shared: bool = False) -> Any:
        """Run one step; return its loss, on the device. shared: a sleep takes twice as long."""
        loss: Any = 0.0
        for _ in range(self._passes):
            loss = self.model(self.inputs).square().mean()
            loss.backward()
        time.sleep(self._sleep * (1 + shared))
        self.optimizer.step()
        self.optimizer.zero_grad()
        return loss.detach()


def steady(arguments: argparse.Namespace) -> None:
    """Train until ended; the device is shared while the file --shared exists (rehearsal only)."""
    work = DeviceWork(_STEP_SECONDS)
    watch = _attached(work)
    for index in range(sys.maxsize):
        with watch.step(index):
            loss = work.step(shared=not _CUDA and arguments.shared.exists())
            watch.record(loss=loss, tokens=4096)
            float(loss)


def leak(_arguments: argparse.Namespace) -> None:
    """Train until ended, and keep what nobody needs."""
    work = DeviceWork(0.002, width=512 if _CUDA else 64)
    watch = _attached(work)
    total = torch.cuda.get_device_properties(0).total_memory if _CUDA else 0
    size = int(LEAK_SHARE * total / 60 * _LEAK_STEP_SECONDS)
    kept: list[Any] = []
    for index in range(sys.maxsize):
        with watch.step(index):
            loss = work.step()
            if size:
                kept.append(torch.empty(size, dtype=torch.uint8, device=_DEVICE))
            watch.record(loss=loss, tokens=512)
            float(loss)
            time.sleep(_LEAK_STEP_SECONDS)


def foreign(_arguments: argparse.Namespace) -> None:
    """Hold memory and compute until ended."""
    work = DeviceWork(_STEP_SECONDS)
    held = torch.empty(FOREIGN_BYTES if _CUDA else 1, dtype=torch.uint8, device=_DEVICE)
    while held.numel():
        float(work.step())


def oom(_arguments: argparse.Namespace) -> None:
    """Train a few steps and then ask for as much as the whole device has: others lose nothing."""
    work = DeviceWork(0.05)
    for index in range(5):
        print(f"step {index} loss {float(work.step()):.4f}", flush=True)
    total = torch.cuda.get_device_properties(_DEVICE).total_memory
    activations = torch.empty(total, dtype=torch.uint8, device=_DEVICE)
    print(activations.numel())


def measured(arguments: argparse.Namespace) -> None:
    """Write what the probe adds to steps (JSON), and the recorder's dump (pickle), as files."""
    work = DeviceWork(_MEASURED_STEP_SECONDS, width=2048 if _CUDA else 64)
    backend = "nccl" if _CUDA else "gloo"
    distributed.init_process_group(backend)
    reduced = torch.ones(1 << 16, device=_DEVICE)

    def step(watch: Any) -> None:
        with watch.step():
            watch.record(loss=work.step(), tokens=1)
            distributed.all_reduce(reduced)

    def watched(what: Callable[[Callable[[], None]], Any], *, probed: bool) -> Any:
        model, optimizer = work.model, work.optimizer
        watch = attach(model, optimizer) if probed else SilentWatch()
        for _ in range(3):
            step(watch)
        found = what(lambda: step(watch))
        if probed:
            watch.detach()
        return found

    synchronised = [watched(_profiled, probed=probed) for probed in (False, True)]
    seconds: dict[bool, list[float]] = {False: [], True: []}
    for pair in range(_PAIRS):
        for probed in (False, True) if pair % 2 else (True, False):
            seconds[probed].append(watched(_block, probed=probed))
    recorder = importlib.import_module("torch._C._distributed_c10d")  # where torch keeps it
    name = "_dump_nccl_trace" if _CUDA else "_dump_fr_trace"
    arguments.folder.joinpath("recorder.pickle").write_bytes(getattr(recorder, name)())
    pairs = zip(seconds[False], seconds[True], strict=True)
    found = {
        "backend": backend,
        "synchronisations a step, without": synchronised[0],
        "synchronisations a step, with": synchronised[1],
        "seconds a step, without": statistics.median(seconds[False]),
        "step time ratio": statistics.median(probed / plain for plain, probed in pairs),
        "all-reduces, at least": 2 * _PROFILED_STEPS,
    }
    arguments.folder.joinpath("measured.json").write_text(json.dumps(found), encoding="utf-8")
    distributed.destroy_process_group()


class DoublesPlacement(ProcessPlacement):
    """On a CPU a rank is told the double's device: the probe finds its own with CUDA only."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.hardware = gpu_uuid(0)


def _attached(work: DeviceWork) -> Any:
    placement = ProcessPlacement if _CUDA else DoublesPlacement
    with mock.patch.object(attaching, "ProcessPlacement", placement):
        return attach(work.model, work.optimizer)


def _block(step: Callable[[], None]) -> float:
    """Return seconds a step over a while, the device being idle at both ends."""
    _wait()
    began, steps = time.perf_counter(), 0
    while time.perf_counter() - began < _BLOCK_SECONDS:
        step()
        steps += 1
        if steps % 10 == 0:
            _wait()  # as a job that logs its loss: no endless queue of steps
    _wait()
    return (time.perf_counter() - began) / steps


def _profiled(step: Callable[[], None]) -> dict[str, float]:
    """Return how often a step makes the host wait for the device, as torch's profiler counts."""
    kinds = [torch.profiler.ProfilerActivity.CPU]
    if _CUDA:
        kinds.append(torch.profiler.ProfilerActivity.CUDA)
    with torch.profiler.profile(activities=kinds) as profiler:
        for _ in range(_PROFILED_STEPS):
            step()
    counts = {row.key: row.count for row in profiler.key_averages()}
    return {name: counts.get(name, 0) / _PROFILED_STEPS for name in _SYNCHRONISING}


def _wait() -> None:
    if _CUDA:
        torch.cuda.synchronize()


KINDS = {one.__name__: one for one in (steady, leak, foreign, oom, measured)}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m bench.device.job", description=__doc__)
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("--folder", type=Path, default=Path(), help="where files are written")
    parser.add_argument("--shared", type=Path, default=Path(os.devnull, "none"))
    wanted = parser.parse_args()
    KINDS[wanted.kind](wanted)
