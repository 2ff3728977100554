"""Readers: each looks at one thing of the node. This page is their contract and their list.

A reader is one file here, one line in a list below and one row in readers.toml; a worked example is
docs/examples/reader_load_average.py. It reads and does not evaluate; hardware that is not there is
an answer (`supported`), not an exception. `read` runs in the thread of its pace (see
`Reader.period`), may raise (counted, tried again next period) and may even hang: then it is
abandoned until it returns, and the others go on.

In: files of the kernel's, calls into the parts below. Out: samples and events. Imports: formats,
vocabulary; what stands below it.
"""

import contextlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar

from ...vocabulary.samples import Event, Sample
from .. import boots
from ..attribution import DeviceAttribution
from ..collectives.progress import StepProgress
from ..device_faults import FaultTracker
from ..devices import DeviceRegister
from ..health import AgentHealth
from ..nvml import SUBJECTS
from ..nvml.process import WorkerProcess
from ..nvml.supervisor import WorkerSupervisor
from ..rank_processes import RankProcesses
from ..trainers import TrainerProcess
from ..training_logs import LaunchedProcesses, LogBatch
from ..training_logs.following import LogForward
from . import (
    allocation,
    blocked,
    clock_offset,
    container_memory,
    cpu,
    disks,
    exporters,
    filesystems,
    flight_recorder,
    gpu_bus,
    gpu_faults,
    gpus,
    interfaces,
    kernel_log,
    memory,
    nccl_inspector,
    nccl_ras,
    oom,
    paging,
    pressure,
    shared_memory,
    throttling,
    trainer_cpu,
    trainer_memory,
    training_logs,
    worker_memory,
    workers,
)
from .network import inventory, links, ports, rails
from .software import reader as software

if TYPE_CHECKING:
    from ..settings import AgentSettings


class _OpenedSource(Protocol):
    def close(self) -> None: ...


C = TypeVar("C", bound=_OpenedSource)


def _nobody(_: object) -> None:
    """Listen to nothing."""


def _default_settings() -> "AgentSettings":
    from ..settings import AgentSettings  # noqa: PLC0415  holds what reads and checks settings

    return AgentSettings()


@dataclass(frozen=True, slots=True, kw_only=True)
class ReaderContext:
    """What readers are given: where to look, where events go, what to keep between two starts.

    `emit` takes an event at once and from any thread, `deliver` what a job's own logs and
    processes report, `forward` the bytes of logs, None where nothing is forwarded.
    `adopt` takes (worker, trainer) pids.
    `state` is a folder of the agent's own that outlives it; None: nothing is kept. `closing` takes
    what is to be done when the agent ends. `start_nvml` begins the worker that asks NVML.
    """

    settings: "AgentSettings" = field(default_factory=_default_settings)
    trainers: Callable[[], Sequence[TrainerProcess]] = list
    adopt: Callable[[Sequence[tuple[int, int]]], None] = _nobody
    emit: Callable[[Event], None] = _nobody
    deliver: Callable[[LogBatch | LaunchedProcesses], None] = _nobody
    forward: LogForward | None = None
    health: AgentHealth = field(default_factory=AgentHealth)
    devices: DeviceRegister = field(default_factory=DeviceRegister)
    attribution: DeviceAttribution = field(default_factory=DeviceAttribution)
    fault_tracker: FaultTracker = field(default_factory=lambda: FaultTracker(boot_id="", now=0.0))
    closing: contextlib.ExitStack = field(default_factory=contextlib.ExitStack)
    state: Path | None = None
    proc: Path = Path("/proc")
    sys: Path = Path("/sys")
    dev: Path = Path("/dev")
    now: Callable[[], float] = time.time
    start_nvml: Callable[..., WorkerProcess] = WorkerProcess

    @property
    def period(self) -> float:
        """Return the seconds between two readings of ordinary things."""
        return self.settings.readers.period_seconds

    def until_end(self, part: C) -> C:
        """Return a part of the agent that is closed when the agent ends."""
        self.closing.callback(part.close)
        return part


class NodeReader(Protocol):
    """What a reader offers."""

    name: str
    """One word or two, as settings, health and `rankscope doctor` call it."""

    period: float
    """Seconds between two readings; what is older than three periods is not shown any more.

    Readers of a second or less share a thread of their own, so that no slow one delays an event.
    """

    def supported(self) -> tuple[bool, str]:
        """Return whether this node has what is read; if not, why not, and what would help."""
        ...

    def read(self, now: float) -> list[Sample]:
        """Return the samples of one reading, timed `now` (seconds since the epoch)."""
        ...


def everything(around: ReaderContext) -> list[NodeReader]:
    around.closing.callback(around.fault_tracker.leave)  # last of all: those below may still emit
    boot = boots.boot_id(around.proc)
    return [
        *_of_devices(around, boot),
        *_of_job_files(around),
        *_of_host(around),
        *_of_trainers(around),
        *_of_network(around, boot),
    ]


def _of_devices(around: ReaderContext, boot: str) -> list[NodeReader]:
    period = around.period
    gpu = around.until_end(
        WorkerSupervisor(
            subjects=[name for name in SUBJECTS if name not in around.settings.readers.off],
            period=period,
            devices=around.devices,
            health=around.health,
            emit=around.emit,
            now=around.now,
            start=around.start_nvml,
        )
    )
    kernel = kernel_log.KernelLogReader(
        path=around.settings.kernel_log.path or around.dev / "kmsg",
        emit=around.emit,
        health=around.health,
        period=period,
        devices=around.devices,
        state=around.state,
        lookback_seconds=60 * around.settings.kernel_log.lookback_minutes,
        boot_id=boot,
        now=around.now,
    )
    exported = exporters.ExporterReader(
        period=period,
        settings=around.settings.exporters,
        emit=around.emit,
        health=around.health,
        native=gpu.answers,
        status_reported=around.fault_tracker.reports_status,
        native_metrics=gpu.metrics,
        learn=around.devices.learn,
        dcgm_names_shown=around.settings.export.dcgm_names != "off",
        state=around.state,
    )
    return [
        gpus.GpuWatch(supervisor=gpu),
        gpu_bus.GpuBus(
            devices=around.devices, emit=around.emit, answering=gpu.answering, sys=around.sys
        ),
        gpu_faults.GpuFaults(
            period=period, fault_tracker=around.fault_tracker, health=around.health
        ),
        around.until_end(kernel),
        *(
            gpus.GpuSubject(name, period=max(period, pace or 0.0), supervisor=gpu)
            for name, pace in SUBJECTS.items()
        ),
        around.until_end(exported),
    ]


def _of_job_files(around: ReaderContext) -> list[NodeReader]:
    """Return the readers of what a job's own libraries write; whose each file is, is read once."""
    progress = StepProgress(around.deliver)
    processes = RankProcesses(around.proc)
    logs = training_logs.TrainingLogs(
        settings=around.settings.logs,
        deliver=progress,
        health=around.health,
        period=around.period,
        state=around.state,
        forward=around.forward,
        processes=processes,
        now=around.now,
    )
    launches = nccl_ras.NcclRas(
        settings=around.settings.ras,
        deliver=progress,
        health=around.health,
        period=around.period,
        processes=processes,
        now=around.now,
    )
    operations = nccl_inspector.NcclInspector(
        settings=around.settings.inspector,
        deliver=around.deliver,
        health=around.health,
        period=around.period,
        processes=processes,
        now=around.now,
    )
    dumps = flight_recorder.FlightRecorderReader(
        settings=around.settings.flight_recorder,
        deliver=around.deliver,
        still_since=progress.still_since,
        health=around.health,
        period=around.period,
        processes=processes,
        now=around.now,
    )
    return [around.until_end(one) for one in (logs, launches, operations, dumps)]


def _of_host(around: ReaderContext) -> list[NodeReader]:
    period, proc = around.period, around.proc
    return [
        cpu.CpuReader(period=period, proc=proc),
        memory.MemoryReader(period=period),
        filesystems.FilesystemReader(period=6 * period),
        disks.DiskReader(period=period),
        shared_memory.SharedMemory(period=period),
        blocked.BlockedProcessesReader(period=period, proc=proc),
        clock_offset.ClockOffsetReader(period=period),
        pressure.PressureReader(period=period, proc=proc),
        paging.PagingReader(period=period, proc=proc),
        interfaces.InterfaceReader(period=period, proc=proc, sys=around.sys),
    ]


def _of_trainers(around: ReaderContext) -> list[NodeReader]:
    period, proc, trainers = around.period, around.proc, around.trainers
    found = workers.LoaderWorkers(
        trainers=trainers, adopt=around.adopt, refresh=2.5 * period, proc=proc
    )
    return [
        trainer_cpu.TrainerCpu(period=period, workers=found, proc=proc),
        trainer_memory.TrainerMemory(period=period, workers=found, proc=proc),
        worker_memory.WorkerMemoryReader(period=6 * period, workers=found, proc=proc),
        throttling.CpuThrottlingReader(period=period, trainers=trainers, proc=proc),
        container_memory.ContainerMemory(period=period, trainers=trainers, proc=proc),
        oom.OomKills(trainers=trainers, emit=around.emit, health=around.health, proc=proc),
        software.SoftwareReader(
            emit=around.emit, trainers=trainers, state=around.state, proc=proc, sys=around.sys
        ),
        allocation.AllocationReader(
            period=around.settings.attribution.period_seconds,
            settings=around.settings.attribution,
            attribution=around.attribution,
            trainers=trainers,
            health=around.health,
            proc=proc,
        ),
    ]


def _of_network(around: ReaderContext, boot: str) -> list[NodeReader]:
    network = inventory.PortInventory(
        settings=around.settings.network, sys=around.sys, proc=around.proc
    )
    counted = ports.NetworkPorts(
        period=around.period,
        inventory=network,
        state=around.state,
        boot=boot,
        health=around.health,
        emit=around.emit,
    )
    return [
        links.NetworkLinks(inventory=network, state=around.state, boot=boot, emit=around.emit),
        around.until_end(counted),
        rails.NetworkRails(
            period=6 * around.period,
            inventory=network,
            settings=around.settings.network,
            switch=around.settings.node.attributes.get("network.switch", ""),
            devices=around.devices,
        ),
    ]
