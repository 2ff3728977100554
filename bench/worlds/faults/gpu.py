"""Faults of devices: a function a fault, as faults.toml says."""

from ..effects import ExtraSeries, StepEffect
from ..situation import CaseSituation
from . import endings


def lost(case: CaseSituation) -> None:
    rank = case.a_rank()
    case.blame_gpu(rank)
    _xid(case, rank, 79, "GPU has fallen off the bus.")
    case.edit("hw.*", "drop", 0.0, rank=rank)
    endings.crash(case, rank, case.onset + 3.0, signal=6, root="launch_failure")


def memory_uncorrectable(case: CaseSituation) -> None:
    rank = case.a_rank()
    case.blame_gpu(rank)
    if not case.weak:
        _xid(case, rank, 48, "DBE (double bit error) on HBM")
    _xid(case, rank, 94, "Contained: SM (0x1). RST: No, D-RST: No")
    case.edit(
        "hw.errors", "add", 1.0, rank=rank, of={"error.type": "uncorrected", "hw.part": "hbm"}
    )
    endings.crash(case, rank, case.onset + 2.0, signal=6, root="ecc")


def row_remap(case: CaseSituation) -> None:
    rank = case.a_rank()
    case.blame_gpu(rank)
    if not case.weak:
        _xid(case, rank, 63, "Row remapper: new row marked for remapping, reset gpu to activate.")
        begin = case.onset - 60.0
        case.edit(
            "hw.errors",
            "rate",
            0.4,
            rank=rank,
            begin=begin,
            of={"error.type": "corrected", "hw.part": "hbm"},
        )
    case.edit("hw.gpu.row_remap", "set", 1.0, rank=rank, of={"state": "pending"})


def firmware_hang(case: CaseSituation) -> None:
    rank = case.a_rank()
    case.blame_gpu(rank)
    _xid(case, rank, 119, "Timeout after 6s of waiting for RPC response from GPU0 GSP!")
    if not case.weak:
        _xid(
            case,
            rank,
            119,
            "Timeout after 6s of waiting for RPC response from GPU0 GSP!",
            after=45.0,
        )
    case.edit("hw.*", "drop", 0.0, rank=rank)
    endings.hang(case, (rank,), "gpu", case.onset)


def nvlink(case: CaseSituation) -> None:
    rank = case.a_rank()
    case.blame_gpu(rank)
    rate = case.amount((3.0, 60.0), (0.4, 2.0))
    case.edit("hw.gpu.nvlink.errors", "rate", rate, rank=rank, of={"link": 0})
    if not case.weak:
        _xid(case, rank, 74, "NVLink: fatal error detected on link 0(0x0, 0x0, 0x10000, 0x0)")
        case.edit("hw.gpu.nvlink.up", "set", 0.0, rank=rank, of={"link": 0})
    local = case.on_host_of(rank)
    lost = case.amount((0.35, 0.7), (0.12, 0.25))
    case.step_effects.append(
        StepEffect(
            "network", local, case.onset, case.end, seconds=lost * case.pace.step, spread=0.1
        )
    )
    for group in case.layout.groups:
        if rank in group.ranks:
            case.edit("collective.bus_bandwidth", "scale", 1.0 - lost, of={"group": group.name})


def pcie_degraded(case: CaseSituation) -> None:
    rank = case.a_rank()
    case.blame_gpu(rank)
    case.edit("hw.gpu.pcie.width", "set", 8.0 if case.weak else 4.0, rank=rank)
    case.edit("hw.gpu.pcie.replays", "rate", case.amount((1.0, 6.0), (0.1, 0.4)), rank=rank)
    slower = case.amount((0.2, 0.6), (0.06, 0.14)) * case.pace.step
    case.step_effects.append(
        StepEffect("data", (rank,), case.onset, case.end, seconds=slower, spread=0.15)
    )


def thermal_throttle(case: CaseSituation) -> None:
    rank = case.a_rank()
    case.blame_gpu(rank)
    factor = case.amount((1.25, 1.8), (1.08, 1.16))
    case.edit("hw.temperature", "add", 10.0, rank=rank, begin=case.onset - 40.0, end=case.onset)
    case.edit("hw.temperature", "add", case.amount((21.0, 27.0), (17.0, 21.0)), rank=rank)
    case.edit("hw.frequency", "scale", 1.0 / factor, rank=rank, of={"domain": "sm"})
    case.edit("hw.power", "scale", 1.0 / factor, rank=rank)
    reason = "thermal_sw" if case.weak or case.rng.random() < 0.5 else "thermal_hw"
    case.edit("hw.gpu.throttle", "set", 1.0, rank=rank, of={"reason": reason})
    case.slow((rank,), factor)


def power_limited(case: CaseSituation) -> None:
    rank = case.a_rank()
    case.blame_host(case.layout.ranks[rank].host)
    share = case.amount((0.45, 0.65), (0.72, 0.8))
    factor = 1.0 + (1.0 - share) * 0.7
    brake = not case.weak and case.rng.random() < 0.4
    for one in case.on_host_of(rank):
        if not brake:
            case.edit("hw.power.limit", "scale", share, rank=one)
        case.edit("hw.power", "most", case.plan.device.power * share, rank=one)
        case.edit("hw.frequency", "scale", 1.0 / factor, rank=one, of={"domain": "sm"})
        reason = "power_brake" if brake else "power_cap"
        case.edit("hw.gpu.throttle", "set", 1.0, rank=one, of={"reason": reason})
    case.slow(case.on_host_of(rank), factor)


def clock_locked(case: CaseSituation) -> None:
    rank = case.a_rank()
    case.blame_gpu(rank)
    factor = case.amount((1.3, 1.7), (1.1, 1.18))
    case.edit(
        "hw.frequency",
        "most",
        case.plan.device.clock * 1e6 / factor,
        rank=rank,
        of={"domain": "sm"},
    )
    case.edit("hw.power", "scale", 0.5 + 0.5 / factor, rank=rank)
    case.edit("hw.temperature", "add", -4.0, rank=rank)
    if case.rng.random() < 0.5:
        case.edit("hw.gpu.throttle", "set", 1.0, rank=rank, of={"reason": "clocks_setting"})
    case.slow((rank,), factor)


def silent_corruption(case: CaseSituation) -> None:
    case.curve.global_loss = False
    rank = case.a_rank()
    case.blame_gpu(rank)
    at = case.onset
    while at < case.end:
        width = case.pace.step * 3.0
        case.edit(
            "training.loss",
            "scale",
            case.amount((1.5, 2.5), (1.15, 1.3)),
            rank=rank,
            begin=at,
            end=at + width,
        )
        norm = case.amount((4.0, 12.0), (1.8, 3.0))
        case.edit("training.grad_norm", "scale", norm, rank=rank, begin=at, end=at + width)
        at += width * float(case.rng.uniform(1.5, 5.0))


def foreign_process(case: CaseSituation) -> None:
    rank = case.a_rank()
    case.blame_gpu(rank)
    place = case.layout.ranks[rank]
    size = case.amount((6.0, 14.0), (1.0, 3.0)) * 2.0**30
    pid = int(case.rng.integers(3_100_000, 4_000_000))
    labels: dict[str, str | int | float | bool] = {
        "hw.id": place.gpu,
        "gpu": place.local,
        "pid": pid,
        "hw.vendor": "nvidia",
    }
    case.extras.append(
        ExtraSeries("hw.gpu.process.memory", case.layout.host_of(rank), labels, size, case.onset)
    )
    case.edit("hw.gpu.memory.usage", "add", size, rank=rank)
    case.edit("hw.gpu.utilization", "least", 0.99, rank=rank)
    case.slow((rank,), case.amount((1.4, 2.0), (1.1, 1.2)))


def slow(case: CaseSituation) -> None:
    rank = case.a_rank()
    case.blame_gpu(rank)
    case.slow((rank,), case.amount((1.25, 1.6), (1.08, 1.15)))


def _xid(case: CaseSituation, rank: int, code: int, text: str, after: float = 0.0) -> None:
    place = case.layout.ranks[rank]
    bus = f"PCI:0000:{0x19 + 17 * place.local:02x}:00"
    line = f"NVRM: Xid ({bus}): {code}, pid={place.pid}, name=python, {text}"
    case.say(
        "gpu.fault",
        rank,
        case.onset + after,
        {
            "hw.id": place.gpu,
            "gpu": place.local,
            "code": str(code),
            "vendor": "nvidia",
            "text": line,
            "pid": place.pid,
        },
        of_job=False,
    )
