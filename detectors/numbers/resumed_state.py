"""Which part of the state an attempt did not restore, by landmarks of the attempt before."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from ...vocabulary.findings import Finding
from ..findings import INFORMATION, report
from ..landmarks import LandmarkMemory, StepLandmark
from ..window import JobWindow
from . import step_batches

RATE_RATIO = 1.05
"""Learning rates of one step that differ by more are of two schedules."""

FADED = 0.7
"""Of the norm of the optimizer's averages there: with them it is at least what one update leaves,
0.9 and more; without, 0.44 of it where gradients are noise, as `sqrt(1 - 0.9 ** 2)`, else less."""


@dataclass(frozen=True, slots=True)
class StatePart:
    """A part of the state, now and in the attempt before; without a text it is the same.

    sure: it means something by itself.
    """

    text: str = ""
    observed: float | str | None = None
    expected: float | str | None = None
    sure: bool = True


_SAME = StatePart()


def lost(window: JobWindow, detector: str, said: Iterable[step_batches.StepBatch]) -> list[Finding]:
    """Return what differs at the steps that this attempt and one before it both had.

    A part is only named where it differs in every such step that both know it of, on all ranks or
    in several steps of one.
    """
    memory: LandmarkMemory = window.baselines.landmarks
    own = sorted(step_batches.landmarks(window, said), key=lambda one: (one.step, one.rank, one.at))
    for one in own:
        memory.note(one)
    pairs = [(before, one) for one in own if (before := memory.before(one)) is not None]
    if not pairs:
        return []
    found: list[Finding] = []
    parts: list[Finding] = []
    for kind, compared in _PARTS.items():
        known = [
            (now, part)
            for before, now in pairs
            if (part := compared(before, now, memory)) is not None
        ]
        differs = _differs(known)
        if differs is not None:
            found.append(_finding(window, detector, kind, *differs))
            parts += found[-1:] if differs[1].sure else []
    if parts:
        symptom = replace(
            parts[0],
            kind="job.state_not_restored",
            score=INFORMATION,
            magnitude=float(len(parts)),
            text="; ".join(one.text for one in parts),
        )
        found.insert(0, symptom)
    return found


def _differs(
    known: Sequence[tuple[StepLandmark, StatePart]],
) -> tuple[StepLandmark, StatePart] | None:
    """Return the first step and part of what differs throughout; None where nothing does."""
    if known and all(part.text for _, part in known):
        return known[0]
    by_rank: dict[int, list[tuple[StepLandmark, StatePart]]] = {}
    for now, part in known:
        by_rank.setdefault(now.rank, []).append((now, part))
    for _, of_rank in sorted(by_rank.items()):
        if len(of_rank) > 1 and all(part.text for _, part in of_rank):
            return of_rank[0]
    return None


def _finding(
    window: JobWindow, detector: str, kind: str, where: StepLandmark, part: StatePart
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
        observed=part.observed,
        expected=part.expected,
        text=f"{part.text} (rank {where.rank}, step {where.step}, against the attempt before)",
    )


def _optimizer(before: StepLandmark, now: StepLandmark, memory: LandmarkMemory) -> StatePart | None:
    if before.updates < 0 or now.updates < 0:
        return _moments(before, now, memory)
    if now.updates >= before.updates:
        return _SAME
    text = (
        f"the optimizer's state was not restored: it counts {now.updates} updates, "
        f"there it had counted {before.updates}"
    )
    return StatePart(text, float(now.updates), float(before.updates))


def _moments(before: StepLandmark, now: StepLandmark, memory: LandmarkMemory) -> StatePart | None:
    """Return whether averages were restored, by their norm after the first update.

    Without those of before an average begins at a part of one gradient; later ones fill it again.
    """
    known = before.moments > 0 and now.moments > 0 and before.world_size == now.world_size
    if not known or not memory.is_first(now):
        return None
    if now.moments >= FADED * before.moments:
        return _SAME
    text = (
        f"the optimizer's state was not restored: the norm of its averages is {now.moments:.3g}, "
        f"there it had been {before.moments:.3g}"
    )
    return StatePart(text, now.moments, before.moments)


def _data(before: StepLandmark, now: StepLandmark, memory: LandmarkMemory) -> StatePart | None:
    if not (before.batch and now.batch) or before.world_size != now.world_size:
        return None  # other ranks, other shares of the data
    if before.batch == now.batch:
        return _SAME
    same = memory.with_batch(now)
    of_step = f"; it is that of step {same.step}" if same is not None else ""
    text = f"the position in the data was not restored: the batch is another one{of_step}"
    return StatePart(text, now.batch, before.batch)


def _random(before: StepLandmark, now: StepLandmark, _: LandmarkMemory) -> StatePart | None:
    if not (before.random and now.random):
        return None
    if before.world_size != now.world_size:
        return None
    # Creating a loader draws a number or two, which leaves the stream as it is.
    if before.random == now.random or (now.stream and before.stream == now.stream):
        return _SAME
    if not (before.stream and now.stream):
        text = "the state of torch's random numbers on the CPU is another one"
        return StatePart(text, now.random, before.random, sure=False)
    text = "torch's random numbers on the CPU were not restored: their state is another one"
    return StatePart(text, now.stream, before.stream)


def _schedule(before: StepLandmark, now: StepLandmark, _: LandmarkMemory) -> StatePart | None:
    if not (before.rate > 0 and now.rate > 0):
        return None
    if abs(math.log(now.rate / before.rate)) <= math.log(RATE_RATIO):
        return _SAME
    text = (
        f"the schedule was not restored: the learning rate is {now.rate:.3g}, "
        f"there it had been {before.rate:.3g}"
    )
    return StatePart(text, now.rate, before.rate)


_PARTS: dict[str, Callable[[StepLandmark, StepLandmark, LandmarkMemory], StatePart | None]] = {
    "job.optimizer_not_restored": _optimizer,
    "job.data_not_restored": _data,
    "job.schedule_not_restored": _schedule,
    "job.random_state_differs": _random,
}
"""None: one of both does not know it."""
