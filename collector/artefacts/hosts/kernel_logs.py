"""Logs of kernels: what they tell of the job's hosts, when, and what of it is not the job's."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, tzinfo

from ....formats import kernel_log
from ....formats.kernel_log import DeviceFault, KernelLogLine, KernelLogReading, Report, reports
from ....vocabulary.entities import UNNAMED_HOST
from ....vocabulary.samples import Event, Scalar
from ..found import ArtefactContents, LogQuote
from ..job.span import JobSpan, lasting
from ..job.whereabouts import RankWhereabouts
from ..walk.telling_lines import TellingLines
from . import host_names, kernel_events
from .victims import LineVictims

_BELOW = 6
"""So many lines below its fault a driver may still name the device."""

_OTHERS_SECONDS = 86_400.0
"""Without a job's log the last fault is asked about: what was a day before it is another matter."""

_KERNEL = re.compile(r"dmesg|kern|messages|syslog|journal|console|serial", re.IGNORECASE)
_DRIVERS = re.compile(
    r"(?:NVRM: |nvidia|amdgpu[ :]|\[drm|\[ascend\]|habanalabs |mlx5_|mlx4_|bnxt_|irdma|efa |hns3 |"
    r"pcieport |pcie_|PCIe Bus Error|oom-kill:|[Oo]ut of memory: Kill|Memory cgroup out of memory|"
    r"Killed process \d|INFO: task |(?:NMI )?watchdog: |rcu: |INFO: rcu|nvme |EXT4-fs |XFS \(|"
    r"Unable to determine the device handle|\s*\w+\+0x[0-9a-f]+/0x|task:\S+ +state:D|"
    r"BTRFS |Lustre|LNet|nfs: |NFS: |ceph: |libceph: |mmfs|GPFS|mce: |EDAC |"
    r"\{\d+\}\[Hardware Error|NETDEV WATCHDOG|BUG: |Kernel panic|traps: |"
    r"\S{1,40}\[\d{1,9}\]: segfault at )"
)
"""What lines of the kernel begin with, wherever they were pasted."""


@dataclass(slots=True)
class KernelFault:
    """What a line reports. at: s since the epoch, None where the log has times since boot alone.

    latest: when it was at the latest, where that is known; booted: how long the host had run, s.
    address: of the device on its bus where the event names it otherwise, "" nothing says it.
    """

    event: Event
    file: str
    line: int
    host: str
    at: float | None
    latest: float | None
    booted: float | None = None
    address: str = ""

    def called(self, processes: Mapping[int, RankWhereabouts]) -> Event:
        """Return the event with its device called as ranks call theirs, which is by address."""
        if not self.address or not any(one.hw_id for one in processes.values()):
            return self.event
        named = {**self.event.attributes, "hw.id": f"pci:{self.address}"}
        return replace(self.event, attributes=named)

    def quote(self, rank: int | None, role: str = "", why: str = "") -> LogQuote:
        """Return the line as a report shows it; `why`: for what it is background."""
        pairs = self.event.attributes
        signature = str(pairs.get("signature") or pairs.get("code") or self.event.name)
        text = str(pairs.get("text", ""))
        if why:
            day = (
                ""
                if self.at is None
                else f"{datetime.fromtimestamp(self.at, UTC):%Y-%m-%d %H:%M} UTC, "
            )
            text = f"{text} ({day}{why})"
        return LogQuote(
            self.file, self.line, self.at, rank, signature,
            role or kernel_events.role(self.event), text, self.host,
        )  # fmt: skip


@dataclass(slots=True)
class KernelContents:
    """What all kernel logs of a folder report. hosts: those that lines name."""

    faults: list[KernelFault] = field(default_factory=list[KernelFault])
    hosts: set[str] = field(default_factory=set[str])

    def settled(
        self, span: JobSpan | None, victims: LineVictims, found: ArtefactContents
    ) -> list[tuple[int | None, Event]]:
        """Return the events that may be the job's, with rank, time and host; quote all of them.

        span: when the job ran, None where nothing says so. An event without a time has the time 0.
        """
        hosts = sorted({one.host for one in victims.processes.values() if one.host})
        accusing = (fault.at for fault in self.faults if fault.at and _accuses(fault))
        newest = max(accusing, default=None)
        events: list[tuple[int | None, Event]] = []
        used: set[tuple[str, str]] = set()
        for fault in self.faults:
            host = self.host_of(fault.host, fault.file, hosts)
            own = replace(fault.event.resource, host=host)
            event = fault.called(victims.processes)
            event = replace(event, at=fault.at or fault.latest or 0.0, resource=own)
            why = _apart(fault, span, newest) or victims.strange(event)
            rank = None if why else victims.of(event)
            found.quotes.append(fault.quote(rank, "background" if why else "", why))
            if why:
                continue
            events.append((rank, event))
            events += [(None, one) for one in kernel_events.of_ports(event, used, fault.booted)]
            if rank is not None and (ended := victims.ends(event, rank)) is not None:
                events.append((rank, ended))
        return events

    def host_of(self, named: str, file: str, hosts: Sequence[str]) -> str:
        """Return the host of what a line or table tells, "" where the job's several may be meant.

        named: what it says itself, "" nothing; hosts: those that ranks name.
        """
        host = host_names.among(named, file, hosts, len(self.hosts))
        if host or hosts:
            return host
        # A log is always of some host, named or not.
        return next(iter(self.hosts)) if len(self.hosts) == 1 else UNNAMED_HOST


def gather(
    telling: Mapping[str, TellingLines],
    span: JobSpan | None,
    *,
    zone: tzinfo | None,
) -> tuple[KernelContents, dict[str, int]]:
    """Return what kernel logs report, and by file how many lines did; errors as open and read do.

    `telling` holds by file the lines that may tell of a kernel.
    A line counts where its form, its file's name or its driver's mark says that a kernel wrote it.
    `span` gives times without a year theirs; the date of the file does where it is None.
    """
    contents = KernelContents()
    counts: dict[str, int] = {}
    for name, lines in telling.items():
        written = lines.path.stat().st_mtime
        reading = KernelLogReading(zone, written if span is None else min(span.closes, written))
        counts[name] = _read(name, lines, reading, contents, span, written)
    return contents, counts


def _read(
    name: str,
    telling: TellingLines,
    reading: KernelLogReading,
    contents: KernelContents,
    span: JobSpan | None,
    written: float,
) -> int:
    parser = kernel_log.KernelLogParser()
    named = bool(_KERNEL.search(telling.path.name))
    told: list[tuple[KernelLogLine, Report]] = []
    booted: dict[int, float | None] = {}
    for line in reading.read(telling.lines()):
        if not (named or line.kernels or _DRIVERS.match(line.text)):
            continue
        reported = parser.feed(line.text, line.at or line.uptime or 0.0)
        if told and not reported and parser.named:
            told[-1] = _addressed(*told[-1], parser.named, line)
        told += [(line, report) for report in reported]
        booted[line.number] = reading.booted(line)
    dated = any(boot.began is not None for boot in reading.boots)
    rebooted = _reboots(name, reading, span)
    reading.settle(_captured(span, written))
    for line, report in told:
        at = reading.when(line)
        sure = line.at is not None or dated
        event = kernel_events.graded(reports.event(report, 0.0, by_pci=lambda _: None))
        host = line.host or reading.host
        if host:
            contents.hosts.add(host)
        latest = at if span is None or at is None else min(at, span.ended)
        contents.faults.append(
            KernelFault(
                event,
                name,
                line.number,
                host,
                at if sure else None,
                latest,
                booted[line.number],
                report.pci if isinstance(report, DeviceFault) and report.uuid else "",
            )
        )
    contents.faults += rebooted
    return len({line.number for line, _ in told})


def _reboots(name: str, reading: KernelLogReading, span: JobSpan | None) -> list[KernelFault]:
    """Return that a host was booted while the job ran: what ran there ended by it, or before."""
    found: list[KernelFault] = []
    for boot in reading.boots:
        if span is None or boot.began is None or not span.began < boot.began < span.ended:
            continue
        pairs: dict[str, Scalar] = {
            "signature": "host.rebooted",
            "role": "root",
            "text": "the host was booted while the job ran",
        }
        event = Event("log.fault", 0.0, pairs)
        found.append(KernelFault(event, name, boot.line, reading.host, boot.began, boot.began, 0.0))
    return found


def _addressed(
    told: KernelLogLine, report: Report, address: str, line: KernelLogLine
) -> tuple[KernelLogLine, Report]:
    """Return a report of a device without an address with that of the line below it."""
    near = line.number - told.number <= _BELOW and line.host == told.host
    if near and isinstance(report, DeviceFault) and not (report.pci or report.device):
        report = replace(report, pci=address)
    return told, report


def _captured(span: JobSpan | None, written: float) -> float:
    """Return when a log of times since boot ended, at the latest that can be believed.

    A copied file is younger than its log: then the log is taken to end with the job.
    """
    if span is None or span.began <= written <= span.ended + _OTHERS_SECONDS:
        return written
    return span.ended


def _apart(fault: KernelFault, span: JobSpan | None, newest: float | None) -> str:
    """Return why a fault is not the job's, "" where it may be."""
    at = fault.latest if fault.at is None else fault.at
    if at is None:
        return ""
    if span is None:
        if newest is not None and newest - at > _OTHERS_SECONDS:
            return f"{lasting(newest - at)} before the last fault of these logs"
        return ""
    why = span.apart(at)
    return f"at the latest {why}" if why and fault.at is None else why


def _accuses(fault: KernelFault) -> bool:
    """Return whether a line points at a fault by itself."""
    return kernel_events.role(fault.event) == "root"
