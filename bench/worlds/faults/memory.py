"""Faults of memory of devices and hosts: a function a fault, as faults.toml says."""

from ..effects import ExtraSeries
from ..situation import CaseSituation
from . import endings

_MIB, _GIB = 2.0**20, 2.0**30


def gpu_oom(case: CaseSituation) -> None:
    rank = case.a_rank()
    case.blame_rank(rank)
    limit = case.plan.device.memory * _GIB
    begin = case.onset - (20.0 if case.weak else 90.0)
    for metric in ("training.memory.allocated", "training.memory.reserved"):
        case.edit(metric, "rate", 0.4 * limit / 90.0, rank=rank, begin=begin)
        case.edit(metric, "most", 0.965 * limit, rank=rank, begin=begin)
    for metric in ("hw.gpu.memory.usage", "hw.gpu.process.memory"):
        case.edit(metric, "rate", 0.4 * limit / 90.0, rank=rank, begin=begin)
        case.edit(metric, "most", 0.995 * limit, rank=rank, begin=begin)
    local = case.layout.ranks[rank].local
    endings.crash(case, rank, case.onset, root="out_of_memory", gpu=local, limit=limit / _GIB)


def gpu_leak(case: CaseSituation) -> None:
    case.blame_job()
    limit = case.plan.device.memory * _GIB
    left = case.end - case.onset
    rate = case.amount((0.1, 0.2), (0.03, 0.06)) * limit / left
    for metric in (
        "training.memory.allocated",
        "training.memory.reserved",
        "hw.gpu.memory.usage",
        "hw.gpu.process.memory",
    ):
        case.edit(metric, "rate", rate)


def fragmentation(case: CaseSituation) -> None:
    rank = case.a_rank()
    case.blame_rank(rank)
    limit = case.plan.device.memory * _GIB
    span = (case.end - case.onset) * 0.7
    case.edit("training.memory.allocated", "most", 0.6 * limit, rank=rank, begin=case.begin)
    case.edit(
        "training.memory.reserved",
        "rate",
        case.amount((0.4, 0.5), (0.22, 0.3)) * limit / span,
        rank=rank,
    )
    case.edit("training.memory.reserved", "most", 0.96 * limit, rank=rank, begin=case.begin)
    case.edit(
        "training.memory.retries",
        "rate",
        case.amount((0.1, 0.4), (0.03, 0.06)),
        rank=rank,
        begin=case.onset + 0.5 * span,
    )
    for metric in ("hw.gpu.memory.usage", "hw.gpu.process.memory"):
        case.edit(metric, "rate", 0.3 * limit / span, rank=rank)
        case.edit(metric, "most", 0.985 * limit, rank=rank, begin=case.begin)
    if not case.weak:
        endings.crash(case, rank, case.onset + span, root="fragmented")


def rank0_contexts(case: CaseSituation) -> None:
    rank = int(case.layout.on_host(int(case.rng.integers(len(case.layout.hosts))))[0])
    onset = case.first_step_at - 5.0
    case.blame(
        "gpu",
        case.gpu(rank),
        host=case.layout.host_of(rank),
        ranks=(rank,),
        onset=max(case.begin, onset),
    )
    size = case.amount((0.5, 0.9), (0.3, 0.45)) * _GIB
    others = case.on_host_of(rank)[1:]
    for other in others:
        pid = case.layout.ranks[other].pid
        labels: dict[str, str | int | float | bool] = {
            "hw.id": case.gpu(rank),
            "gpu": 0,
            "pid": pid,
            "hw.vendor": "nvidia",
            "rank": other,
        }
        host = case.layout.host_of(rank)
        case.extras.append(
            ExtraSeries("hw.gpu.process.memory", host, labels, size, max(case.begin, onset))
        )
    case.edit("hw.gpu.memory.usage", "add", size * len(others), rank=rank, begin=onset)


def host_leak(case: CaseSituation) -> None:
    rank = case.a_rank()
    _blame_process(case, rank, "trainer")
    rate = case.amount((1500.0, 4000.0), (500.0, 900.0)) * _MIB / 60.0
    for metric in ("process.memory.private", "process.memory.usage"):
        case.edit(metric, "rate", rate, rank=rank, begin=case.begin, of={"role": "trainer"})
    for metric in ("system.memory.usage", "container.memory.usage"):
        case.edit(metric, "rate", rate, host=case.layout.host_of(rank), begin=case.begin)


def dataloader_leak(case: CaseSituation) -> None:
    rank = case.a_rank()
    _blame_process(case, rank, "dataloader")
    rate = case.amount((1200.0, 3000.0), (400.0, 800.0)) * _MIB / 60.0
    for metric in ("process.memory.private", "process.memory.usage"):
        case.edit(metric, "rate", rate, rank=rank, begin=case.begin, of={"role": "dataloader"})
    for metric in ("system.memory.usage", "container.memory.usage"):
        case.edit(metric, "rate", rate, host=case.layout.host_of(rank), begin=case.begin)


def copy_on_read(case: CaseSituation) -> None:
    rank = case.a_rank()
    _blame_process(case, rank, "dataloader")
    rate = case.amount((150.0, 240.0), (80.0, 120.0)) * _MIB / 60.0
    case.edit(
        "process.memory.shared",
        "add",
        6.0 * _GIB,
        rank=rank,
        begin=case.begin,
        of={"role": "dataloader"},
    )
    case.edit(
        "process.memory.usage",
        "add",
        6.0 * _GIB,
        rank=rank,
        begin=case.begin,
        of={"role": "dataloader"},
    )
    case.edit(
        "process.memory.private",
        "rate",
        rate,
        rank=rank,
        begin=case.begin,
        of={"role": "dataloader"},
    )
    case.edit(
        "process.memory.shared",
        "rate",
        -rate,
        rank=rank,
        begin=case.begin,
        of={"role": "dataloader"},
    )
    case.edit("system.memory.usage", "rate", rate, host=case.layout.host_of(rank), begin=case.begin)


def host_oom(case: CaseSituation) -> None:
    rank = case.a_rank()
    case.blame_host(case.layout.ranks[rank].host)
    host, pid = case.layout.host_of(rank), case.layout.ranks[rank].pid
    begin = case.onset - (60.0 if case.weak else 200.0)
    rate = 0.85 * case.host_memory / (case.onset - begin)
    local = len(case.on_host_of(rank))
    for metric in ("system.memory.usage", "container.memory.usage"):
        case.edit(metric, "rate", rate, host=host, begin=begin, end=case.onset)
        case.edit(metric, "most", 0.995 * case.host_memory, host=host, begin=begin)
    for metric in ("process.memory.private", "process.memory.usage"):
        for one in case.on_host_of(rank):
            case.edit(
                metric,
                "rate",
                rate / local,
                rank=one,
                begin=begin,
                end=case.onset,
                of={"role": "trainer"},
            )
    text = (
        f"Out of memory: Killed process {pid} (python) total-vm:412345678kB, anon-rss:298765432kB"
    )
    case.say(
        "host.oom_kill", rank, case.onset, {"pid": pid, "rank": rank, "text": text}, of_job=False
    )
    endings.crash(case, rank, case.onset + 0.5, signal=9)


def shm_exhausted(case: CaseSituation) -> None:
    rank = case.a_rank()
    case.blame_host(case.layout.ranks[rank].host)
    host = case.layout.host_of(rank)
    case.edit("system.shm.limit", "set", 64.0 * _GIB, begin=case.begin)
    case.edit("system.shm.usage", "most", 8.0 * _GIB, begin=case.begin)
    case.edit(
        "system.shm.usage",
        "rate",
        64.0 * _GIB / 120.0,
        host=host,
        begin=case.onset - 120.0,
        end=case.onset,
    )
    case.edit("system.shm.usage", "most", 63.9 * _GIB, host=host, begin=case.begin)
    if not case.weak:
        case.log(rank, case.onset - 0.6, "bus_error")
    endings.crash(case, rank, case.onset, root="worker_killed")


def _blame_process(case: CaseSituation, rank: int, role: str) -> None:
    host, pid = case.layout.host_of(rank), case.layout.ranks[rank].pid
    name = f"{host}:{pid if role == 'trainer' else pid + 100_000}"
    case.blame("process", name, host=host, ranks=(rank,), onset=case.begin)


def rank0_memory(case: CaseSituation, rank: int, share: float) -> None:
    """More memory on one device than on its peers', as gathering brings it."""
    extra = share * case.plan.device.memory * _GIB
    for metric in (
        "training.memory.allocated",
        "training.memory.reserved",
        "hw.gpu.memory.usage",
        "hw.gpu.process.memory",
    ):
        case.edit(metric, "add", extra, rank=rank)
