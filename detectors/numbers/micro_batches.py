"""Whether the gradient of an update is that of all its micro-batches, or the last one's alone.

By sums over the gradient of one parameter. They are linear: of the gradient that is used they are
those of the micro-batches, added up over ranks and passes, times one number for whatever averages,
scales or clips. So directions are compared, no sizes.
"""

import math
from collections.abc import Iterable, Sequence

import numpy as np

from ...vocabulary.findings import Finding
from ..findings import INFORMATION, report
from ..window import Floats, JobWindow
from . import step_batches
from .step_batches import StepBatch

_STEPS = 3
_SAME, _OTHER = 1e-6, 1e-4
"""1 less the cosine, up to which two directions are one but for rounding in single precision (1e-12
in a real run), and from which on they are two."""
_MOST_SUMS = 64


def lost(window: JobWindow, detector: str, said: Iterable[StepBatch]) -> list[Finding]:
    """Return that in each of several steps all micro-batches but the last are not in the update."""
    by_update: dict[tuple[int, str], list[StepBatch]] = {}
    for one in said:
        used = one.event.attributes.get("gradient_used")
        if isinstance(used, str):
            by_update.setdefault((one.step, used), []).append(one)
    verdicts = [
        (step, verdict, rows)
        for (step, _), rows in sorted(by_update.items(), key=lambda item: item[0])
        if (verdict := _last_alone(rows)) is not None
    ]
    if len({step for step, _, _ in verdicts}) < _STEPS or not all(one for _, one, _ in verdicts):
        return []
    step, _, rows = verdicts[0]
    passes = step_batches.whole(rows[0].event, "passes") or 0
    return [
        report(
            window,
            detector,
            "job.micro_batches_lost",
            window.entity,
            onset=max(one.event.at for one in rows),
            score=INFORMATION,
            signal=step_batches.BATCH,
            observed=1.0,
            expected=float(passes),
            text=f"from step {step} on the gradient that updates the weights is that of the last "
            f"of {passes} micro-batches alone: those of the others are not in it",
        )
    ]


def _last_alone(rows: Sequence[StepBatch]) -> bool | None:
    """Tell whether the ranks of one update used the last micro-batch alone; None: undecided."""
    sums = [
        [_sums(one, name) for one in rows]
        for name in ("gradient_own", "gradient_newest", "gradient_used")
    ]
    if any(each is None or len(each) != len(sums[2][0] or ()) for part in sums for each in part):
        return None
    own, newest = (np.sum(np.array(part), axis=0) for part in sums[:2])
    used = np.array(sums[2][0])
    if len(used) < 2 or not _angle(own, newest) > _OTHER:
        return None  # one direction: either would do
    return _angle(newest, used) < _SAME and _angle(own, used) > _OTHER


def _sums(one: StepBatch, name: str) -> list[float] | None:
    text = one.event.attributes.get(name)
    try:
        found = [float(part) for part in text.split()] if isinstance(text, str) else []
    except ValueError:
        return None
    finite = 0 < len(found) <= _MOST_SUMS and all(math.isfinite(each) for each in found)
    return found if finite else None


def _angle(one: Floats, other: Floats) -> float:
    """Return 1 less the cosine; NaN where one of both is nothing."""
    both = float(np.linalg.norm(one) * np.linalg.norm(other))
    return 1.0 - float(one @ other) / both if both > 0 else math.nan
