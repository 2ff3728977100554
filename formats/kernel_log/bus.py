"""Errors of the PCIe bus, and which device lies behind the port that reports one.

A port names itself; its device follows in a line of its driver, or is known from what the kernel
listed when it booted. Sources: Linux 5.4 to 6.14, drivers/pci/pcie/{aer,err,dpc}.c, pci/probe.c,
pci/pci.c, pci/hotplug/pciehp_ctrl.c, firmware/efi/cper.c.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from ...vocabulary.patterns import DeferredPattern
from .reports import TEXT, DeviceFault, LogFault

NEEDLES = (
    "PCI bridge to [bus", "type 00 class 0x", "can't recover", "device inaccessible",
    "; giving up", "[Hardware Error]:", "enabling device (",
)  # fmt: skip
"""What such lines have, beside the needles of the signatures of ports."""

FATAL, NONFATAL = "pcie.fatal", "pcie.nonfatal"
NIC = "nic.bus_error"

_TOGETHER_SECONDS = 30.0
"""A port is reset, and its devices are asked, within seconds of the error."""
_MOST = 4096

_MARKS = DeferredPattern(
    r"AER|PCI|DPC|pciehp|enabling device|giving up|inaccessible|\[Hardware Error\]|type 00 class"
)
_AT = r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]"
_BRIDGE = DeferredPattern(
    rf"\bpci ({_AT}): PCI bridge to \[bus ([0-9a-f]{{2}})(?:-([0-9a-f]{{2}}))?\]"
)
_LISTED = DeferredPattern(
    rf"\bpci ({_AT}): \[([0-9a-f]{{4}}):[0-9a-f]{{4}}\] type 00 class 0x([0-9a-f]{{4}})"
)
_TROUBLES = (
    DeferredPattern(
        r"AER: .*Uncorrect(?:ed|able) \((?P<grade>(?:Non-)?Fatal)\) error (?:message )?"
        rf"received(?: from|:)? (?P<at>{_AT})"
    ),
    DeferredPattern(
        rf"(?P<at>{_AT}): (?:AER: )?PCIe Bus Error: severity=Uncorrect(?:ed|able) "
        r"\((?P<grade>(?:Non-)?Fatal)\)"
    ),
    DeferredPattern(rf"DPC: .*ERR_(?P<grade>(?:NON)?FATAL) received from (?P<at>{_AT})"),
    DeferredPattern(rf"(?P<at>{_AT}): DPC: (?:containment event|unmasked uncorrectable error)"),
    DeferredPattern(rf"(?P<at>{_AT}): pciehp: Slot\([^)]*\): (?:Link Down|Card not present)"),
)
_UNRECOVERED = DeferredPattern(rf"({_AT}): (?:AER: )?can't recover \(")
_GONE = DeferredPattern(
    rf"({_AT}): (?:not ready \d+ms after [^;]{{1,40}}; giving up|"
    r"Unable to change power state from \S+ to \S+, device inaccessible)"
)
_SEVERITY = DeferredPattern(r"\[Hardware Error\]:\s+event severity: (\w+)")
_NAMED = DeferredPattern(rf"\[Hardware Error\]:\s+device_id: ({_AT})")
_MADE_BY = DeferredPattern(r"\[Hardware Error\]:\s+vendor_id: 0x([0-9a-f]{4})")
_DRIVER = DeferredPattern(rf"^(?:infiniband )?([a-z][\w-]{{1,20}}) ({_AT}): ")

_DRIVERS = {"nvidia": "nvidia", "amdgpu": "amd", "habanalabs": "habana"}
_VENDORS = {"10de": "nvidia", "1002": "amd", "1da3": "habana", "19e5": "ascend"}
_ACCELERATORS = ("0300", "0302", "0380", "1200")
_NETWORK = ("0200", "0207")
_NETWORK_DRIVERS = frozenset({"mlx5_core", "mlx4_core", "bnxt_en", "ice", "i40e", "irdma", "efa"})
"""Classes of PCI devices and names of drivers: who computes, who sends."""


@dataclass(frozen=True, slots=True)
class BusTrouble:
    """An error that a port or a device reported. at: on the clock of the lines."""

    address: str
    fatal: bool
    at: float


class PcieTree:
    """What a log tells of the bus; not for several threads at once. What it holds is bounded."""

    def __init__(self) -> None:
        self._below: dict[str, tuple[int, int]] = {}
        """By bridge, the first and the last bus behind it."""
        self._vendors: dict[str, str] = {}
        """By device that computes, its vendor; "nic" for one that sends."""
        self._trouble: BusTrouble | None = None
        self._severity = ""

    def read(self, text: str, at: float) -> Iterator[DeviceFault | LogFault]:
        """Yield the devices that a line, with those before it, says an error cut off."""
        if _MARKS.search(text) is None:
            return
        self._learn(text)
        for address, fatal in self._victims(text, at):
            vendor = self._vendors.get(address)
            if vendor == "nic" and fatal:
                yield LogFault(NIC, "root", text[:TEXT], device=address)
            elif vendor not in (None, "nic"):
                code = FATAL if fatal else NONFATAL
                yield DeviceFault(code=code, pci=address, text=text[:TEXT], vendor=vendor)

    def _learn(self, text: str) -> None:
        if len(self._vendors) + len(self._below) > _MOST:
            return
        if bridge := _BRIDGE.search(text):
            first = int(bridge[2], 16)
            self._below[bridge[1]] = (first, int(bridge[3], 16) if bridge[3] else first)
        elif listed := _LISTED.search(text):
            if listed[3] in _NETWORK:
                self._vendors[listed[1]] = "nic"
            elif listed[3] in _ACCELERATORS and listed[2] in _VENDORS:
                self._vendors[listed[1]] = _VENDORS[listed[2]]
        elif driver := _DRIVER.match(text):
            if driver[1] in _DRIVERS:
                self._vendors[driver[2]] = _DRIVERS[driver[1]]
            elif driver[1] in _NETWORK_DRIVERS:
                self._vendors[driver[2]] = "nic"

    def _victims(self, text: str, at: float) -> list[tuple[str, bool]]:
        """Return addresses that a line accuses, and whether their link is gone."""
        if gone := _GONE.search(text):
            return [(gone[1], True)]
        if (one := self._reported(text, at)) is not None:
            self._trouble = one
            return [(address, one.fatal) for address in self._behind(one.address)]
        if "Hardware Error" in text:
            return self._firmwares(text, at)
        found = _UNRECOVERED.search(text)
        if found is None:
            return []
        known = self._trouble
        fatal = known is not None and known.fatal and abs(at - known.at) <= _TOGETHER_SECONDS
        return [(found[1], fatal)]

    def _reported(self, text: str, at: float) -> BusTrouble | None:
        for pattern in _TROUBLES:
            if found := pattern.search(text):
                grade = (found.groupdict().get("grade") or "").lower()
                return BusTrouble(found["at"], not grade.startswith("non"), at)
        return None

    def _behind(self, address: str) -> list[str]:
        """Return the known devices at an address, or below the bridge there."""
        if address in self._vendors:
            return [address]
        first, last = self._below.get(address, (1, 0))
        domain = address.partition(":")[0]
        return [
            one
            for one in self._vendors
            if one.startswith(f"{domain}:") and first <= int(one.split(":")[1], 16) <= last
        ]

    def _firmwares(self, text: str, at: float) -> list[tuple[str, bool]]:
        """Take a line of a record that the firmware wrote: severity, device and vendor by turns."""
        if severity := _SEVERITY.search(text):
            self._severity = severity[1]
        elif named := _NAMED.search(text):
            graver = self._severity in ("fatal", "recoverable")
            self._trouble = BusTrouble(named[1], self._severity == "fatal", at) if graver else None
        elif (made := _MADE_BY.search(text)) and self._trouble is not None:
            one, vendor = self._trouble, _VENDORS.get(made[1])
            if vendor is not None:
                self._vendors.setdefault(one.address, vendor)
                return [(one.address, one.fatal)]
        return []
