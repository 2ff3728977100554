"""What the kernel log tells, as events: devices by their id, processes by the host's pid."""

from collections.abc import Hashable

from ..formats.kernel_log import DeviceFault, LogFault, OomKill, Told
from ..vocabulary.samples import Event, Scalar
from .devices import Devices


def key(told: Told) -> Hashable | None:
    """Return what equal faults have in common; None for what is never folded."""
    if isinstance(told, DeviceFault):
        return (told.uuid or told.pci, told.code, told.fault_class, told.action)
    if isinstance(told, LogFault):
        return (told.signature, told.device, told.pid)
    return None  # each process is killed once


def event(told: Told, at: float, *, devices: Devices, count: int = 1) -> Event:
    """Return the event, which stands for `count` equal ones."""
    pairs: dict[str, Scalar] = {}
    if isinstance(told, DeviceFault):
        name = "gpu.fault"
        pairs = {
            "hw.id": told.uuid or devices.by_pci(told.pci) or f"pci:{told.pci or 'unknown'}",
            "code": told.code,
            "vendor": "nvidia",
            "text": told.text,
            "source": "kmsg",
        }
        if told.fault_class:
            pairs["class"] = told.fault_class
        if told.action:
            pairs["action"] = told.action
    elif isinstance(told, OomKill):
        name = "host.oom_kill"
        pairs = {"cgroup": told.cgroup, "text": told.text}
    else:
        name = "log.fault"
        pairs = {"signature": told.signature, "role": told.role, "text": told.text}
        if told.device:
            pairs["device"] = told.device
    if told.pid is not None:
        pairs["pid"] = told.pid
    if count > 1:
        pairs["count"] = count
    return Event(name, at, pairs)
