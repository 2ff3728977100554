"""What the kernel log reports: faults of devices, processes killed for memory, known lines."""

from dataclasses import dataclass

TEXT = 300
"""Characters of a line that are passed on."""


@dataclass(frozen=True, slots=True)
class DeviceFault:
    """A device failed. `code` is the XID's number, or "sxid." and the SXID's.

    `pci` is the address as sysfs spells it, "" where the line names none; `uuid` the device's id
    where the driver logged it beside the fault. `fault_class` is set where the line itself says how
    grave it is, `action` where it says what has to be done (XID 154).
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


Report = DeviceFault | OomKill | LogFault
