"""Products of matrices: how fast, and whether they are always the same."""

import time
from collections.abc import Callable
from functools import partial
from typing import Any

from . import accelerators, blocks
from .rows import CheckOrder, MeasuredRow, repeated
from .time_shares import HostTimes

_CUDA_SIZE = 8192
_CPU_SIZE = 256
"""Its three matrices lie in the cache of one core, which no other core fills."""
_NOTHING = "neither torch nor numpy is installed"
_SEED = 20261101


def products(order: CheckOrder) -> list[MeasuredRow]:
    """Return operations a second by device; of one core where there is no device."""
    torch = accelerators.torch_with_devices()
    measured = partial(_on_cuda, torch, order)
    rows = accelerators.each_free(torch, order.device, measured)
    return rows or [_on_cpu(order)]


def arithmetic(order: CheckOrder) -> list[MeasuredRow]:
    """Return by device how many products differ from the first one."""
    torch = accelerators.torch_with_devices()
    measured = partial(_same_on_cuda, torch, order)
    rows = accelerators.each_free(torch, order.device, measured)
    return rows or [_same_on_cpu(order)]


def _on_cuda(torch: Any, order: CheckOrder, index: int) -> MeasuredRow:
    device = torch.device("cuda", index)
    size = max(256, int(_CUDA_SIZE * order.fraction) // 256 * 256)
    left = torch.ones(size, size, dtype=torch.bfloat16, device=device)
    right = torch.ones(size, size, dtype=torch.bfloat16, device=device)
    out = torch.empty_like(left)

    def once() -> float:
        first, last = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        with torch.cuda.device(device):
            first.record()
            for _ in range(8):
                torch.matmul(left, right, out=out)
            last.record()
        last.synchronize()
        return float(8 * 2 * size**3 / (first.elapsed_time(last) / 1000))

    samples = repeated(once, seconds=order.seconds, now=time.monotonic)
    return accelerators.row(torch, index, samples)


def _on_cpu(order: CheckOrder) -> MeasuredRow:
    size = max(64, int(_CPU_SIZE * order.fraction))
    library, multiply = _multiplication(size, size)
    if multiply is None:
        return MeasuredRow("cpu", missing=_NOTHING)
    _, extra = _multiplication(round(size * order.extra), size) if order.extra else ("", None)

    def once() -> float:
        before = time.process_time()
        multiply()
        if extra is not None:
            extra()
        return 2 * size**3 / max(time.process_time() - before, 1e-9)

    before = HostTimes.read()
    samples = blocks.measured(blocks.always(once), order, time.monotonic)
    others = before.others_beside(HostTimes.read())
    kind = f"{accelerators.host_kind()}, one core, {library}, {size} x {size}"
    return MeasuredRow("cpu", samples, kind, others=others)


def _multiplication(rows: int, size: int) -> tuple[str, Callable[[], object] | None]:
    """Return a library and a function that multiplies so many rows on one core, None without."""
    np = accelerators.numpy_module()
    if np is not None:
        one, two = np.ones((rows, size), np.float32), np.ones((size, size), np.float32)
        result = np.empty((rows, size), np.float32)
        return "numpy", lambda: np.matmul(one, two, out=result)
    torch = accelerators.torch_module()
    if torch is None:
        return "", None
    torch.set_num_threads(1)
    left, right = torch.ones(rows, size), torch.ones(size, size)
    out = torch.empty(rows, size)
    return "torch", lambda: torch.matmul(left, right, out=out)


def _same_on_cuda(torch: Any, order: CheckOrder, index: int) -> MeasuredRow:
    device = torch.device("cuda", index)
    size = max(256, int(4096 * order.fraction) // 256 * 256)
    generator = torch.Generator(device="cpu").manual_seed(_SEED)
    left = torch.randn(size, size, generator=generator).to(device)
    right = torch.randn(size, size, generator=generator).to(device)
    expected = torch.matmul(left, right)

    def once() -> float:
        return 0.0 if bool(torch.equal(torch.matmul(left, right), expected)) else 1.0

    samples = repeated(once, seconds=order.seconds, now=time.monotonic)
    # Some libraries sum in an order that changes: then most differ, and nothing is shown.
    if sum(samples) > len(samples) / 2:
        why = "products differ from run to run here: its library sums in no fixed order"
        return MeasuredRow(accelerators.hardware_id(torch, index), missing=why)
    return accelerators.row(torch, index, (sum(samples),))


def _same_on_cpu(order: CheckOrder) -> MeasuredRow:
    np = accelerators.numpy_module()
    if np is None:
        return MeasuredRow("cpu", missing="numpy is not installed, and there is no CUDA device")
    random = np.random.default_rng(_SEED)
    size = max(64, int(512 * order.fraction))
    left, right = random.standard_normal((2, size, size))
    expected = left @ right

    def once() -> float:
        return 0.0 if np.array_equal(left @ right, expected) else 1.0

    samples = repeated(once, seconds=order.seconds, now=time.monotonic)
    return MeasuredRow("cpu", (float(sum(samples)),), accelerators.host_kind())
