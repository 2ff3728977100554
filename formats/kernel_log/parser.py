"""Reads line after line, joins what stands on several, and reports each thing once."""

from dataclasses import replace

from ...vocabulary.patterns import DeferredPattern
from . import device_lines, devices, signatures
from .bus import PcieTree
from .reports import TEXT, DeviceFault, LogFault, OomKill, Report
from .stacks import HungStacks

_TOGETHER_SECONDS = 5.0
"""Lines about one thing come within a few seconds."""
_LONGEST = 2048
"""The kernel cuts at about 1000 characters; what is longer is no line of its."""
_FOLLOWS_SECONDS = 60.0
"""So long after a fault its driver says what it does about it, on all devices of a host."""
_LINES = 12
"""A GPU that fell off the bus fills about four lines."""

_OOM = DeferredPattern(r"oom-kill:constraint=")
_KILLED = DeferredPattern(r"Killed process (\d{1,9})[, ]+\(?([^)]{0,64})\)?")
_GROUP = DeferredPattern(r"\bTask in (\S+) killed as a result of limit")
_LOST = DeferredPattern(r"fallen off the bus|NVRM:.*\b(?:off|lost from) the bus")
_APPLICATION = frozenset({"13", "31", "43", "45"})
"""XIDs that programs bring about: no reset follows them."""


class KernelLogParser:
    """Not for several threads at once. What it remembers is bounded."""

    def __init__(self) -> None:
        self._uuids: dict[str, str] = {}
        self._fallen: dict[str, tuple[float, bool]] = {}
        self._named: tuple[str, float, int] = ("", 0.0, 0)
        self._newest: dict[str, float] = {}
        """By vendor, when a fault of a device was last logged."""
        self._lines = 0
        self._killed: tuple[int, float] = (0, 0.0)
        self._group: tuple[str, float] = ("", 0.0)
        self._bus = PcieTree()
        self._stacks = HungStacks()

    def feed(self, text: str, at: float) -> list[Report]:
        """Take a line that was logged at `at` (seconds on any clock); return what it reports."""
        self._lines += 1
        text = text[:_LONGEST]
        if "\n" in text:  # one record of several lines
            return [report for line in text.split("\n") for report in self.feed(line, at)]
        if "Xid" in text or "NVRM" in text or "the bus" in text:
            fault = self._device(text, at)
            if fault is not None:
                return [fault]
        if "ill" in text:  # oom-kill, Killed, killed
            killed = self._oom(text, at)
            if killed is not None:
                return [killed]
        if (said := device_lines.read(text)) is not None:
            fault = self._driver(*said, at)
            return [] if fault is None else [fault]
        found = signatures.read(text)
        waits = self._stacks.read(text, at)
        lines = [one for one in (found, waits) if one is not None]
        return [*lines, *map(self._identified, self._bus.read(text, at))]

    def _identified(self, report: DeviceFault | LogFault) -> DeviceFault | LogFault:
        """Return a device's fault with the id that the driver logged of it, where it did."""
        if not isinstance(report, DeviceFault) or report.pci not in self._uuids:
            return report
        return replace(report, uuid=self._uuids[report.pci])

    def _driver(
        self, kind: device_lines.DriverLine, fault: DeviceFault, at: float
    ) -> DeviceFault | None:
        """Return a fault in the words of its driver, None where it only follows another."""
        newest = self._newest.get(fault.vendor)
        follows = newest is not None and abs(at - newest) <= _FOLLOWS_SECONDS
        self._newest[fault.vendor] = at
        if kind.follows and follows:
            if fault.pci:
                self._named = (fault.pci, at, self._lines)
            return None
        uuid = self._uuids.get(fault.pci, "")
        return replace(fault, uuid=uuid) if uuid else fault

    @property
    def named(self) -> str:
        """Return the address that a driver's line named within the last few lines, "" none."""
        address, _, line = self._named
        return address if self._lines - line <= _LINES else ""

    def _device(self, text: str, at: float) -> DeviceFault | None:
        fault = devices.xid(text) or devices.sxid(text)
        if fault is None and (known := devices.identity(text)):
            if len(self._uuids) < 256:
                self._uuids[known[0]] = known[1]
            return None
        implied = fault is None and _LOST.search(text) is not None
        if implied:
            fault = self._implied(text, at)
        elif fault is None and (address := devices.address(text)):
            self._named = (address, at, self._lines)
        if fault is None or (fault.code == "79" and self._reported_before(fault.pci, at, implied)):
            return None
        if fault.code not in _APPLICATION:
            self._newest[fault.vendor] = at
        uuid = self._uuids.get(fault.pci, "")
        return replace(fault, uuid=uuid) if uuid else fault

    def _implied(self, text: str, at: float) -> DeviceFault:
        """Return the XID 79 that such a line means; lines before it may name the device."""
        address = devices.address(text)
        named, when, line = self._named
        near = self._lines - line <= _LINES and abs(at - when) <= _TOGETHER_SECONDS
        if not address and named and near:
            address = named
        return DeviceFault(code="79", pci=address, text=text[:TEXT])

    def _reported_before(self, pci: str, at: float, implied: bool) -> bool:  # noqa: FBT001
        """Return whether this is the same fall, reported once with and once without its code."""
        before = self._fallen.get(pci)
        if len(self._fallen) > 256:
            self._fallen.clear()
        self._fallen[pci] = (at, implied)
        if before is None or abs(at - before[0]) > _TOGETHER_SECONDS:
            return False
        return implied or before[1]

    def _oom(self, text: str, at: float) -> OomKill | None:
        if _OOM.search(text):
            kill = _constraint(text)
            if kill is not None:
                self._killed = (kill.pid, at)
            return kill
        if found := _GROUP.search(text):
            self._group = (found[1], at)
            return None
        found = _KILLED.search(text)
        if found is None:
            return None
        pid = int(found[1])
        if self._killed[0] == pid and abs(at - self._killed[1]) <= 2 * _TOGETHER_SECONDS:
            return None  # the line before reported it, with more
        self._killed = (pid, at)
        group, when = self._group
        cgroup = group if abs(at - when) <= _TOGETHER_SECONDS else ""
        return OomKill(pid=pid, process=found[2], cgroup=cgroup, text=text[:TEXT])


def _constraint(text: str) -> OomKill | None:
    """Read oom-kill:constraint=...,task_memcg=/x,task=python,pid=1,uid=0 (Linux 5.0 and newer)."""
    parts = (part.partition("=") for part in text.split(","))
    fields = {name: value for name, _, value in parts}
    pid = fields.get("pid", "")
    if not (pid.isdigit() and len(pid) < 10):
        return None
    return OomKill(
        pid=int(pid),
        process=fields.get("task", ""),
        cgroup=fields.get("task_memcg", ""),
        text=text[:TEXT],
    )
