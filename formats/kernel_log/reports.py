"""What the kernel log reports, also as events: faults of devices, OOM kills, known lines."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass

from ...vocabulary.samples import Event, Scalar

TEXT = 300
"""Characters of a line that are passed on."""


@dataclass(frozen=True, slots=True)
class DeviceFault:
    """A device failed. `code` is the XID's number, or "sxid." and the SXID's.

    `pci` is the address as sysfs spells it, "" where the line names none; `uuid` the device's id
    where the driver logged it beside the fault. `fault_class` is set where the line itself says how
    grave it is, `action` where it says what has to be done (XID 154). `device` is the driver's own
    name of it where the line has one, such as hl2.
    """

    code: str
    pci: str
    text: str
    uuid: str = ""
    pid: int | None = None
    process: str = ""
    fault_class: str = ""
    action: str = ""
    link: int | None = None
    unit: str = ""
    vendor: str = "nvidia"
    device: str = ""

    @property
    def named(self) -> str:
        """Return what the line calls the device, "unknown" where it does not."""
        if self.pci or not self.device:
            return f"pci:{self.pci or 'unknown'}"
        return f"{self.vendor}:{self.device}"


@dataclass(frozen=True, slots=True)
class OomKill:
    """The kernel killed a process for memory. `pid` is the host's; `cgroup` "" when not logged."""

    pid: int
    process: str
    cgroup: str
    text: str


@dataclass(frozen=True, slots=True)
class LogFault:
    """A line with a known signature (see signatures.toml)."""

    signature: str
    role: str
    text: str
    device: str = ""
    pid: int | None = None
    ended: str = ""
    """What came to its end with it, as `log.fault` names that; "": nothing says so."""


Report = DeviceFault | OomKill | LogFault


def key(record: Report) -> Hashable | None:
    """Return what equal faults have in common; None for what is never folded."""
    if isinstance(record, DeviceFault):
        return (record.uuid or record.named, record.code, record.fault_class, record.action)
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
            "hw.id": record.uuid or by_pci(record.pci) or record.named,
            "code": record.code,
            "vendor": record.vendor,
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
        if record.ended:
            pairs["ended"] = record.ended
    if record.pid is not None:
        pairs["pid"] = record.pid
    if count > 1:
        pairs["count"] = count
    return Event(name, at, pairs)
