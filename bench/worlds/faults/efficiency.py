"""Jobs that hold devices and make little of them: a function a fault, as faults.toml says."""

from ..situation import CaseSituation
from . import endings


def idle_gpu(case: CaseSituation) -> None:
    case.blame_job()
    endings.hang(case, case.everybody, "host", case.onset)
    case.events = [one for one in case.events if one.name not in ("log.fault", "process.exit")]
    case.edit("process.cpu.utilization", "set", 0.01)
    if not case.weak:
        for metric in ("hw.gpu.utilization", "hw.gpu.sm.activity", "hw.gpu.tensor.activity"):
            case.edit(metric, "set", 0.0)


def low_utilization(case: CaseSituation) -> None:
    case.blame_job(onset=case.begin)
    share = case.amount((0.06, 0.12), (0.16, 0.22))
    for metric in ("hw.gpu.sm.activity", "hw.gpu.tensor.activity", "hw.gpu.memory.activity"):
        case.edit(metric, "scale", share, begin=case.begin)
    case.edit("hw.gpu.utilization", "scale", 0.35 if not case.weak else 0.5, begin=case.begin)
    case.edit(
        "hw.power", "most", case.plan.device.idle + 0.2 * case.plan.device.power, begin=case.begin
    )
    case.edit("hw.temperature", "add", -15.0, begin=case.begin)
