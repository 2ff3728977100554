"""Whose device a table shows: by its address, by its process, or by its number on the only host."""

from collections import Counter
from collections.abc import Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from datetime import tzinfo

from .....formats.device_tables.tables import MEMORY, DeviceTable, TableDevice, TableProcess
from .....vocabulary.entities import UNNAMED_HOST
from ...job.span import JobSpan
from ...job.whereabouts import RankWhereabouts
from ..kernel_logs import KernelContents

_SHARE = 0.1
"""A process that holds less of what the largest on its device holds has a context there at most."""


_TOGETHER = 32
"""Numbers of processes by which those of one job lie apart, each with the threads and helpers that
it starts first."""

_NOTHING = 64 * 2.0**20
"""Bytes that a device holds which nobody uses: less than a context."""


@dataclass(slots=True)
class TableJob:
    """What else is known of the job beside whose logs tables stand.

    processes: by rank, to which what tables tell is added. size: how many ranks there are, 0
    unknown. alone: nothing but tables is there, and they show the job. zone: of times without one.
    """

    processes: MutableMapping[int, RankWhereabouts]
    kernels: KernelContents
    span: JobSpan | None
    size: int
    alone: bool
    zone: tzinfo | None

    def hosts(self) -> list[str]:
        """Return the hosts that ranks name."""
        return sorted({one.host for one in self.processes.values() if one.host})


def identities(tables: Sequence[DeviceTable]) -> dict[int, str]:
    """Return by index what the devices of one host are called: by address, else by UUID."""
    named: dict[int, str] = {}
    for table in tables:
        for device in table.devices:
            if device.index is None:
                continue
            if device.bus_id:
                named[device.index] = f"pci:{device.bus_id}"
            elif device.uuid:
                named.setdefault(device.index, device.uuid)
    return named


def identity(table: DeviceTable, device: TableDevice, named: Mapping[int, str]) -> str:
    """Return what a device is called, as kernels call it where its address is shown."""
    if device.bus_id:
        return f"pci:{device.bus_id}"
    if device.index is None:
        return f"{table.vendor}-unknown"
    return named.get(device.index, f"{table.vendor}-{device.index}")


def lives(table: DeviceTable, named: Mapping[int, str], at: float, job: TableJob) -> None:
    """Note at a time that ranks lived whose processes a table shows, or all where it shows none."""
    pids = {one.pid for one in table.processes}
    ids = {identity(table, one, named) for one in table.devices}
    for process in job.processes.values():
        if process.hw_id in ids and (process.pid in pids or not pids or process.pid is None):
            process.lives(at)


def place(
    tables: Sequence[DeviceTable],
    host: str,
    named: Mapping[int, str],
    job: TableJob,
    *,
    alone: bool,
) -> str:
    """Find the ranks of a host's devices; return the host as the job calls it.

    `alone`: there are tables of no other host, so that devices may have ranks by their numbers.
    """
    newest = tables[-1]
    ids = {identity(newest, one, named): one for one in newest.devices}
    known = {
        rank: one
        for rank, one in job.processes.items()
        if one.hw_id in ids and (host in ("", UNNAMED_HOST) or one.host in ("", host))
    }
    ours = {one.host for one in known.values() if one.host}
    if len(ours) > 1:
        return host  # devices of all hosts have the same addresses
    if ours:
        host = ours.pop()
    if job.alone:
        _by_main_processes(newest, host, ids, job)
        return host
    here = {
        rank: one for rank, one in job.processes.items() if one.host in ("", host) or host == ""
    }
    by_pid = {one.pid: rank for rank, one in here.items() if one.pid is not None}
    for hw_id, device in ids.items():
        ranks = {by_pid[one.pid] for one in _main(newest, device) if one.pid in by_pid}
        if len(ranks) == 1:
            rank = ranks.pop()
            if not job.processes[rank].hw_id:
                job.processes[rank].hw_id = hw_id
                known[rank] = job.processes[rank]
    size = max(job.size, 1 + max(job.processes, default=-1))
    if not known and alone and len(job.hosts()) <= 1 and size == len(ids) > 1:
        for hw_id, device in ids.items():
            if device.index is not None and device.index < size:
                known[device.index] = job.processes.setdefault(device.index, RankWhereabouts())
                known[device.index].hw_id = hw_id
    hosts = job.hosts()
    host = hosts[0] if host in ("", UNNAMED_HOST) and len(hosts) == 1 else host or UNNAMED_HOST
    for one in known.values():
        one.host = one.host or host
        mains = _main(newest, ids[one.hw_id or ""])
        if one.pid is None and len(mains) == 1:
            one.pid = mains[0].pid
    return host


def _main(table: DeviceTable, device: TableDevice) -> list[TableProcess]:
    """Return the processes that work on a device: those that hold most of its memory."""
    here = [one for one in table.processes if one.index == device.index]
    most = max((one.memory or 0.0 for one in here), default=0.0)
    return [one for one in here if one.memory is None or one.memory > _SHARE * most]


def _by_main_processes(
    table: DeviceTable, host: str, ids: Mapping[str, TableDevice], job: TableJob
) -> None:
    """Take the devices of a table for a job's, a rank each, where its processes show one.

    That is one process of one name on each, none on two. Where one device has several, the job's
    is the one that was started with the others. As many as there are devices, all on one of them,
    are the ranks of a job whose processes took the same one.
    """
    if piled := _piled(table, ids):
        for rank, (hw_id, pid) in enumerate(piled, len(job.processes)):
            job.processes[rank] = RankWhereabouts(host=host, pid=pid, hw_id=hw_id)
        return
    mains = {hw_id: _main(table, device) for hw_id, device in ids.items()}
    if all(len(held) > 1 for held in mains.values()):  # each has a context on each device
        mains = {
            hw_id: sorted(held, key=lambda one: -(one.memory or 0.0))[:1]
            for hw_id, held in mains.items()
        }
    alone = [held[0].pid for held in mains.values() if len(held) == 1]
    if len(alone) > 1 and len(alone) == len(ids) - 1:
        mains = {
            hw_id: sorted(held, key=lambda one: min(abs(one.pid - pid) for pid in alone))[:1]
            for hw_id, held in mains.items()
        }
    if len(ids) < 2 or any(len(held) != 1 for held in mains.values()):
        return
    single = {hw_id: held[0] for hw_id, held in mains.items()}
    pids = Counter(one.pid for one in single.values())
    if len(pids) < len(ids) or len({one.name for one in single.values()}) > 1:
        return
    for rank, (hw_id, one) in enumerate(single.items(), len(job.processes)):
        job.processes[rank] = RankWhereabouts(host=host, pid=one.pid, hw_id=hw_id)


def _piled(table: DeviceTable, ids: Mapping[str, TableDevice]) -> list[tuple[str, int]]:
    """Return each device with the process that it should have, where one device has all of them.

    They were started together and are one program; the other devices hold nothing.
    """
    on = {one.index for one in table.processes}
    pids = sorted({one.pid for one in table.processes})
    names = {one.name for one in table.processes}
    together = len(pids) == len(ids) > 1 and pids[-1] - pids[0] <= _TOGETHER * len(pids)
    if len(on) > 1 or len(names) > 1 or not together:
        return []
    rest = [device for device in ids.values() if device.index not in on]
    if any(device.values.get(MEMORY, 0.0) >= _NOTHING for device in rest):
        return []
    return list(zip(ids, pids, strict=True))
