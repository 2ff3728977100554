"""Faults: what each changes in the cluster at its onset; the symptoms follow by simulation."""

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any

from .clusters import SimulatedCluster
from .devices import DeviceState
from .hosts import HostState
from .ranks import RankProcess
from .recording import PointScalar

OTHERS_END_SECONDS = 25.0


@dataclass(slots=True)
class FaultScene:
    """Where and how strongly a fault strikes; and the truth about it. `onset`: simulated s."""

    cluster: SimulatedCluster
    rng: Random
    weak: bool
    onset: float
    rank: int
    entity: dict[str, Any] = field(default_factory=dict)
    ranks: list[int] = field(default_factory=list)
    also: list[list[str]] = field(default_factory=list)

    @property
    def host(self) -> HostState:
        return self.cluster.hosts[self.rank // self.cluster.plan.per_host]

    @property
    def device(self) -> DeviceState:
        return self.host.devices[self.rank % self.cluster.plan.per_host]

    def process(self) -> RankProcess:
        """Return the rank struck; only once the job has started."""
        return self.cluster.ranks[self.rank]

    def amount(self, plain: float, weak: float) -> float:
        return (weak if self.weak else plain) * self.rng.uniform(0.9, 1.1)

    def at(self, action: Callable[[], None], later: float = 0.0) -> None:
        self.cluster.loop.call(self.onset + later, action)

    def every(self, seconds: float, action: Callable[[], None]) -> None:
        """Repeat from the onset to the end."""

        def repeat() -> None:
            action()
            self.cluster.loop.call(self.cluster.loop.now + seconds, repeat)

        self.at(repeat)

    def at_gpu(self) -> None:
        self._about("gpu", self.device.uuid, [self.rank])

    def at_host(self) -> None:
        first = self.rank // self.cluster.plan.per_host * self.cluster.plan.per_host
        self._about("host", self.host.name, list(range(first, first + self.cluster.plan.per_host)))

    def at_rank(self) -> None:
        self._about("rank", str(self.rank), [self.rank])

    def at_job(self, kind: str = "job") -> None:
        self.ranks = list(range(self.cluster.plan.ranks))
        self.entity = {"type": kind, "id": self.cluster.recorder.job, "host": None}

    def at_nic(self) -> None:
        self.at_host()
        self.entity |= {"type": "nic", "id": f"{self.host.name}/{self.host.ports[-1].device}:1"}

    def at_process(self, pid: int) -> None:
        self._about("process", f"{self.host.name}:{pid}", [self.rank])

    def _about(self, kind: str, name: str, ranks: list[int]) -> None:
        self.entity = {"type": kind, "id": name, "host": self.host.name}
        self.ranks = ranks

    def xid(self, code: int, text: str) -> None:
        pid = self.process().pid
        line = f"NVRM: Xid (PCI:0000:{0x10 + self.device.index:02x}:00): {code}, pid={pid}, {text}"
        named: dict[str, PointScalar] = {"hw.id": self.device.uuid, "code": code}
        self.cluster.event(self.host, "gpu.fault", named | {"vendor": "nvidia", "text": line})

    def crash(self, signature: str, text: str, code: int, signal: int) -> None:
        """End the rank with a line in its log; the launcher ends the others later."""
        if signature:
            self.process().log(signature, text)
        self.process().end(code, signal)
        later = self.cluster.loop.now + OTHERS_END_SECONDS
        self.cluster.loop.call(later, lambda: self.cluster.end_all(15, 3.0))


def _slow_device(scene: FaultScene) -> None:
    scene.at_gpu()
    _set_later(scene, scene.device, slow=scene.amount(1.5, 1.12))


def _locked_clock(scene: FaultScene) -> None:
    scene.at_gpu()
    _set_later(scene, scene.device, lock=1.0 / scene.amount(1.6, 1.2))


def _hot_device(scene: FaultScene) -> None:
    scene.at_gpu()

    def block() -> None:
        device = scene.device
        mean = device.joules / scene.cluster.loop.now
        device.resistance = (device.model.hot + scene.amount(40.0, 14.0) - device.ambient) / mean

    scene.at(block)


def _capped_host(scene: FaultScene) -> None:
    scene.at_host()

    def cap() -> None:
        for device in scene.host.devices:
            mean = device.joules / scene.cluster.loop.now
            device.cap = round(mean / scene.amount(1.6, 1.15))

    scene.at(cap)


def _narrow_bus(scene: FaultScene) -> None:
    scene.at_gpu()

    def narrow() -> None:
        scene.device.pcie_width = 8 if scene.weak else 4
        scene.process().extra_data = scene.amount(0.4, 0.12) * scene.cluster.plan.compute

    scene.at(narrow)
    scene.every(7.0, lambda: _count(scene.device.counts, "replays", 3))


def _bad_nvlink(scene: FaultScene) -> None:
    scene.at_gpu()
    _set_later(scene, scene.device, nvlink_slow=scene.amount(20.0, 6.0))
    if not scene.weak:
        scene.at(lambda: scene.xid(74, "NVLink: fatal error detected on link 3"))
    scene.every(1.0, lambda: _count(scene.device.counts, "nvlink", scene.amount(40.0, 8.0)))


def _lost_device(scene: FaultScene) -> None:
    scene.at_gpu()
    _set_later(scene, scene.device, lost=True)
    scene.at(lambda: setattr(scene.process(), "stuck", True))
    scene.at(lambda: scene.xid(79, "GPU has fallen off the bus."))


def _uncorrectable(scene: FaultScene) -> None:
    scene.at_gpu()
    text = "CUDA error: uncorrectable ECC error encountered"

    def strike() -> None:
        _count(scene.device.counts, "uncorrected", 1)
        scene.xid(48, "DBE (double bit error) ECC")
        scene.xid(94, "Contained: CE User Channel")
        scene.crash("cuda.ecc", text, 1, 6)

    scene.at(strike)


def _remapped_row(scene: FaultScene) -> None:
    scene.at_gpu()
    _set_later(scene, scene.device, remap="pending" if scene.weak else "failed")
    scene.at(lambda: scene.xid(63 if scene.weak else 64, "Row remapper: row remap event"))


def _hung_firmware(scene: FaultScene) -> None:
    scene.at_gpu()
    scene.at(lambda: setattr(scene.process(), "stuck", True))
    scene.at(lambda: scene.xid(119, "Timeout after 6s of waiting for RPC response from GPU GSP"), 6)


def _foreign_process(scene: FaultScene) -> None:
    scene.at_gpu()
    memory = {990_000 + scene.rng.randrange(9_000): 6.0e9}
    _set_later(scene, scene.device, foreign=scene.amount(0.4, 0.14), foreign_memory=memory)


def _leaking_device(scene: FaultScene) -> None:
    scene.at_rank()
    rate = 0.4 * scene.device.model.memory / 420.0 * scene.amount(1.0, 0.5)
    scene.at(lambda: _leak(scene, leak_device=rate))


def _device_full(scene: FaultScene) -> None:
    scene.at_rank()
    scene.at(lambda: _leak(scene, leak_device=scene.device.model.memory / 40.0))
    text = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.50 GiB."
    scene.at(lambda: scene.crash("gpu.out_of_memory", text, 1, 0), 22.0)


def _fragmentation(scene: FaultScene) -> None:
    scene.at_rank()

    def split() -> None:
        one = scene.process()
        one.fragmented = min(0.5, one.fragmented + scene.amount(0.03, 0.015))
        one.retries += 2
        one.extra_host = scene.amount(0.1, 0.03) * scene.cluster.plan.compute

    scene.every(10.0, split)


def _contexts(scene: FaultScene) -> None:
    scene.rank = 0
    scene.at_gpu()
    scene.onset = 5.0

    def start() -> None:
        peers = scene.cluster.ranks[1 : scene.cluster.plan.per_host]
        scene.device.foreign_memory = {one.pid: 0.55e9 for one in peers}

    scene.at(start)


def _leaking_trainer(scene: FaultScene) -> None:
    scene.at_process(0)

    def leak() -> None:
        _leak(scene, leak_private=scene.amount(90e6, 30e6))
        scene.at_process(scene.process().pid)

    scene.at(leak)


def _leaking_loader(scene: FaultScene) -> None:
    scene.at_process(0)

    def leak() -> None:
        _leak(scene, leak_loader=scene.amount(50e6, 15e6))
        scene.at_process(scene.process().loader_pids[0])

    scene.at(leak)


def _host_memory(scene: FaultScene) -> None:
    scene.at_host()

    def grow() -> None:
        scene.host.used = min(scene.host.memory, scene.host.used + 0.02 * scene.host.memory)

    def kill() -> None:
        one = scene.process()
        named: dict[str, PointScalar] = {"pid": one.pid, "rank": one.rank, "cgroup": "/pod7"}
        scene.cluster.event(scene.host, "host.oom_kill", named)
        scene.crash("", "", 137, 9)

    scene.every(2.0, grow)
    scene.at(kill, 104.0)


def _shared_memory(scene: FaultScene) -> None:
    scene.at_host()
    _set_later(scene, scene.host, shm=0.999)
    text = "DataLoader worker (pid 4711) is killed by signal: Bus error. It is possible that "
    text += "dataloader's workers are out of shared memory."
    scene.at(lambda: scene.crash("dataloader.shared_memory", text, 135, 7), 12.0)


def _gather(scene: FaultScene) -> None:
    scene.rank = 0
    scene.at_rank()

    def gather() -> None:
        one = scene.process()
        one.extra_device = scene.amount(0.4, 0.12) * scene.cluster.plan.compute
        one.memory_skew = 1.2

    scene.at(gather)


def _preprocessing(scene: FaultScene) -> None:
    scene.rank = 0
    scene.at_rank()
    extra = scene.amount(0.5, 0.15) * scene.cluster.plan.compute
    scene.at(lambda: setattr(scene.process(), "extra_data", extra))


def _heavy_stage(scene: FaultScene) -> None:
    def weigh() -> None:
        job = scene.process().job
        last = job.pp - 1
        job.switches.stage_slow[last] = scene.amount(1.6, 1.2)
        _about_group(scene, "dp", job.dp * last)

    scene.at_job()
    scene.at(weigh)


def _long_sequences(scene: FaultScene) -> None:
    scene.at_job()
    sigma = scene.amount(0.4, 0.18)
    scene.at(lambda: setattr(scene.process().job.switches, "token_sigma", sigma))


def _busy_expert(scene: FaultScene) -> None:
    def load() -> None:
        scene.process().slow_tokens = scene.amount(1.7, 1.25)
        _about_group(scene, "ep", scene.rank)

    scene.at_job()
    scene.at(load)


def _port_down(scene: FaultScene) -> None:
    scene.at_nic()
    port = scene.host.ports[-1]
    _set_later(scene, port, up=False)
    scene.at(lambda: _count(port.errors, "link_downed", 1))


def _flapping(scene: FaultScene) -> None:
    scene.at_nic()
    port = scene.host.ports[-1]

    def flap() -> None:
        _count(port.errors, "link_downed", 1)
        port.up, port.slow = False, 25.0
        scene.cluster.loop.call(scene.cluster.loop.now + scene.amount(4.0, 1.5), recover)

    def recover() -> None:
        port.up, port.slow = True, 1.0

    scene.every(40.0, flap)


def _bad_cable(scene: FaultScene) -> None:
    scene.at_nic()
    port = scene.host.ports[-1]
    _set_later(scene, port, slow=scene.amount(3.5, 1.7))

    def corrupt() -> None:
        _count(port.errors, "symbol_error", scene.amount(60.0, 12.0))
        _count(port.errors, "port_rcv_errors", scene.amount(25.0, 4.0))

    scene.every(1.0, corrupt)


def _bad_switch(scene: FaultScene) -> None:
    behind = [one for one in scene.cluster.hosts if one.switch == scene.host.switch]
    per_host = scene.cluster.plan.per_host
    at = [scene.cluster.hosts.index(one) * per_host for one in behind]
    scene.entity = {"type": "switch", "id": scene.host.switch, "host": None}
    scene.ranks = [rank for first in at for rank in range(first, first + per_host)]
    ports = [port for host in behind for port in host.ports]
    for port in ports:
        _set_later(scene, port, slow=scene.amount(5.0, 2.0))

    def discard() -> None:
        for port in ports:
            _count(port.errors, "port_xmit_discards", 150.0)

    scene.every(1.0, discard)


def _congestion(scene: FaultScene) -> None:
    scene.at_job()
    ports = [port for host in scene.cluster.hosts for port in host.ports]
    for port in ports:
        _set_later(scene, port, slow=scene.amount(4.0, 1.8))

    def mark() -> None:
        for port in ports:
            for kind, rate in (("ecn", 30_000.0), ("cnp", 9_000.0), ("xmit_wait", 4e6)):
                _count(port.congestion, kind, scene.amount(rate, rate / 8.0))

    scene.every(1.0, mark)


def _sockets(scene: FaultScene) -> None:
    scene.at_host()
    scene.onset = 12.0
    for port in scene.host.ports:
        port.slow = scene.amount(8.0, 3.0)
    text = "NCCL INFO Channel 00/0 : 1[1] -> 2[2] [send] via NET/Socket/0"
    scene.at(lambda: scene.process().log("nccl.net_socket", text))


def _busy_host(scene: FaultScene) -> None:
    scene.at_host()
    host = scene.host
    if scene.rng.random() < 0.4:
        scene.at(lambda: setattr(host, "quota", host.own_demand() / scene.amount(2.2, 1.5)))
    else:
        scene.at(lambda: setattr(host, "demand", host.demand + host.cores * scene.amount(2.0, 1.3)))


def _lost_host(scene: FaultScene) -> None:
    scene.at_host()

    def lose() -> None:
        for one in scene.cluster.living(scene.host):
            one.stuck = True
        scene.host.lost = scene.cluster.recorder.agents[scene.host.name].gone = True

    scene.at(lose)


def _evicted(scene: FaultScene) -> None:
    scene.at_host()

    def evict() -> None:
        text = "The node was low on resource: ephemeral-storage."
        scene.cluster.event(scene.host, "scheduler.event", {"reason": "Evicted", "text": text})
        for one in scene.cluster.living(scene.host):
            one.end(143, 15)
        scene.crash("", "", 143, 15)

    scene.at(evict)


def _slow_storage(scene: FaultScene) -> None:
    scene.at_job()
    scene.entity = {"type": "storage", "id": "/data", "host": None}
    scene.also = [["job", scene.cluster.recorder.job]]
    for host in scene.cluster.hosts:
        _set_later(scene, host, storage_slow=scene.amount(12.0, 6.0), blocked=12)


def _full_disk(scene: FaultScene) -> None:
    scene.at_host()
    host = scene.host
    scene.every(2.0, lambda: setattr(host, "disk_full", min(1.0, host.disk_full + 0.02)))
    text = "OSError: [Errno 28] No space left on device: '/ckpt/step.pt'"
    scene.at(lambda: scene.crash("storage.no_space", text, 1, 0), 80.0)


def _skewed_clock(scene: FaultScene) -> None:
    scene.at_host()
    error = scene.amount(4.0, 0.6)

    def skew() -> None:
        scene.host.clock_error = error
        scene.cluster.recorder.agents[scene.host.name].clock_error = error

    scene.at(skew)


def _drifted(scene: FaultScene) -> None:
    scene.at_host()
    scene.onset = 5.0
    scene.host.driver = "535.161.08"
    for device in scene.host.devices:
        device.slow = scene.amount(1.3, 1.12)


def _hung_driver(scene: FaultScene) -> None:
    scene.at_host()

    def hang() -> None:
        for one in scene.cluster.living(scene.host):
            one.stuck = one.device.lost = True
        scene.host.blocked = 9

    scene.at(hang)


def _stuck(scene: FaultScene) -> None:
    scene.at_rank()
    scene.at(lambda: setattr(scene.process(), "stuck", True))


def _deadlock(scene: FaultScene) -> None:
    scene.at_job()

    def lock() -> None:
        for one in scene.cluster.ranks:
            one.never_enters = True

    scene.at(lock)


def _uneven(scene: FaultScene) -> None:
    scene.at_rank()
    scene.at(lambda: scene.process().end(0))


def _slow_loader(scene: FaultScene) -> None:
    whole = scene.rng.random() < 0.5
    scene.at_job() if whole else scene.at_rank()
    slow = scene.amount(4.5, 2.6)

    def drag() -> None:
        for one in scene.cluster.ranks if whole else [scene.process()]:
            one.loader.slow = slow

    scene.at(drag)


def _collections(scene: FaultScene) -> None:
    scene.at_job()

    def collect() -> None:
        switches = scene.process().job.switches
        switches.collect_every = 4 * scene.cluster.plan.ranks // 4
        switches.collect_seconds = scene.amount(0.8, 0.3) * scene.cluster.plan.compute

    scene.at(collect)


def _slow_saves(scene: FaultScene) -> None:
    scene.at_job()
    slow = scene.amount(8.0, 3.5)
    scene.at(lambda: setattr(scene.process().job.switches, "save_slow", slow))


def _regression(scene: FaultScene) -> None:
    scene.at_job("code")
    scene.onset = scene.cluster.plan.restart_at * scene.cluster.plan.seconds

    def deploy() -> None:
        scene.process().job.switches.work = scene.amount(1.5, 1.18)
        named = {"kind": "code", "text": "commit 4f1c2ab deployed"}
        scene.cluster.event(scene.host, "change", {**named})

    scene.at(deploy, 1.0)


def _recompiles(scene: FaultScene) -> None:
    scene.at_job()

    def break_shapes() -> None:
        switches = scene.process().job.switches
        switches.recompile_every = 5
        switches.recompile_seconds = scene.amount(4.0, 1.2) * scene.cluster.plan.compute

    scene.at(break_shapes)


def _crash(scene: FaultScene) -> None:
    scene.at_rank()
    text = "Fatal Python error: Segmentation fault"
    scene.at(lambda: scene.crash("python.segfault", text, 139, 11))


def _bootstrap(scene: FaultScene) -> None:
    scene.at_host()
    scene.onset = 1.0
    scene.cluster.init_blocked = True
    text = "NCCL WARN Bootstrap : no socket interface found"
    scene.at(lambda: scene.process().log("nccl.bootstrap_interface", text), 40.0)


def _not_started(scene: FaultScene) -> None:
    scene.at_job()
    scene.onset = 1.0
    scene.cluster.init_blocked = True


def _bad_values(kind: str) -> Callable[[FaultScene], None]:
    def strike(scene: FaultScene) -> None:
        scene.at_job()
        curve = scene.cluster.curve
        curve.strength = scene.amount(1.0, 0.4)

        def break_from() -> None:
            curve.broken, curve.broken_from = kind, scene.process().step + 1

        scene.at(break_from)

    return strike


def _bad_resume(scene: FaultScene) -> None:
    _bad_values("resume")(scene)
    scene.onset = scene.cluster.plan.restart_at * scene.cluster.plan.seconds
    scene.at(lambda: setattr(scene.cluster.curve, "broken", "resume"))
    curve = scene.cluster.curve
    scene.at(lambda: setattr(curve, "broken_from", scene.process().job.last_saved))


def _bad_rank(scene: FaultScene) -> None:
    scene.at_rank()

    def strike() -> None:
        step = scene.process().step + 1
        for one in scene.cluster.ranks:
            one.nan_from = step if one.rank == scene.rank else step + 1

    scene.at(strike)


def _underflow(scene: FaultScene) -> None:
    scene.at_job()

    def strike() -> None:
        step = scene.process().step + 1
        scene.process().job.switches.overflow_from = step
        scene.cluster.curve.broken, scene.cluster.curve.broken_from = "nan", step + 18

    scene.at(strike)


def _set_later(scene: FaultScene, what: object, **values: object) -> None:
    def change() -> None:
        for name, value in values.items():
            setattr(what, name, value)

    scene.at(change)


def _leak(scene: FaultScene, **rates: float) -> None:
    one = scene.process()
    one.leak_since = scene.cluster.loop.now
    for name, rate in rates.items():
        setattr(one, name, rate)


def _count(counts: dict[str, float], name: str, more: float) -> None:
    counts[name] = counts.get(name, 0.0) + round(more)


def _about_group(scene: FaultScene, kind: str, rank: int) -> None:
    group = scene.process().job.groups[kind][rank]
    scene.entity = {"type": "group", "id": group.name, "host": None}
    scene.ranks = list(group.ranks)


@dataclass(frozen=True, slots=True)
class FaultKind:
    """`plan`: fields of JobPlan without which it shows nothing; `needs`: of ReporterPlan."""

    strike: Callable[[FaultScene], None]
    plan: dict[str, Any] = field(default_factory=dict)
    needs: str = "phases"
    only_plain: bool = False
    held_back: bool = False


_APART = {"hosts": 2, "transfer": 0.25, "pod_factor": 1.0}
_FOUR = {**_APART, "hosts": 4, "per_host": 4}
_LEARNING = {"start_step": 0, "kind": "pretraining", "rate_restarts": 0, "pp": 1}
_AGAIN = {"restart_at": 0.45, "save_every": 30, "save_seconds": 2.0}
_FED = {"loader_share": 0.6, "prefetch": 4}

FAULTS: dict[str, FaultKind] = {
    "gpu.lost": FaultKind(_lost_device, only_plain=True),
    "gpu.memory_uncorrectable": FaultKind(_uncorrectable, only_plain=True),
    "gpu.row_remap": FaultKind(_remapped_row),
    "gpu.firmware_hang": FaultKind(_hung_firmware, only_plain=True),
    "gpu.nvlink": FaultKind(_bad_nvlink, {"tp": 4, "pp": 1, "per_host": 8, "micro": 4}),
    "gpu.pcie_degraded": FaultKind(_narrow_bus),
    "gpu.thermal_throttle": FaultKind(_hot_device, needs="phases throttle frequency"),
    "gpu.power_limited": FaultKind(_capped_host, {"hosts": 2}, needs="phases throttle frequency"),
    "gpu.clock_locked": FaultKind(_locked_clock, needs="phases throttle frequency"),
    "gpu.foreign_process": FaultKind(_foreign_process, held_back=True),
    "gpu.slow": FaultKind(_slow_device),
    "memory.gpu_oom": FaultKind(_device_full, {"memory_share": 0.7}, only_plain=True),
    "memory.gpu_leak": FaultKind(_leaking_device, {"memory_share": 0.45}),
    "memory.fragmentation": FaultKind(_fragmentation, {"memory_share": 0.5}, held_back=True),
    "memory.rank0_contexts": FaultKind(
        _contexts, {"per_host": 8}, needs="process placed", only_plain=True
    ),
    "memory.host_leak": FaultKind(_leaking_trainer, needs="process"),
    "memory.dataloader_leak": FaultKind(
        _leaking_loader, {"respawn": False, "epoch_steps": 0}, needs="process"
    ),
    "memory.host_oom": FaultKind(_host_memory, only_plain=True),
    "memory.shm_exhausted": FaultKind(_shared_memory, only_plain=True),
    "balance.rank0_gather": FaultKind(_gather, {"pp": 1}),
    "balance.rank0_preprocessing": FaultKind(_preprocessing, {"pp": 1}),
    "balance.pipeline_stage": FaultKind(
        _heavy_stage, {**_FOUR, "pp": 4, "tp": 1, "micro": 4, "ep": 1}
    ),
    "balance.sequence_length": FaultKind(_long_sequences, {"pp": 1}),
    "balance.expert": FaultKind(
        _busy_expert, {"ep": 4, "pp": 1, "tp": 1, "hosts": 2}, needs="phases collective"
    ),
    "network.nic_down": FaultKind(_port_down, _APART, needs="phases network"),
    "network.link_flap": FaultKind(_flapping, _APART, needs="phases network"),
    "network.cable_errors": FaultKind(_bad_cable, _APART, needs="phases network"),
    "network.switch": FaultKind(_bad_switch, _FOUR, needs="phases network switch", held_back=True),
    "network.congestion": FaultKind(_congestion, _FOUR, needs="phases network"),
    "network.transport_fallback": FaultKind(_sockets, _APART, needs="phases network"),
    "network.bootstrap_failed": FaultKind(_bootstrap, _APART, only_plain=True),
    "host.cpu_contention": FaultKind(_busy_host, {"hosts": 2, **_FED}),
    "host.lost": FaultKind(_lost_host, {"hosts": 3}, only_plain=True),
    "host.evicted": FaultKind(_evicted, {"hosts": 2}, only_plain=True),
    "host.storage_slow": FaultKind(_slow_storage, _FED),
    "host.disk_full": FaultKind(_full_disk, {"hosts": 2, "disk_base": 0.6}, only_plain=True),
    "host.clock_skew": FaultKind(_skewed_clock, {"hosts": 3}),
    "host.config_drift": FaultKind(_drifted, {"hosts": 3}),
    "host.driver_hang": FaultKind(_hung_driver, {"hosts": 2}, only_plain=True),
    "software.init_failed": FaultKind(_not_started, only_plain=True),
    "software.stuck_process": FaultKind(_stuck, needs="phases collective", only_plain=True),
    "software.deadlock": FaultKind(_deadlock, needs="phases collective", only_plain=True),
    "software.uneven_batches": FaultKind(_uneven, needs="phases collective", only_plain=True),
    "software.dataloader_slow": FaultKind(_slow_loader, _FED),
    "software.gc_pause": FaultKind(_collections),
    "software.checkpoint_stall": FaultKind(
        _slow_saves,
        {"save_every": 45, "save_seconds": 6.0, "save_async": False},
        held_back=True,
    ),
    "software.regression": FaultKind(_regression, _AGAIN),
    "software.recompile": FaultKind(_recompiles),
    "software.crash": FaultKind(_crash, only_plain=True),
    "numerics.nan_precision": FaultKind(
        _underflow, {**_LEARNING, "scale": 65536.0, "overflow_every": 0}, only_plain=True
    ),
    "numerics.nan_rank": FaultKind(_bad_rank, {"pp": 1}, needs="phases values", only_plain=True),
    "numerics.loss_spike": FaultKind(_bad_values("spike"), _LEARNING),
    "numerics.divergence": FaultKind(_bad_values("divergence"), _LEARNING),
    "numerics.gradient_explosion": FaultKind(_bad_values("explosion"), {**_LEARNING, "clip": 0.0}),
    "numerics.gradient_vanishing": FaultKind(_bad_values("vanishing"), {**_LEARNING, "clip": 0.0}),
    "numerics.bad_resume": FaultKind(_bad_resume, {**_LEARNING, **_AGAIN}, held_back=True),
}
