"""Copies within a device's memory, to and from the host, to other devices; of a host's memory."""

import contextlib
import statistics
import time
from collections.abc import Callable, Generator
from functools import partial
from typing import Any

from . import accelerators, blocks, host_buffers
from .rows import CheckOrder, MeasuredRow, repeated
from .time_shares import HostTimes

_CUDA_BYTES = 1 << 30
_HOST_BYTES = 96 << 20
"""Twice, and so more than the caches of one core hold."""
_PIECE = 1 << 20
_NO_DEVICE = "torch shows no CUDA device here"


def within_device(order: CheckOrder) -> list[MeasuredRow]:
    """Return bytes a second, read and written, by device; of the host where there is none."""
    torch = accelerators.torch_with_devices()

    def measured(index: int) -> MeasuredRow:
        count = max(1 << 20, int(_CUDA_BYTES * order.fraction))
        source = torch.empty(count, dtype=torch.uint8, device=f"cuda:{index}")
        target = torch.empty_like(source)
        rates = _timed(torch, index, partial(target.copy_, source), 2 * count, order)
        return accelerators.row(torch, index, rates)

    return accelerators.each_free(torch, order.device, measured) or [_host_memory(order)]


def to_and_from_host(order: CheckOrder) -> list[MeasuredRow]:
    """Return bytes a second of the slower direction, by device."""
    torch = accelerators.torch_with_devices()

    def measured(index: int) -> MeasuredRow:
        count = max(1 << 20, int(_CUDA_BYTES * order.fraction / 4))
        there = torch.empty(count, dtype=torch.uint8, device=f"cuda:{index}")
        here = torch.empty(count, dtype=torch.uint8, pin_memory=True)
        ways: tuple[Callable[[], object], ...] = (
            partial(there.copy_, here, non_blocking=True),
            partial(here.copy_, there, non_blocking=True),
        )
        found = [_timed(torch, index, way, count, order, share=0.5) for way in ways]
        return accelerators.row(torch, index, min(found, key=statistics.median_high))

    rows = accelerators.each_free(torch, order.device, measured)
    return rows or [MeasuredRow("host", missing=_NO_DEVICE)]


def between_devices(order: CheckOrder) -> list[MeasuredRow]:
    """Return bytes a second from each device to the neighbour that it reaches slowest."""
    torch = accelerators.torch_with_devices()
    every = accelerators.cuda_devices(torch)
    if len(every) < 2:
        why = _NO_DEVICE if not every else "there is one device: it has no neighbour"
        return [MeasuredRow("host", missing=why)]
    for index in every:
        if busy := accelerators.in_use(torch, index):
            return [MeasuredRow(accelerators.hardware_id(torch, index), missing=busy)]
    rows: list[MeasuredRow] = []
    count = max(1 << 20, int(_CUDA_BYTES * order.fraction / 4))
    share = 1 / (len(every) * (len(every) - 1))
    for index in accelerators.cuda_devices(torch, order.device):
        source = torch.empty(count, dtype=torch.uint8, device=f"cuda:{index}")
        found: list[tuple[float, ...]] = []
        for other in every:
            if other == index:
                continue
            target = torch.empty(count, dtype=torch.uint8, device=f"cuda:{other}")
            copy = partial(target.copy_, source)
            found.append(_timed(torch, index, copy, count, order, share=share))
        rows.append(accelerators.row(torch, index, min(found, key=statistics.median_high)))
    return rows


def _timed(
    torch: Any,
    index: int,
    copy: Callable[[], object],
    count: int,
    order: CheckOrder,
    *,
    share: float = 1.0,
) -> tuple[float, ...]:
    def once() -> float:
        with torch.cuda.device(index):
            first, last = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            first.record()
            for _ in range(4):
                copy()
            last.record()
            last.synchronize()
            torch.cuda.synchronize(index)
        return float(4 * count / (first.elapsed_time(last) / 1000))

    return repeated(once, seconds=order.seconds * share, now=time.monotonic)


def _host_memory(order: CheckOrder) -> MeasuredRow:
    """Return bytes a second that one core copies, by its own time."""
    count = max(2 * _PIECE, int(_HOST_BYTES * order.fraction))
    more = int(_PIECE * order.extra)
    huge = True

    @contextlib.contextmanager
    def prepared() -> Generator[blocks.Piece, None, None]:
        """Give what copies the next piece, of memory that no cache holds any more."""
        nonlocal huge
        with host_buffers.buffer(count) as source, host_buffers.buffer(count) as target:
            huge = huge and host_buffers.in_huge_pages(2 * count)
            place = 0

            def once() -> float:
                nonlocal place
                first, last = place, place + _PIECE + more
                before = time.thread_time()
                target[first:last] = source[first:last]
                taken = time.thread_time() - before
                place = last if last + _PIECE + more <= count else 0
                return 2 * _PIECE / max(taken, 1e-9)

            yield once

    before = HostTimes.read()
    samples = blocks.measured(prepared, order, time.monotonic)
    others = before.others_until(HostTimes.read())
    kind = f"{accelerators.host_kind()}, one core, {'huge' if huge else 'small'} pages"
    return MeasuredRow("memory", samples, kind, others=others)
