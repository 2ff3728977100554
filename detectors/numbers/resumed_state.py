"""Which part of the state an attempt did not restore, by landmarks of the attempt before."""

import math
from collections.abc import Callable, Iterable

from ...vocabulary.findings import Finding
from ..findings import report
from ..landmarks import LandmarkMemory, StepLandmark
from ..window import JobWindow
from . import step_batches

RATE_RATIO = 1.05
"""Learning rates of one step that differ by more are of two schedules."""

Pair = tuple[StepLandmark, StepLandmark]


def lost(window: JobWindow, detector: str, said: Iterable[step_batches.StepBatch]) -> list[Finding]:
    """Return what differs at the steps that this attempt and one before it both had.

    A part is only named where it differs in every such step that both know it of.
    """
    memory: LandmarkMemory = window.baselines.landmarks
    own = sorted(step_batches.landmarks(window, said), key=lambda one: (one.step, one.rank, one.at))
    for one in own:
        memory.note(one)
    pairs = [(before, one) for one in own if (before := memory.before(one)) is not None]
    if not pairs:
        return []
    found: list[Finding] = []
    for kind, compared in _PARTS.items():
        texts = [compared(before, now, memory) for before, now in pairs]
        known = [text for text in texts if text is not None]
        if known and all(known):
            first = next(now for (_, now), text in zip(pairs, texts, strict=True) if text)
            found.append(_finding(window, detector, kind, first, known[0]))
    return found


def _finding(
    window: JobWindow, detector: str, kind: str, where: StepLandmark, text: str
) -> Finding:
    return report(
        window,
        detector,
        kind,
        window.entity,
        onset=where.at,
        seen=(where.at, where.at),
        score=2.0,
        signal=step_batches.BATCH,
        observed=float(where.step),
        text=f"{text} (rank {where.rank}, step {where.step}, against the attempt before)",
    )


def _optimizer(before: StepLandmark, now: StepLandmark, _: LandmarkMemory) -> str | None:
    if before.updates < 0 or now.updates < 0:
        return None
    if now.updates >= before.updates:
        return ""
    return (
        f"the optimizer's state was not restored: it counts {now.updates} updates, "
        f"there it had counted {before.updates}"
    )


def _data(before: StepLandmark, now: StepLandmark, memory: LandmarkMemory) -> str | None:
    if not (before.batch and now.batch) or before.world_size != now.world_size:
        return None  # other ranks, other shares of the data
    if before.batch == now.batch:
        return ""
    same = memory.with_batch(now)
    of_step = f"; it is that of step {same.step}" if same is not None else ""
    return f"the position in the data was not restored: the batch is another one{of_step}"


def _random(before: StepLandmark, now: StepLandmark, _: LandmarkMemory) -> str | None:
    if not (before.random and now.random):
        return None
    if before.random == now.random:
        return ""
    return "the state of torch's random numbers on the CPU is another one"


def _schedule(before: StepLandmark, now: StepLandmark, _: LandmarkMemory) -> str | None:
    if not (before.rate > 0 and now.rate > 0):
        return None
    if abs(math.log(now.rate / before.rate)) <= math.log(RATE_RATIO):
        return ""
    return (
        f"the schedule was not restored: the learning rate is {now.rate:.3g}, "
        f"there it had been {before.rate:.3g}"
    )


_PARTS: dict[str, Callable[[StepLandmark, StepLandmark, LandmarkMemory], str | None]] = {
    "job.optimizer_not_restored": _optimizer,
    "job.data_not_restored": _data,
    "job.schedule_not_restored": _schedule,
    "job.random_state_differs": _random,
}
"""None: one of both does not know it. Empty: it is the same."""
