"""Which values of which ranks at which steps were not finite: from the planes, and from events.

The grid keeps a NaN that was reported as Inf: NaN means that nobody reported. A framework that
hides the NaN itself (a skipped or replaced loss) still counts it, so counts above zero are bad too.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...vocabulary.samples import Event
from ..window import Flags, Floats, JobWindow, StepValues

LOSS = ("training.loss", "training.loss|local", "training.nonfinite|loss")
GRADIENT = ("training.nonfinite", "training.nonfinite|grad_local", "training.grad_norm|local")
SHARED = (
    "training.loss|global",
    "training.grad_norm",
    "training.grad_norm|global",
    "training.nonfinite|grad_reduced",
)
_WORDS = {"loss": 0, "grad_local": 1}
"""What an event says was bad; anything else is a value after a reduction."""


@dataclass(frozen=True, slots=True)
class NonfiniteMasks:
    """[ranks, steps] each: whose loss, local gradients and reduced values are bad; seen at all."""

    loss: Flags
    gradient: Flags
    shared: Flags
    seen: Flags

    @property
    def own(self) -> Flags:
        """Return whose value from before any reduction is bad."""
        return self.loss | self.gradient


def any_rank(flags: Flags) -> Flags:
    """Return [steps], where any rank's flag is up."""
    found: Flags = np.any(flags, axis=0)
    return found


def is_bad(name: str, plane: Floats) -> Flags:
    """Return where a plane has values or counts that are bad."""
    if name.startswith("training.nonfinite"):
        return plane > 0
    # The grid keeps a NaN that was reported as Inf: NaN means that nobody reported.
    return np.isinf(plane)


def bad_values(window: JobWindow, marks: Sequence[Event]) -> NonfiniteMasks:
    """Return who had bad values at which step, from the planes and from what events name."""
    steps = window.steps
    flags = [np.zeros(steps.at.shape, np.bool_) for _ in range(3)]
    seen = np.zeros(steps.at.shape, np.bool_)
    for number, names in enumerate((LOSS, GRADIENT, SHARED)):
        for name in names:
            plane = steps.planes.get(name)
            if plane is None:
                continue
            flags[number] |= is_bad(name, plane)
            if number < 2:
                counts = name.startswith("training.nonfinite")
                seen |= np.isfinite(steps.at) if counts else ~np.isnan(plane)
    if marks:
        row_of = {int(rank): row for row, rank in enumerate(window.ranks)}
        column_of = {int(step): column for column, step in enumerate(steps.index)}
        for event in marks:
            row = row_of.get(event.attributes.get("rank", -1))  # type: ignore[arg-type]
            column = column_of.get(event.attributes.get("step", -1))  # type: ignore[arg-type]
            if row is not None and column is not None:
                flags[_WORDS.get(str(event.attributes.get("what", "loss")), 2)][row, column] = True
    return NonfiniteMasks(flags[0], flags[1], flags[2], seen)


def reported(steps: StepValues) -> tuple[Flags, Flags]:
    """Return [steps] each: where anybody reports a value at all, and where a loss is bad."""
    valued, lost = (np.zeros(len(steps.index), np.bool_) for _ in range(2))
    for name in (*LOSS, *GRADIENT, *SHARED):
        plane = steps.planes.get(name)
        if plane is None:
            continue
        valued |= any_rank(~np.isnan(plane))
        if "loss" in name:
            lost |= any_rank(is_bad(name, plane))
    return valued, lost


def ahead_of_steps(
    window: JobWindow, steps: StepValues, marks: Sequence[Event], *, losses_only: bool
) -> list[tuple[int, Event, int]]:
    """Return (step, event, row) of events whose step no rank has reported the end of yet.

    Under loss scaling a bad gradient says nothing before its step has said what the scale did.
    """
    newest = int(steps.index[-1]) if len(steps.index) else -1
    found = []
    for event in marks:
        step, rank = event.attributes.get("step"), event.attributes.get("rank")
        what = str(event.attributes.get("what", "loss"))
        if not isinstance(step, int) or step <= newest or not isinstance(rank, int):
            continue
        row = window.row_of(rank)
        if row is not None and what in (("loss",) if losses_only else _WORDS):
            found.append((step, event, row))
    return found


def when(steps: StepValues, column: int, marks: Sequence[Event]) -> float:
    """Return when the step of a column went bad: at its first end, or when an event said so."""
    valid = steps.at[:, column]
    at = float(valid[np.isfinite(valid)].min(initial=np.inf))
    named = [e.at for e in marks if e.attributes.get("step") == int(steps.index[column])]
    return min([at, *named])


def truncated(window: JobWindow) -> bool:
    """Tell whether the window has lost the attempt's first steps."""
    steps = window.steps
    begun = steps.at[:, 0]
    begun = begun[np.isfinite(begun)]
    if np.isfinite(window.attempt_started_at) and len(begun):
        ends = steps.at[np.isfinite(steps.at)]
        usual = (float(ends.max()) - float(begun.min())) / max(len(steps.index) - 1, 1)
        return float(begun.min()) - window.attempt_started_at > 600.0 + 20 * usual
    return int(steps.index[0]) > 0 and len(steps.index) > 500
