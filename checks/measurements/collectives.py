"""All-reduces: of this node alone, of its halves, with a peer; over NCCL on devices, else gloo."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

from . import accelerators
from .rows import CheckOrder, MeasuredRow, repeated
from .time_shares import HostTimes

_CUDA_BYTES = 256 << 20
_CPU_BYTES = 4 << 20
_CPU_PROCESSES = 2
_MEET_SECONDS = 20.0
_NO_TORCH = "torch is not installed: it brings NCCL and gloo"
_LOOPBACK = "127.0.0.1"


def over_all(order: CheckOrder) -> list[MeasuredRow]:
    """Return bus bandwidth over all devices of the node, or two processes where there is none."""
    torch = accelerators.torch_module()
    if torch is None or not torch.distributed.is_available():
        return [MeasuredRow("host", missing=_NO_TORCH)]
    devices = accelerators.cuda_devices(torch)
    if len(devices) == 1:
        return [MeasuredRow("host", missing="there is one device: nothing to reduce over")]
    row = _measured(torch, order, devices or [-1] * _CPU_PROCESSES)
    return [row]


def over_halves(order: CheckOrder) -> list[MeasuredRow]:
    """Return bus bandwidth over each half of the devices, at least two in each."""
    torch = accelerators.torch_module()
    if torch is None or not torch.distributed.is_available():
        return [MeasuredRow("host", missing=_NO_TORCH)]
    devices = accelerators.cuda_devices(torch)
    if not devices and len(os.sched_getaffinity(0)) >= 2 * _CPU_PROCESSES:
        devices = [-1] * (2 * _CPU_PROCESSES)
    if len(devices) < 4:
        why = f"it takes four devices, or without any four CPUs; there are {len(devices)} devices"
        return [MeasuredRow("host", missing=why)]
    middle = len(devices) // 2
    rows: list[MeasuredRow] = []
    for name, half in (("first half", devices[:middle]), ("second half", devices[middle:])):
        row = _measured(torch, order, half)
        rows.append(replace(row, device=name))
    return rows


def with_peer(order: CheckOrder) -> list[MeasuredRow]:
    """Return bus bandwidth with the peer; both sides measure the same operations."""
    torch = accelerators.torch_module()
    if not order.peer:
        return [MeasuredRow("host", missing="there is no peer; name one (--peer HOST)")]
    if torch is None or not torch.distributed.is_available():
        return [MeasuredRow("host", missing=_NO_TORCH)]
    devices = accelerators.cuda_devices(torch, order.device)
    index = devices[0] if devices else -1
    if index >= 0 and (busy := accelerators.in_use(torch, index)):
        return [MeasuredRow("host", missing=busy)]
    try:
        store = torch.distributed.TCPStore(
            order.peer, order.store, 2, order.first, timedelta(seconds=_MEET_SECONDS)
        )
        samples = _as_rank(torch, order, store, 0 if order.first else 1, 2, index)
    except RuntimeError as error:
        return [MeasuredRow("host", failed=f"the all-reduce with the peer broke: {_short(error)}")]
    return [MeasuredRow("host", samples, _kind(torch, [index, index]), _quantile(index))]


def as_rank(rank: int, size: int, port: int, index: int, order: CheckOrder) -> None:
    """Take part as one rank of `_measured`, in a process of its own."""
    torch = accelerators.torch_module()
    store = torch.distributed.TCPStore(
        _LOOPBACK, port, size, False, timedelta(seconds=_MEET_SECONDS)
    )
    _as_rank(torch, order, store, rank, size, index)


def _measured(torch: Any, order: CheckOrder, devices: Sequence[int]) -> MeasuredRow:
    """Measure over some devices, a process each, this one being the first."""
    for index in devices:
        if index >= 0 and (busy := accelerators.in_use(torch, index)):
            return MeasuredRow("host", missing=f"device {index}: {busy}")
    store = torch.distributed.TCPStore(
        _LOOPBACK, 0, len(devices), True, timedelta(seconds=_MEET_SECONDS), wait_for_workers=False
    )
    ranks: list[subprocess.Popen[bytes]] = []
    before = HostTimes.read()
    try:
        for rank, index in enumerate(devices[1:], 1):
            told = json.dumps([rank, len(devices), store.port, index, order.document()])
            # Of this process's group, so that whoever ends that ends them too.
            command = [sys.executable, "-m", "rankscope.checks.worker", told]
            ranks.append(subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=2))
        samples = _as_rank(torch, order, store, 0, len(devices), devices[0])
    except RuntimeError as error:
        return MeasuredRow("host", failed=f"the all-reduce broke: {_short(error)}")
    finally:
        for process in ranks:
            try:
                process.wait(2.0)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
    # The ranks' own time counts as theirs once they have ended.
    others = before.others_until(HostTimes.read()) if devices[0] < 0 else 0.0
    return MeasuredRow("host", samples, _kind(torch, devices), _quantile(devices[0]), others=others)


def _as_rank(
    torch: Any, order: CheckOrder, store: Any, rank: int, size: int, index: int
) -> tuple[float, ...]:
    """Return bytes a second, by bus bandwidth: what each link carries, however many ranks."""
    dist = torch.distributed
    backend = "gloo" if index < 0 else "nccl"
    dist.init_process_group(
        backend, store=store, rank=rank, world_size=size, timeout=timedelta(seconds=_MEET_SECONDS)
    )
    try:
        if index < 0:
            torch.set_num_threads(1)
            values = torch.ones(max(1024, int(_CPU_BYTES * order.fraction) // 4))
        else:
            torch.cuda.set_device(index)
            count = max(1024, int(_CUDA_BYTES * order.fraction) // 4)
            values = torch.zeros(count, device=f"cuda:{index}")
        moved = 2 * (size - 1) / size * values.numel() * 4
        go_on = torch.ones(1, device=values.device)
        end = time.monotonic() + order.seconds

        def once() -> float:
            before = time.monotonic()
            dist.all_reduce(values)
            if index >= 0:
                torch.cuda.synchronize()
            taken = time.monotonic() - before
            values.fill_(1.0)
            if order.extra:
                time.sleep(taken * order.extra)
                taken *= 1 + order.extra
            return float(moved / max(taken, 1e-9))

        def now() -> float:
            # The first rank says when it is enough: all take part the same number of times.
            go_on.fill_(1.0 if time.monotonic() < end else 0.0)
            dist.broadcast(go_on, 0)
            return 0.0 if float(go_on[0]) else 2.0

        return repeated(once, seconds=1.0, now=_counted(now))
    finally:
        dist.destroy_process_group()


def _counted(now: Any) -> Any:
    """Return a clock for `repeated` that asks nobody as it starts."""
    asked = 0

    def clock() -> float:
        nonlocal asked
        asked += 1
        return 0.0 if asked == 1 else float(now())

    return clock


def _kind(torch: Any, devices: Sequence[int]) -> str:
    if devices[0] < 0:
        return f"{len(devices)} x {accelerators.host_kind()}, gloo"
    return f"{len(devices)} x {accelerators.device_kind(torch, devices[0])}, NCCL"


def _quantile(index: int) -> float:
    return 0.75 if index < 0 else 0.5


def _short(error: Exception) -> str:
    return str(error).strip().partition("\n")[0][:160]
