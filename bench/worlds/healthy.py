"""What the habits of a healthy job change in its steps, its devices and its events."""

import numpy as np

from .effects import ExtraSeries, Phase, RestartMark, StepEffect
from .situation import CaseSituation
from .training import JobAttempt


def add(case: CaseSituation) -> None:
    """Add the effects of the drawn habits."""
    rng = case.plan.rng("habits")
    step, everybody = case.pace.step, case.everybody
    span = case.end - case.begin
    stretch = case.habit("slow_stretch")
    if stretch:
        begin = case.begin + span * float(rng.uniform(0.25, 0.6))
        end = begin + float(rng.uniform(90.0, 240.0))
        phase: Phase = "network" if rng.random() < 0.5 else "data"
        case.step_effects.append(
            StepEffect(phase, everybody, begin, end, seconds=stretch * step, ramp=20.0, spread=0.3)
        )
    rhythm = case.habit("rhythmic_slow_step")
    if rhythm:
        every = int(rng.integers(8, 60))
        kind: Phase = "gc" if rng.random() < 0.5 else "compute"
        case.step_effects.append(
            StepEffect(kind, everybody, 0.0, np.inf, seconds=rhythm * step, every=every, spread=0.1)
        )
    noise = case.habit("os_noise")
    if noise:
        case.step_effects.append(
            StepEffect(
                "compute",
                everybody,
                0.0,
                np.inf,
                seconds=noise * step,
                chance=0.15,
                one_of=True,
                spread=0.5,
            )
        )
    pause = case.habit("epoch_pause")
    if pause:
        every = max(20, int(float(rng.uniform(90.0, 300.0)) / step))
        case.step_effects.append(
            StepEffect("data", everybody, 0.0, np.inf, seconds=pause, every=every, spread=0.1)
        )
    foreign = case.habit("short_foreign_process")
    if foreign:
        place = case.layout.ranks[int(rng.integers(case.plan.world))]
        begin = case.begin + span * float(rng.uniform(0.1, 0.8))
        case.extras.append(
            ExtraSeries(
                "hw.gpu.process.memory",
                case.layout.host_of(place.rank),
                {
                    "hw.id": place.gpu,
                    "gpu": place.local,
                    "pid": int(rng.integers(3_100_000, 4_000_000)),
                },
                float(rng.uniform(180.0, 520.0)) * 2.0**20,
                begin,
                begin + foreign,
            )
        )
    gap = case.habit("elastic_world")
    if gap and len(case.layout.hosts) > 2:
        at = case.begin + span * float(rng.uniform(0.35, 0.6))
        world = case.plan.world - case.plan.per_host
        case.restart = RestartMark(at, gap, world, 0, "scaled down by the scheduler")
        case.say(
            "scheduler.event",
            case.plan.world - 1,
            at - 2.0,
            {
                "reason": "ScaledDown",
                "text": "elastic job scaled down by plan: host returned to the pool",
            },
        )


def phases(case: CaseSituation, attempts: tuple[JobAttempt, ...]) -> None:
    """Add the phases that ranks report, and the ends of processes between two attempts."""
    silent = case.habit("silent_phases") is not None
    for attempt in attempts:
        records = attempt.records
        starts = []
        if attempt.number or not case.habit("joined_midway"):
            starts = [("init", attempt.begin + 1.0)]
            starts += [("train", float(at)) for at in records.begins[:1]]
        inside = [("eval", begin) for begin, _ in records.pauses]
        inside += [("checkpoint", begin) for begin, _ in records.saves]
        inside += [("train", end) for _, end in (*records.pauses, *records.saves)]
        for place in attempt.layout.ranks:
            for entered, at in [*starts, *([] if silent else inside)]:
                done = int(np.searchsorted(records.ends, at))
                number = done + int(records.numbers[0]) if len(records.numbers) else 0
                case.say(
                    "training.phase",
                    place.rank,
                    at,
                    {"rank": place.rank, "phase": entered, "step": number},
                )
    if case.restart:
        for place in case.layout.ranks:
            case.say(
                "process.exit",
                place.rank,
                case.restart.at + 0.3,
                {"rank": place.rank, "pid": place.pid, "exit_code": 0},
            )
