"""Tables as telemetry: samples of what devices showed, and faults beside those of kernels."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from .....formats.device_tables.tables import DeviceTable, HostTable
from .....formats.training_logs import cleaning
from .....vocabulary.samples import (
    JOB_SOURCE,
    Event,
    Sample,
    Scalar,
    TelemetryResource,
    attributes,
)
from ...found import ArtefactContents
from .. import kernel_events
from ..kernel_logs import KernelFault
from . import dated_tables, meanings, placing
from .dated_tables import DatedTable
from .placing import TableJob


def add(
    files: Mapping[str, Path], job: TableJob, resource: TelemetryResource, found: ArtefactContents
) -> None:
    """Add what the tables in logs show of devices and hosts; errors of files are noted in `found`.

    Ranks that are known by a table alone are added to the job's.
    """
    tables: list[DatedTable] = []
    written: dict[str, float] = {}
    for name, path in files.items():
        try:
            read = dated_tables.read(name, path, job.zone)
            written[name] = path.stat().st_mtime
        except OSError as error:
            found.unread[name] = f"cannot be read: {error.strerror}"
            continue
        if read:
            tables += read
            found.unread.pop(name, None)
            found.read[name] = _described(read, found.read.get(name, ""))
    hosts = job.hosts()
    job.kernels.hosts |= {one.table.host for one in tables if one.table.host}
    by_host: dict[str, list[DatedTable]] = {}
    for one in tables:
        host = job.kernels.host_of(one.table.host, one.file, hosts)
        by_host.setdefault(host, []).append(one)
    for host, listed in by_host.items():
        alone = len(by_host) == 1
        _add_devices(host, listed, written, job, resource, found, alone=alone)
        for one in listed:
            if isinstance(one.table, HostTable):
                _add_host(host, one, one.table, job)


def _described(tables: list[DatedTable], before: str) -> str:
    tools: dict[str, int] = {}
    for one in tables:
        tools[one.table.tool] = tools.get(one.table.tool, 0) + 1
    named = ", ".join(f"{tool} ({count})" if count > 1 else tool for tool, count in tools.items())
    return f"{before}; tables of {named}" if before else f"tables of {named}"


def _add_devices(
    host: str,
    listed: list[DatedTable],
    written: Mapping[str, float],
    job: TableJob,
    resource: TelemetryResource,
    found: ArtefactContents,
    *,
    alone: bool,
) -> None:
    tables = [(one, one.table) for one in listed if isinstance(one.table, DeviceTable)]
    if not tables:
        return
    named = placing.identities([table for _, table in tables])
    host = placing.place([table for _, table in tables], host, named, job, alone=alone)
    for one, table in tables:
        job.kernels.faults += _faults(host, one, table, named)
    one, table = tables[-1]
    for fault in meanings.of_all_devices(table):
        event = Event("log.fault", 0.0, _logged(fault.signature, fault.text))
        place = fault.line + 1
        job.kernels.faults.append(KernelFault(event, one.file, place, host, one.at, one.at))
    if job.alone and not job.processes:
        labels = ((JOB_SOURCE, "labels"),)
        own = TelemetryResource(host, resource.job, resource.attempt, extra=labels)
    elif any(one.host == host for one in job.processes.values()):
        own = replace(resource, host=host)
    else:
        return  # whose devices they are is not known
    for place, (one, table) in enumerate(tables):
        at = one.at
        if at is None:
            latest = written[one.file] if job.span is None else job.span.ended
            at = min(written[one.file], latest) - (len(tables) - 1 - place)
        elif job.span is not None and job.span.apart(at):
            continue
        found.samples += [(own, sample) for sample in _samples(table, named, at)]
        placing.lives(table, named, at, job)
        found.shown = max(found.shown or at, at)
        found.until = max(found.until or at, at)


def _samples(table: DeviceTable, named: Mapping[int, str], at: float) -> Iterator[Sample]:
    for device in table.devices:
        hw_id = placing.identity(table, device, named)
        of: dict[str, Scalar | None] = {
            "hw.id": hw_id, "gpu": device.index, "hw.vendor": table.vendor,
        }  # fmt: skip
        info = attributes({**of, "hw.model": device.name or None})
        yield Sample("hw.gpu.info", 1.0, at, info)
        idle = not meanings.works(device)
        for (metric, pairs), value in device.values.items():
            if metric == "hw.gpu.throttle" and idle:
                continue
            yield Sample(metric, value, at, attributes({**dict(pairs), **of}))
        for process in table.processes:
            if process.index == device.index and process.memory is not None:
                pairs = attributes({**of, "pid": process.pid})
                yield Sample("hw.gpu.process.memory", process.memory, at, pairs)


def _faults(
    host: str, one: DatedTable, table: DeviceTable, named: Mapping[int, str]
) -> Iterator[KernelFault]:
    for device in table.devices:
        hw_id = placing.identity(table, device, named)
        for fault in meanings.of_device(table, device):
            pairs: dict[str, Scalar] = {
                "hw.id": hw_id,
                "code": fault.code,
                "vendor": table.vendor,
                "source": "table",
                "text": _shown(fault.text),
            }
            if device.index is not None:
                pairs["gpu"] = device.index
            if fault.grade:
                pairs["class"] = fault.grade
            event = kernel_events.graded(Event("gpu.fault", 0.0, pairs))
            yield KernelFault(event, one.file, fault.line + 1, host, one.at, one.at)


def _add_host(host: str, one: DatedTable, table: HostTable, job: TableJob) -> None:
    events = [
        (fault.line, Event("log.fault", 0.0, _logged(fault.signature, fault.text)))
        for fault in meanings.of_host(table)
    ]
    for port in meanings.down_ports(table):
        pairs: dict[str, Scalar] = {**_logged("nic.link_down", port.text), "device": port.device}
        events.append((port.line, Event("log.fault", 0.0, pairs)))
    job.kernels.faults += [
        KernelFault(event, one.file, line + 1, host, one.at, one.at) for line, event in events
    ]


def _logged(signature: str, text: str) -> dict[str, Scalar]:
    role = "confirmation" if signature == meanings.MEMORY_GONE else "root"
    return {"signature": signature, "role": role, "text": _shown(text)}


def _shown(text: str) -> str:
    """Return a text with parts of a file as it may be passed on."""
    return cleaning.shown("".join(one for one in text if one.isprintable()))
