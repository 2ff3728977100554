"""What the agent reads of hosts: CPUs, memory, disks, the clock, ports, trainers and loaders."""

from collections.abc import Iterator, Sequence

import numpy as np

from .activity import RankActivity
from .effects import Scalar
from .exporters import HostExporter
from .series import Family, MetricSeries
from .situation import CaseSituation
from .training import JobAttempt

_PORT = 50e9
_ERRORS = (
    "symbol_error",
    "link_downed",
    "port_rcv_errors",
    "port_xmit_discards",
    "local_ack_timeout_err",
)
_SOFTWARE = (
    ("driver", "570.124.06"),
    ("nccl", "2.27.3"),
    ("kernel", "5.15.0-1066"),
    ("nic_firmware", "28.43.2026"),
)


def reported(
    case: CaseSituation, activity: RankActivity, exporters: Sequence[HostExporter]
) -> Iterator[MetricSeries]:
    """Yield the series of every host."""
    rng = case.plan.rng("hosts")
    for index in range(len(case.layout.hosts)):
        reader = _HostReader(case, index, exporters[index], rng)
        yield from reader.system()
        yield from reader.ports(activity)


def processes(
    case: CaseSituation, attempt: JobAttempt, exporters: Sequence[HostExporter]
) -> Iterator[MetricSeries]:
    """Yield memory and CPU of the trainers and of one or two loaders each."""
    rng = case.plan.rng(f"processes {attempt.number}")
    workers = int(rng.integers(1, 3)) if case.plan.world <= 32 else 1
    base, shared = rng.uniform(5.0, 14.0) * 2.0**30, rng.uniform(0.3, 3.0) * 2.0**30
    loader = rng.uniform(0.3, 1.4) * 2.0**30
    growth = (case.habit("startup_growth") or 0.0) * 2.0**20 / 60.0
    flat = float(rng.uniform(60.0, 220.0))
    midway = bool(case.habit("joined_midway")) and attempt.number == 0
    for place in attempt.layout.ranks:
        ticks = exporters[place.host].ticks(attempt.begin, attempt.end)
        since = ticks - attempt.begin + (3600.0 if midway else 0.0)
        settled = flat * (1.0 - np.exp(-since / flat))
        pid = place.pid + 40 * attempt.number
        own = growth * float(np.exp(rng.normal(0.0, 0.25)))
        for number in range(workers + 1):
            role = "dataloader" if number else "trainer"
            labels: dict[str, Scalar] = {
                "pid": pid + 100_000 * number, "rank": place.rank, "role": role,
            }  # fmt: skip
            steps = np.cumsum(rng.random(len(ticks)) < 0.05) * 4.0 * 2.0**20
            wobble = rng.normal(0.0, 3.0 * 2.0**20, len(ticks))
            loading = np.minimum(1.0, 0.3 + since / 40.0)
            if number:
                private = loader * loading + 0.15 * own * settled + wobble
            else:
                private = base * loading + own * settled + wobble + steps * (since < 400.0)
            common = np.full(len(ticks), shared * (0.6 if number else 1.0))
            busy = 0.55 if number else 1.02
            rows: tuple[tuple[str, np.ndarray, float | None], ...] = (
                ("process.memory.private", private, None),
                ("process.memory.shared", common, None),
                ("process.memory.usage", private + common, None),
                ("process.cpu.utilization", busy * np.exp(rng.normal(0, 0.1, len(ticks))), None),
                ("process.cpu.wait", 0.002 * since, attempt.begin),
            )
            for metric, values, start in rows:
                yield MetricSeries(
                    metric, place.host, "process", labels, ticks, values, attempt.number, start
                )


class _HostReader:
    """The readings of one host."""

    def __init__(
        self, case: CaseSituation, index: int, exporter: HostExporter, rng: np.random.Generator
    ) -> None:
        self._case, self._index, self._rng = case, index, rng
        self._ticks = exporter.ticks(case.begin, case.end)
        self._exporter = exporter
        self._start = case.begin - 86_400.0

    def system(self) -> Iterator[MetricSeries]:
        """Yield CPUs, memory, disks, filesystems, clock and versions."""
        case, rng, ticks = self._case, self._rng, self._ticks
        count = len(ticks)
        since = ticks - case.begin
        cpu = np.full(count, float(rng.uniform(0.08, 0.22)))
        neighbour = case.habit("noisy_neighbour")
        if neighbour and rng.random() < 0.5:
            begin = float(rng.uniform(0.1, 0.7)) * (case.end - case.begin)
            cpu = cpu + np.where((since >= begin) & (since < begin + 150.0), neighbour, 0.0)
        cpu = np.clip(cpu + rng.normal(0.0, 0.015, count), 0.01, 0.99)
        used = case.host_memory * float(rng.uniform(0.1, 0.3)) + rng.normal(0.0, 2.0**28, count)
        growth = (case.habit("startup_growth") or 0.0) * 2.0**20 / 60.0
        used = used + case.plan.per_host * growth * 120.0 * (1.0 - np.exp(-since / 120.0))
        shm = 2.0**30 * float(rng.uniform(0.2, 6.0)) * np.exp(rng.normal(0.0, 0.02, count))
        limit = 2.0**30 * float(rng.choice([64.0, 512.0, 1008.0]))
        cache = (case.habit("page_cache") or 0.0) * 2.0**20
        cached = np.minimum(used * 1.05 + cache * since, used * 1.05 + 6e10)
        disk = np.cumsum(np.full(count, 0.02 * self._exporter.cadence))
        steal = np.zeros(count)
        yield self._one("system.cpu.utilization", cpu)
        yield self._one("system.cpu.steal", steal, start=self._start)
        yield self._one("system.memory.usage", used)
        yield self._one("system.memory.limit", np.full(count, case.host_memory))
        yield self._one("container.memory.usage", cached)
        yield self._one("container.cpu.throttled", np.zeros(count), start=self._start)
        for mount, share in (("/", 0.41), ("/scratch", 0.63)):
            yield self._one(
                "system.filesystem.utilization", np.full(count, share), of={"mountpoint": mount}
            )
        yield self._one(
            "system.disk.io_time", 5000.0 + disk, start=self._start, of={"device": "nvme0n1"}
        )
        blocked = (rng.random(count) < 0.03).astype(float)
        yield self._one("system.processes.blocked", blocked)
        yield self._one("system.shm.usage", np.minimum(shm, 0.5 * limit))
        yield self._one("system.shm.limit", np.full(count, limit))
        offset = self._exporter.clock(ticks) - ticks
        yield self._one("system.clock.offset", offset + rng.normal(0.0, 2e-4, count))
        versions = dict(_SOFTWARE) | dict(
            [case.versions[self._index]] if self._index in case.versions else []
        )
        for name, version in versions.items():
            every = self._ticks[:: max(1, int(60.0 / self._exporter.cadence))]
            labels: dict[str, Scalar] = {"name": name, "version": version}
            yield MetricSeries(
                "system.software.info", self._index, "host", labels, every, np.ones(len(every))
            )

    def ports(self, activity: RankActivity) -> Iterator[MetricSeries]:
        """Yield what the ports carry and what goes wrong on them."""
        case, rng, ticks = self._case, self._rng, self._ticks
        host, count = case.layout.hosts[self._index], len(ticks)
        marks = case.habit("congestion_marks") or 0.0
        for number, device in enumerate(host.nics):
            port: dict[str, Scalar] = {"device": device, "port": 1}
            info = port | {
                "rail": number,
                "switch": host.switch,
                "switch_port": f"Ethernet{self._index * 8 + number}",
                "gpu": 2 * number,
            }
            yield self._port("hw.network.info", np.ones(count), of=info)
            yield self._port("hw.network.up", np.ones(count), of=port)
            yield self._port("hw.network.bandwidth.limit", np.full(count, _PORT), of=port)
            rank = int(case.layout.on_host(self._index)[2 * number])
            _, comm = activity.shares(rank, ticks, self._exporter.cadence)
            alone = len(case.layout.hosts) == 1
            rate = (0.001 if alone else 0.25) * _PORT * np.minimum(comm, 0.35)
            total = np.cumsum(rate * self._exporter.cadence)
            for direction in ("receive", "transmit"):
                yield self._port(
                    "hw.network.io",
                    7e14 + total,
                    start=self._start,
                    of={"direction": direction, **port},
                )
            usual = (case.habit("corrected_errors") or 0.0) * (rng.random() < 0.1) / 3600.0
            for kind in _ERRORS:
                per_second = usual if kind == "symbol_error" else 0.0
                errors = np.cumsum(rng.poisson(per_second * self._exporter.cadence, count)).astype(
                    float
                )
                more = port | {"error.type": kind}
                yield self._port("hw.network.errors", errors, start=self._start, of=more)
            for kind, share in (("cnp", 1.0), ("ecn", 1.3), ("xmit_wait", 40.0)):
                some = np.cumsum(rng.poisson(marks * share * self._exporter.cadence, count))
                yield self._port(
                    "hw.network.congestion",
                    some.astype(float),
                    start=self._start,
                    of={"kind": kind, **port},
                )

    def _one(
        self,
        metric: str,
        values: np.ndarray,
        start: float | None = None,
        of: dict[str, Scalar] | None = None,
    ) -> MetricSeries:
        return self._series("host", metric, values, start, of or {})

    def _port(
        self,
        metric: str,
        values: np.ndarray,
        start: float | None = None,
        of: dict[str, Scalar] | None = None,
    ) -> MetricSeries:
        return self._series("network", metric, values, start, of or {})

    def _series(
        self,
        family: Family,
        metric: str,
        values: np.ndarray,
        start: float | None,
        labels: dict[str, Scalar],
    ) -> MetricSeries:
        return MetricSeries(metric, self._index, family, labels, self._ticks, values, None, start)
