"""The devices that torch shows, and what they are compared with: model, power limit."""

import os
import subprocess
from collections.abc import Callable, Sequence
from typing import Any

from .rows import MeasuredRow

_ASK_SECONDS = 5.0
_OWN_BYTES = 1536 << 20
"""More than the context of one process takes."""


def torch_module() -> Any:
    """Return torch, None where there is none or where it does not load."""
    try:
        import torch  # noqa: PLC0415  takes seconds
    except (ImportError, OSError):
        return None
    return torch


def torch_with_devices() -> Any:
    """Return torch where the node has devices that it may show; else None, at once."""
    nodes = ("/dev/nvidiactl", "/dev/dxg", "/dev/kfd")
    return torch_module() if any(os.path.exists(node) for node in nodes) else None  # noqa: PTH110


def numpy_module() -> Any:
    """Return numpy, None where there is none."""
    try:
        import numpy as np  # noqa: PLC0415  not in the base install
    except ImportError:
        return None
    return np


def cuda_devices(torch: Any, wanted: str = "") -> list[int]:
    """Return the indices of the devices that are asked for: all, or the one of an id or index."""
    if torch is None or not torch.cuda.is_available():
        return []
    every = list(range(torch.cuda.device_count()))
    if not wanted:
        return every
    return [one for one in every if wanted in (str(one), hardware_id(torch, one))]


def in_use(torch: Any, index: int) -> str:
    """Return why a device is left alone, "" where nobody else has memory there.

    To be asked before anything is put there: what this process needs for itself is small.
    """
    free, total = torch.cuda.mem_get_info(index)
    taken = total - free
    if taken <= _OWN_BYTES:
        return ""
    return f"the device is in use: {taken / 2**30:.1f} GiB of its memory are taken"


def each_free(torch: Any, wanted: str, measured: Callable[[int], MeasuredRow]) -> list[MeasuredRow]:
    """Return what is measured of each device that is asked for; those in use are left alone."""
    return [
        MeasuredRow(hardware_id(torch, index), missing=busy)
        if (busy := in_use(torch, index))
        else measured(index)
        for index in cuda_devices(torch, wanted)
    ]


def row(torch: Any, index: int, samples: Sequence[float]) -> MeasuredRow:
    """Return the samples of a device as its row."""
    return MeasuredRow(hardware_id(torch, index), tuple(samples), device_kind(torch, index))


def hardware_id(torch: Any, index: int) -> str:
    """Return a device's id as telemetry has it, its index where torch knows no other."""
    found = str(getattr(torch.cuda.get_device_properties(index), "uuid", "") or index)
    return found if found.isdigit() or found.startswith("GPU-") else f"GPU-{found}"


def device_kind(torch: Any, index: int) -> str:
    """Return model and power limit of a device."""
    model = str(torch.cuda.get_device_name(index))
    limit = _power_limit(hardware_id(torch, index))
    return f"{model}, {limit}" if limit else model


def host_kind() -> str:
    """Return the model of the CPU and how many of them this process may use."""
    model = ""
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:  # noqa: PTH123  /proc
            for line in file:
                name, _, value = line.partition(":")
                if name.strip() in ("model name", "CPU part"):
                    model = value.strip()
                    break
    except OSError:
        pass
    return f"{model or os.uname().machine}, {len(os.sched_getaffinity(0))} CPUs"


def _power_limit(identity: str) -> str:
    command = ["nvidia-smi", "-i", identity, "--query-gpu=power.limit", "--format=csv,noheader"]
    try:
        said = subprocess.run(
            command, capture_output=True, text=True, timeout=_ASK_SECONDS, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return said.stdout.strip()[:20]
