"""When a dead job ran, as far as its own logs tell: what was before it is not its cause."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from ....vocabulary.samples import Event, Sample
from .endings import UNDATED

_STEP, _DURATION = "training.step", "training.step.duration"
_WAITED = re.compile(r"Timeout\(ms\)=(\d{1,10})|timed out after (\d{1,10})|waiting (\d{1,10})ms")
_USUAL_STEP = 1.0
"""Seconds of a step where no line says it."""

_FEW_SECONDS = 300.0
"""So long before a start and after an end a fault may still be the job's: clocks differ, and a
device that fails while a job is placed ends it."""
_UNSEEN_SECONDS = 7200.0
"""So long before the first line, where a log does not hold its beginning: collectives do not wait
for longer."""
_SURVIVED_SECONDS = 600.0
"""A job that made steps for so long after a fault did not end by it."""


@dataclass(frozen=True, slots=True)
class JobSpan:
    """All in seconds since the epoch. began: its first sign, or the start that its steps tell.

    opens, closes: between which moments a fault may be the job's. stepped: its last step, None
    where none is dated.
    """

    began: float
    ended: float
    opens: float
    closes: float
    stepped: float | None

    def apart(self, at: float) -> str:
        """Return why what happened at `at` is not what ended the job, "" where it may be."""
        if at < self.opens:
            return f"{lasting(self.began - at)} before the job's first sign"
        if at > self.closes:
            return f"{lasting(at - self.ended)} after the job's last sign"
        if self.stepped is not None and self.stepped - at > _SURVIVED_SECONDS:
            return f"the job made steps for {lasting(self.stepped - at)} after it"
        return ""


def span(samples: Iterable[Sample], events: Iterable[Event]) -> JobSpan | None:
    """Return when a job ran; None where none of its lines has a time."""
    dated = [one for one in samples if one.at > UNDATED]
    told = [one for one in events if one.at > UNDATED]
    times = [*(one.at for one in dated), *(one.at for one in told)]
    if not times:
        return None
    steps = [one for one in dated if one.metric == _STEP]
    began = _began(steps, dated, min(times))
    waited = [(one.at, seconds) for one in told if (seconds := _waited(one))]
    began = min([began, *(at - seconds for at, seconds in waited)])
    ended = max(times)
    errors = any(one.name in ("process.exit", "log.fault") for one in told)
    longest = max([_UNSEEN_SECONDS, *(seconds for _, seconds in waited)])
    return JobSpan(
        began=began,
        ended=ended,
        opens=began - (_FEW_SECONDS if steps else longest),
        closes=ended + (_FEW_SECONDS if errors else _UNSEEN_SECONDS),
        stepped=max((one.at for one in steps), default=None),
    )


def _began(steps: list[Sample], dated: list[Sample], first: float) -> float:
    """Return when step 1 would have begun: logs are cut at their beginning, too."""
    if not steps:
        return first
    oldest = min(steps, key=lambda one: one.at)
    took = sorted(one.value for one in dated if one.metric == _DURATION and one.value > 0)
    usual = took[len(took) // 2] if took else _USUAL_STEP
    return min(first, oldest.at - max(oldest.value, 0.0) * usual)


def _waited(event: Event) -> float:
    found = _WAITED.search(str(event.attributes.get("text", "")))
    return int(next(one for one in found.groups() if one)) / 1000 if found else 0.0


def lasting(seconds: float) -> str:
    """Return a length of time as people say it."""
    for unit, name in ((86_400, "days"), (3600, "hours"), (60, "minutes")):
        if seconds >= 2 * unit:
            return f"{seconds / unit:.0f} {name}"
    return f"{seconds:.0f} s"
