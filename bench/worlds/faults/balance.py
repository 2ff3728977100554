"""Work that is not spread evenly: a function a fault, as faults.toml says."""

from ..effects import StepEffect
from ..situation import CaseSituation
from . import memory


def rank0_gather(case: CaseSituation) -> None:
    case.blame_rank(0)
    memory.rank0_memory(case, 0, case.amount((0.06, 0.1), (0.03, 0.05)))
    case.slow((0,), case.amount((1.25, 1.6), (1.08, 1.14)))


def rank0_preprocessing(case: CaseSituation) -> None:
    case.blame_rank(0)
    seconds = case.amount((0.3, 0.7), (0.09, 0.15)) * case.pace.step
    case.step_effects.append(
        StepEffect("data", (0,), case.onset, case.end, seconds=seconds, spread=0.15)
    )
    case.edit(
        "process.cpu.utilization",
        "scale",
        case.amount((3.0, 6.0), (1.5, 2.0)),
        rank=0,
        of={"role": "trainer"},
    )


def pipeline_stage(case: CaseSituation) -> None:
    places = case.layout.ranks
    stages = case.layout.stages
    last = tuple(one.rank for one in places if one.pp == stages - 1)
    factor = case.amount((1.3, 1.7), (1.12, 1.2))
    case.slow(last, factor, begin=0.0)
    group = case.layout.of_group("dp", last[0])
    name = group.name if group else case.layout.job
    also = tuple(("group", one.name) for one in case.layout.groups if set(one.ranks) <= set(last))
    case.blame("group", name, ranks=last, onset=case.begin, also=also)


def sequence_length(case: CaseSituation) -> None:
    case.blame_job()
    seconds = case.amount((0.3, 0.6), (0.12, 0.2)) * case.pace.compute
    case.step_effects.append(
        StepEffect(
            "compute",
            case.everybody,
            case.onset,
            case.end,
            seconds=seconds,
            one_of=True,
            spread=0.4,
            tokens=True,
        )
    )


def expert(case: CaseSituation) -> None:
    inside = case.layout.of_group("ep", case.a_rank()) or case.layout.groups[0]
    factor = case.amount((1.35, 1.8), (1.12, 1.2))
    case.step_effects.append(
        StepEffect(
            "compute", inside.ranks, case.onset, case.end, factor=factor, ramp=80.0, spread=0.2
        )
    )
    also = tuple(("rank", str(rank)) for rank in inside.ranks)
    case.blame("group", inside.name, ranks=inside.ranks, also=also)
