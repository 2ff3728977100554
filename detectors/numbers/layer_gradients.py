"""Which layers the gradient norm of a suspicious step came from, and whether one element did it."""

from collections.abc import Sequence

from ...vocabulary.findings import Finding
from ..findings import INFORMATION, report
from ..window import JobWindow
from . import step_batches
from .step_batches import StepBatch


def found(window: JobWindow, detector: str, said: Sequence[StepBatch]) -> list[Finding]:
    """Return what the first step says whose gradients were looked at, and of a single element."""
    known = sorted(
        (one for one in said if step_batches.whole(one.event, "gradient_groups")),
        key=lambda one: (one.step, one.row),
    )
    if not known:
        return []
    first = known[0]
    reported = [_of_one(window, detector, "job.gradient_by_layer", first, _layers(first))]
    alone = next((one for one in known if step_batches.number(one.event, "element") > 0), None)
    if alone is not None:
        event = alone.event
        text = (
            f"in step {alone.step} one element of the gradient of "
            f"{step_batches.text(event, 'element_group')} was "
            f"{step_batches.number(event, 'element'):.3g}, all the others together "
            f"{step_batches.number(event, 'element_others'):.3g}: so a flipped bit leaves it, and "
            "no batch; after the reduction it cannot be said on which rank"
        )
        reported.append(_of_one(window, detector, "job.gradient_of_one_element", alone, text))
    return reported


def _layers(one: StepBatch) -> str:
    event, groups = one.event, step_batches.whole(one.event, "gradient_groups")
    bad = step_batches.whole(event, "gradient_bad")
    if bad is not None and bad == groups:
        return f"in step {one.step} the gradients of all {groups} groups of layers are not finite"
    if bad is not None:
        last = step_batches.text(event, "gradient_bad_last")
        return (
            f"in step {one.step} the gradients of {bad} of {groups} groups of layers are not "
            f"finite, {last} nearest to the loss: there it began"
        )
    return (
        f"in step {one.step} the largest gradient norms of {groups} groups of layers are "
        f"{step_batches.text(event, 'gradient_norms')}"
    )


def _of_one(window: JobWindow, detector: str, kind: str, one: StepBatch, text: str) -> Finding:
    element = step_batches.number(one.event, "element")
    return report(
        window,
        detector,
        kind,
        window.entity,
        onset=one.event.at,
        seen=(one.event.at, one.event.at),
        score=INFORMATION,
        signal=step_batches.BATCH,
        observed=element if element > 0 else None,
        text=text,
    )
