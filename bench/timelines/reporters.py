"""Reporters of a host: each reads, at its own cadence, what holds at that moment."""

import statistics
from collections.abc import Callable

from .collectives import CollectiveGroup
from .devices import DeviceState
from .event_loop import EventLoop, EventProcess
from .hosts import HostState
from .plans import ReporterPlan
from .ranks import RankProcess
from .recording import PointAttributes, PointRecorder

TICK_SECONDS = 5.0
THROTTLE_REASONS = ("thermal_hw", "thermal_sw", "power_cap", "clocks_setting", "idle")
ERROR_TYPES = ("symbol_error", "link_downed", "port_rcv_errors", "port_xmit_discards")


class HostReporter:
    """All families of one host. `ranks`: the living ranks there, asked at each reading."""

    def __init__(
        self,
        loop: EventLoop,
        recorder: PointRecorder,
        plan: ReporterPlan,
        host: HostState,
        ranks: Callable[[], list[RankProcess]],
    ) -> None:
        self.loop, self.recorder, self.plan, self.host = loop, recorder, plan, host
        self.ranks = ranks
        self._spent: dict[str, tuple[float, float, float]] = {}
        self._informed: dict[str, float] = {}
        self._more: PointAttributes = ()

    def spawn(self, phase: float) -> None:
        """Start every family that is reported; `phase`: 0 to 1, of its cadence."""
        plan = self.plan
        for every, read in (
            (0.0 if plan.training == "log" else TICK_SECONDS, self._read_ranks),
            (plan.process, self._read_processes),
            (plan.collective, self._read_collectives),
            (plan.device, self._read_devices),
            (plan.host, self._read_host),
            (plan.network, self._read_network),
        ):
            if every:
                self.loop.spawn(self._every(every, read), at=phase * every)

    def _every(self, seconds: float, read: Callable[[], None]) -> EventProcess:
        while not self.host.lost:
            read()
            yield seconds

    def _gauge(
        self, attempt: int | None, metric: str, attributes: PointAttributes, value: float
    ) -> None:
        self.recorder.gauge(
            self.host.name, attempt, metric, attributes + self._more, self.loop.now, value
        )

    def _counter(
        self, attempt: int | None, metric: str, attributes: PointAttributes, value: float
    ) -> None:
        self.recorder.counter(
            self.host.name, attempt, metric, attributes + self._more, self.loop.now, value
        )

    def _read_ranks(self) -> None:
        for one in self.ranks():
            job = one.job
            named: PointAttributes = (
                ("rank", one.rank),
                ("local_rank", one.rank % job.plan.per_host),
                ("world_size", job.plan.ranks),
                ("hw.id", one.device.uuid),
                ("pid", one.pid),
                ("framework", "torch"),
                ("dp", one.replica),
                ("tp", one.part),
                ("pp", one.stage),
            )
            self._gauge(job.attempt, "training.rank.info", named, 1.0)
            if one.stepped:
                age = self.loop.now - one.last_end
                self._gauge(job.attempt, "training.progress.age", (("rank", one.rank),), age)

    def _read_processes(self) -> None:
        for one in self.ranks():
            rows = [("trainer", one.pid, one.private(), 0.95)]
            rows += [("dataloader", pid, one.loader_private(), 0.4) for pid in one.loader_pids]
            for role, pid, private, busy in rows:
                named: PointAttributes = (("pid", pid), ("rank", one.rank), ("role", role))
                attempt, shared = one.job.attempt, one.shared()
                self._gauge(attempt, "process.memory.usage", named, private + shared)
                self._gauge(attempt, "process.memory.private", named, private)
                self._gauge(attempt, "process.memory.shared", named, shared)
                cpu = 0.01 if one.stuck else busy / max(1.0, self.host.contention())
                self._gauge(attempt, "process.cpu.utilization", named, cpu)
                self._counter(attempt, "process.cpu.wait", named, self.host.waited)

    def _read_collectives(self) -> None:
        for one in self.ranks():
            for kind in ("dp", "tp", "ep"):
                group = one.job.groups[kind].get(one.rank)
                if group is not None and one.stepped:
                    self._read_group(one, group)

    def _read_group(self, one: RankProcess, group: CollectiveGroup) -> None:
        attempt, rank, now = one.job.attempt, one.rank, self.loop.now
        named: PointAttributes = (("rank", rank), ("group", group.name))
        if rank == group.ranks[0] and now - self._informed.get(group.name, -1e9) >= 600.0:
            self._informed[group.name] = now
            info: PointAttributes = (
                ("group", group.name),
                ("kind", group.kind),
                ("desc", group.desc),
                ("size", len(group.ranks)),
                ("ranks", ",".join(map(str, group.ranks))),
            )
            self._gauge(attempt, "collective.group.info", info, 1.0)
        self._gauge(attempt, "collective.enqueued", named, group.enqueued[rank])
        self._gauge(attempt, "collective.started", named, group.enqueued[rank])
        self._gauge(attempt, "collective.completed", named, group.completed[rank])
        recent, group.recent[rank] = group.recent[rank], []
        if recent:
            kind: PointAttributes = (*named, ("op", group.op))
            self._gauge(attempt, "collective.count", kind, len(recent))
            self._gauge(attempt, "collective.duration", kind, statistics.median(recent))
            self._gauge(attempt, "collective.duration.max", kind, max(recent))
            self._gauge(attempt, "collective.size", kind, len(recent) * group.size)
            width = statistics.median(group.bandwidths[-9:])
            self._gauge(attempt, "collective.bus_bandwidth", kind, width)
        if self.plan.op_samples and rank in group.sample:
            for seq, took, at in [group.sample.pop(rank)]:
                sample: PointAttributes = (*named, ("op", group.op), ("seq", seq), ("clock", "gpu"))
                self.recorder.gauge(
                    self.host.name, attempt, "collective.op.duration", sample, at, took
                )

    def _read_devices(self) -> None:
        placed = {one.device.uuid: one for one in self.ranks()}
        self._more = (("source", self.plan.device_source),) if self.plan.device_source else ()
        for device in self.host.devices:
            if not device.lost:
                self._read_device(device, placed.get(device.uuid))
        self._more = ()

    def _read_device(self, device: DeviceState, one: RankProcess | None) -> None:
        now = self.loop.now
        device.settle(now)
        compute, comm, since = self._spent.get(device.uuid, (0.0, 0.0, now - 1.0))
        spent = device.spent
        self._spent[device.uuid] = (spent["compute"], spent["comm"], now)
        span = max(1e-9, now - since)
        busy = min(1.0, (spent["compute"] - compute) / span)
        waits = min(1.0 - busy, (spent["comm"] - comm) / span)
        attempt = one.job.attempt if one is not None and self.plan.placed else None
        named: PointAttributes = (("hw.id", device.uuid), ("gpu", device.index))
        if attempt is not None and one is not None:
            named = (*named, ("rank", one.rank))
        used = 0.6e9 + sum(device.foreign_memory.values()) + (one.reserved() if one else 0.0)
        rows: list[tuple[str, PointAttributes, float]] = [
            ("hw.gpu.utilization", (), min(1.0, busy + waits + device.foreign)),
            ("hw.gpu.sm.activity", (), min(1.0, 0.9 * busy + 0.12 * waits + device.foreign)),
            ("hw.gpu.tensor.activity", (), 0.55 * device.intensity * busy),
            ("hw.gpu.memory.activity", (), 0.5 * busy + 0.06 * waits),
            ("hw.gpu.memory.usage", (), min(used, device.model.memory)),
            ("hw.gpu.memory.limit", (), device.model.memory),
            ("hw.temperature", (("hw.sensor", "gpu"),), round(device.temperature)),
            ("hw.temperature", (("hw.sensor", "memory"),), round(device.temperature + 6.0)),
            ("hw.power", (), device.watts),
            ("hw.power.limit", (), device.cap),
            ("hw.gpu.pcie.width", (), device.pcie_width),
            ("hw.gpu.pcie.width.max", (), 16),
            ("hw.gpu.row_remap", (("state", "pending"),), device.remap == "pending"),
            ("hw.gpu.row_remap", (("state", "failed"),), device.remap == "failed"),
            ("hw.status", (("hw.state", "ok"),), 1.0),
        ]
        if self.plan.frequency:
            hertz = device.clock * device.model.hertz
            rows.append(("hw.frequency", (("domain", "sm"),), hertz))
            limit = device.lock * device.model.hertz
            rows.append(("hw.frequency.limit", (("domain", "sm"),), limit))
        if self.plan.throttle:
            rows += [
                ("hw.gpu.throttle", (("reason", reason),), float(reason in device.reasons))
                for reason in THROTTLE_REASONS
            ]
        for metric, more, value in rows:
            self._gauge(attempt, metric, named + more, float(value))
        self._counter(attempt, "hw.energy", named, device.joules)
        for part, state in (("hbm", "corrected"), ("hbm", "uncorrected")):
            count = device.counts.get(state, 0.0)
            self._counter(
                attempt, "hw.errors", (*named, ("error.type", state), ("hw.part", part)), count
            )
        self._counter(attempt, "hw.gpu.pcie.replays", named, device.counts.get("replays", 0.0))
        if device.model.watts > 350.0:
            link: PointAttributes = (*named, ("link", 3))
            self._gauge(attempt, "hw.gpu.nvlink.up", link, 1.0)
            crc = device.counts.get("nvlink", 0.0)
            self._counter(attempt, "hw.gpu.nvlink.errors", (*link, ("error.type", "crc")), crc)
        for pid, memory in device.foreign_memory.items():
            self._gauge(attempt, "hw.gpu.process.memory", (*named, ("pid", pid)), memory)
        if one is not None and self.plan.placed:
            own: PointAttributes = (*named, ("pid", one.pid))
            self._gauge(attempt, "hw.gpu.process.memory", own, one.reserved() + 0.5e9)

    def _read_host(self) -> None:
        host = self.host
        used = (
            30e9 + host.used + sum(one.private() + 2 * one.loader_private() for one in self.ranks())
        )
        used = min(used, 0.985 * host.memory)
        self._gauge(None, "system.cpu.utilization", (), host.utilization())
        if self.plan.memory_states:
            cached = min(host.cached, host.memory - used)
            for state, value in (
                ("used", used), ("cached", cached), ("free", host.memory - used - cached),
            ):  # fmt: skip
                self._gauge(None, "system.memory.usage", (("system.memory.state", state),), value)
        else:
            self._gauge(None, "system.memory.usage", (), used)
        self._gauge(None, "system.memory.limit", (), host.memory)
        self._gauge(None, "system.filesystem.utilization", (("mountpoint", "/"),), host.disk_full)
        self._counter(None, "system.disk.io_time", (("device", "nvme0n1"),), host.disk_seconds)
        self._counter(None, "system.cpu.steal", (), 0.0)
        self._counter(None, "container.cpu.throttled", (), host.throttled)
        self._gauge(None, "system.processes.blocked", (), host.blocked)
        self._gauge(None, "system.clock.offset", (), host.clock_offset)
        self._gauge(None, "system.shm.usage", (), host.shm * 64e9)
        self._gauge(None, "system.shm.limit", (), 64e9)
        driver: PointAttributes = (("name", "nvidia-driver"), ("version", host.driver))
        self._gauge(None, "system.software.info", driver, 1.0)

    def _read_network(self) -> None:
        for rail, port in enumerate(self.host.ports):
            named: PointAttributes = (("device", port.device), ("port", 1))
            if self.plan.switch:
                info: PointAttributes = (*named, ("rail", rail), ("switch", self.host.switch))
                self._gauge(None, "hw.network.info", info, 1.0)
            self._gauge(None, "hw.network.up", named, float(port.up))
            self._gauge(None, "hw.network.bandwidth.limit", named, port.rate)
            for direction, value in (("transmit", port.sent), ("receive", port.received)):
                self._counter(None, "hw.network.io", (*named, ("direction", direction)), value)
            for kind in ERROR_TYPES:
                count = port.errors.get(kind, 0.0)
                self._counter(None, "hw.network.errors", (*named, ("error.type", kind)), count)
            for kind in ("ecn", "cnp", "xmit_wait"):
                count = port.congestion.get(kind, 0.0)
                self._counter(None, "hw.network.congestion", (*named, ("kind", kind)), count)
