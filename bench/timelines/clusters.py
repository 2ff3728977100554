"""A cluster with one job on it: hosts, attempts, what passes every second, and who reports."""

import math
from functools import partial
from random import Random

from .curves import LossCurve
from .devices import MODELS, DeviceState
from .event_loop import EventLoop, EventProcess
from .hosts import HostState, PortState
from .jobs import JobAttempt
from .plans import JobPlan, ReporterPlan
from .ranks import RankProcess
from .recording import PointRecorder, PointScalar
from .reporters import HostReporter


class SimulatedCluster:
    """`run` plays it; faults schedule what they do with `loop.call` before."""

    def __init__(self, plan: JobPlan, reporter: ReporterPlan, rng: Random, job_id: str) -> None:
        self.plan, self.reporter, self.rng = plan, reporter, rng
        self.loop = EventLoop()
        self.recorder = PointRecorder(1.78e9 + rng.randrange(20_000_000) + rng.random(), job_id)
        self.model = rng.choice(MODELS)
        spare = 1 if plan.move_at else 0
        names = f"{rng.choice(('gpu', 'node', 'worker', 'cn'))}-"
        rack = rng.randrange(40)
        self.hosts = [self._host(f"{names}{rack:02d}{at:02d}", at) for at in range(plan.hosts)]
        self.spares = [self._host(f"{names}{rack:02d}{90 + at}", 0) for at in range(spare)]
        older = rng.randrange(plan.hosts)
        self.hosts[older].cpu_speed = 1.0 - min(0.3, plan.cpu_skew)
        self.curve = self._curve()
        self.ranks: list[RankProcess] = []
        self.job: JobAttempt | None = None
        self._pid = 4000 + rng.randrange(10_000)
        self.init_blocked = False

    def run(self) -> None:
        plan, loop = self.plan, self.loop
        for host in [*self.hosts, *self.spares]:
            loop.spawn(self._second(host))
            loop.spawn(self._bursts(host))
            living = partial(self.living, host)
            reporter = HostReporter(loop, self.recorder, self.reporter, host, living)
            reporter.spawn(self.rng.random())
        if plan.fabric_factor > 1.0:
            loop.spawn(self._neighbours())
        if plan.restart_at or plan.move_at:
            loop.call((plan.restart_at or plan.move_at) * plan.seconds, self._replace)
        if plan.suspend_at:
            loop.call(plan.suspend_at * plan.seconds, self._suspend)
        for at, host in enumerate(self.hosts):
            if plan.upgrade_at:
                self._upgrade(host, plan.upgrade_at * plan.seconds + 45.0 * at)
        loop.call(0.0, lambda: self.start(0, plan.start_step, self.hosts))
        loop.run(plan.seconds)

    def start(self, attempt: int, first_step: int, hosts: list[HostState]) -> None:
        job = JobAttempt(
            self.loop, self.plan, self.reporter, self.recorder, self.curve, hosts,
            attempt, first_step, self.rng,
        )  # fmt: skip
        switches = self.job.switches if self.job else job.switches
        self.job, job.switches, self.ranks = job, switches, []
        for rank in range(self.plan.ranks):
            host = job.host_of(rank)
            device = host.devices[rank % self.plan.per_host]
            self._pid += 17
            self.ranks.append(RankProcess(job, rank, device, self._pid))
            host.trainers += 1
            skew = self.plan.embed_memory if rank < job.dp * job.tp and job.pp > 1 else 0.0
            skew += self.rng.gauss(0.0, self.plan.memory_sigma) + 0.02 * (rank == 0)
            self.ranks[-1].memory_skew = 1.0 + skew
            self.ranks[-1].stuck = self.init_blocked

    def living(self, host: HostState) -> list[RankProcess]:
        return [one for one in self.ranks if one.alive and one.host is host]

    def end_all(self, signal: int, within: float) -> None:
        """Let the launcher end every process that is left."""
        for one in self.ranks:
            at = self.loop.now + within * self.rng.random()
            self.loop.call(at, partial(one.end, 128 + signal, signal))

    def event(self, host: HostState, name: str, attributes: dict[str, PointScalar]) -> None:
        attempt = self.job.attempt if self.job else 0
        self.recorder.event(host.name, attempt, name, attributes, self.loop.now)

    def _replace(self) -> None:
        job, hosts = self.job, list(self.hosts)
        if job is None:
            return
        if self.plan.move_at:
            reason = {"reason": "Draining", "text": f"planned maintenance of {hosts[-1].name}"}
            self.event(hosts[-1], "scheduler.event", {**reason})
            hosts[-1] = self.spares[0]
        self.end_all(15, 1.0)
        again = self.loop.now + self.rng.uniform(15.0, 50.0)
        self.loop.call(again, lambda: self.start(job.attempt + 1, job.last_saved, hosts))

    def _suspend(self) -> None:
        job = self.job
        if job is not None:
            text = "suspended for a job of higher priority"
            self.event(self.hosts[0], "scheduler.event", {"reason": "Suspended", "text": text})
            job.resumed.fired = False
            self.loop.call(self.loop.now + self.plan.suspend_seconds, self._resume)

    def _resume(self) -> None:
        if self.job is not None:
            self.event(self.hosts[0], "scheduler.event", {"reason": "Resumed", "text": "resumed"})
            self.loop.fire(self.job.resumed)

    def _upgrade(self, host: HostState, at: float) -> None:
        agent = self.recorder.agents[host.name]

        def leave() -> None:
            agent.silent = True

        self.loop.call(at, leave)
        back = at + self.rng.uniform(12.0, 38.0)
        self.loop.call(back, lambda: self.recorder.restart_agent(host.name, back))

    def _second(self, host: HostState) -> EventProcess:
        """Advance what flows: heat, waits, caches, errors that come by chance."""
        plan, rng = self.plan, Random(self.rng.random())
        hour = 3600.0
        while not host.lost:
            now = self.loop.now
            for device in host.devices:
                device.tick(now)
                hit = rng.random() < plan.ecc_an_hour / hour / max(1, plan.ranks) * 4
                device.counts["corrected"] = device.counts.get("corrected", 0.0) + hit
            over = host.contention() * host.cpu_speed - 1.0
            host.waited += 0.004 * rng.random() + min(1.0, over / (1.0 + over))
            if host.quota is not None:
                host.throttled += 4.0 * over / (1.0 + over)
            host.cached = min(host.memory, host.cached + plan.cache_growth)
            host.disk_full = min(1.0, host.disk_full + plan.disk_growth)
            busy = min(1.0, host.disk_queue + 0.02 * rng.random())
            host.disk_queue = max(0.0, host.disk_queue - busy)
            host.disk_seconds += busy
            host.clock_offset = plan.clock_wander * math.sin(now / 180.0 + len(host.name))
            host.clock_offset += host.clock_error
            for port in host.ports:
                hit = rng.random() < plan.symbols_an_hour / hour
                port.errors["symbol_error"] = port.errors.get("symbol_error", 0.0) + hit
                marks = round(plan.marks_a_second * rng.random())
                port.congestion["ecn"] = port.congestion.get("ecn", 0.0) + marks
                port.congestion["cnp"] = port.congestion.get("cnp", 0.0) + marks // 3
            yield 1.0

    def _bursts(self, host: HostState) -> EventProcess:
        plan, rng = self.plan, Random(self.rng.random())
        while plan.burst_every:
            yield rng.uniform(0.5, 1.5) * plan.burst_every
            free = max(0.0, host.cores - host.own_demand() - host.demand - 4.0)
            cores = min(free, plan.burst_cores)
            host.demand += cores
            yield rng.uniform(4.0, 15.0)
            host.demand -= cores

    def _neighbours(self) -> EventProcess:
        """Let other jobs' traffic pass through the same switches, now and then."""
        rng = Random(self.rng.random())
        while True:
            yield rng.uniform(20.0, 120.0)
            switch, factor = (
                rng.choice(self.hosts).switch,
                rng.uniform(1.0, self.plan.fabric_factor),
            )
            ports = [port for one in self.hosts if one.switch == switch for port in one.ports]
            for port in ports:
                port.shared = factor
                port.congestion["ecn"] = port.congestion.get("ecn", 0.0) + 400.0
            yield rng.uniform(3.0, 25.0)
            for port in ports:
                port.shared = 1.0

    def _host(self, name: str, at: int) -> HostState:
        plan, rng, model = self.plan, self.rng, self.model
        per_pod = max(1, plan.hosts // 2) if plan.pod_factor > 1.0 else plan.hosts
        count = plan.per_host + plan.spare_devices
        devices = [
            DeviceState(
                model=model,
                uuid=f"GPU-{rng.getrandbits(32):08x}-{rng.getrandbits(16):04x}",
                index=index,
                rng=Random(rng.random()),
                quality=math.exp(-abs(rng.gauss(0.0, plan.chip_sigma))),
                intensity=plan.intensity,
                drift_sigma=plan.drift_sigma,
                cap=model.watts * plan.cap_share,
                ambient=rng.gauss(30.0, plan.heat_sigma / 2),
                resistance=(rng.gauss(36.0, plan.heat_sigma / 2)) / model.watts,
            )
            for index in range(count)
        ]
        ports = [PortState(f"mlx5_{rail}", 5e10) for rail in range(rng.choice((1, 2, 4)))]
        switch = f"leaf-{at // 2}"
        host = HostState(
            name, switch, at // per_pod, rng.choice((64, 96, 128)), 1.0e12, 1.0, devices, ports
        )
        host.demand, host.disk_full = 2.0 + plan.tenant_cores, plan.disk_base
        host.cached = 50e9
        resource: dict[str, PointScalar] = {}
        if self.reporter.switch:
            resource["network.switch"] = switch
        if self.reporter.kubernetes:
            resource |= {"k8s.node.name": name, "k8s.namespace.name": "training"}
        self.recorder.add_host(name, resource)
        return host

    def _curve(self) -> LossCurve:
        rng, plan = self.rng, self.plan
        tuned = plan.kind == "fine_tuning"
        return LossCurve(
            kind=plan.kind,
            start=rng.uniform(0.05, 0.3) if tuned else rng.uniform(3.0, 8.0),
            floor=rng.uniform(0.2, 0.9) if tuned else rng.uniform(1.7, 2.8),
            steps=rng.uniform(150.0, 900.0),
            noise=rng.uniform(0.004, 0.03),
            norm=math.exp(rng.uniform(-1.5, 1.0)),
            rate=math.exp(rng.uniform(-10.5, -7.5)),
            warmup=rng.randrange(20, 1500),
            clip=plan.clip,
            scale=plan.scale,
            seed=rng.randrange(1 << 30),
            restarts=plan.rate_restarts,
            outlier_every=plan.outlier_every,
        )
