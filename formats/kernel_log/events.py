"""What the kernel log reports, as events: devices by their id, processes by the host's pid."""

from collections.abc import Callable, Hashable

from ...vocabulary.samples import Event, Scalar
from .reports import DeviceFault, LogFault, OomKill, Report


def key(record: Report) -> Hashable | None:
    """Return what equal faults have in common; None for what is never folded."""
    if isinstance(record, DeviceFault):
        return (record.uuid or record.pci, record.code, record.fault_class, record.action)
    if isinstance(record, LogFault):
        return (record.signature, record.device, record.pid)
    return None  # each process is killed once


def event(
    record: Report, at: float, *, by_pci: Callable[[str], str | None], count: int = 1
) -> Event:
    """Return the event, which stands for `count` equal ones; `by_pci` gives the id of a device."""
    pairs: dict[str, Scalar] = {}
    if isinstance(record, DeviceFault):
        name = "gpu.fault"
        pairs = {
            "hw.id": record.uuid or by_pci(record.pci) or f"pci:{record.pci or 'unknown'}",
            "code": record.code,
            "vendor": "nvidia",
            "text": record.text,
            "source": "kmsg",
        }
        if record.fault_class:
            pairs["class"] = record.fault_class
        if record.action:
            pairs["action"] = record.action
    elif isinstance(record, OomKill):
        name = "host.oom_kill"
        pairs = {"cgroup": record.cgroup, "text": record.text}
    else:
        name = "log.fault"
        pairs = {"signature": record.signature, "role": record.role, "text": record.text}
        if record.device:
            pairs["device"] = record.device
    if record.pid is not None:
        pairs["pid"] = record.pid
    if count > 1:
        pairs["count"] = count
    return Event(name, at, pairs)
