"""Where a NaN or Inf came from: the rank whose own value went bad first."""

import math
from collections.abc import Sequence

import numpy as np

from ...vocabulary.findings import Finding
from ...vocabulary.samples import Event
from .. import claims, onsets
from ..contract import Detector
from ..findings import report
from ..window import Flags, Floats, Ints, JobWindow, StepValues
from . import loss_scaling, model_replicas, nonfinite_logged
from . import nonfinite_history as history
from . import nonfinite_values as values


class NonfiniteDetector(Detector):
    """Name the first rank whose own (not yet reduced) value was not finite.

    After one all-reduce every rank has the NaN, so only values from before it accuse: the local
    loss, local gradients, their non-finite counts, and events that say so. A value is bad when it
    is NaN or Inf, when a non-finite count is positive (frameworks hide the NaN itself), or when
    an event names the step. Local gradients are checked only now and then, so the first bad column
    may be a reduced one: the first own value that goes bad on few ranks while their peers' stay
    finite names the origin all the same, since an update that is not skipped spoils every rank.
    Ranks of several replicas that go bad at the same step are no origin: no device is theirs alike,
    the batch is. Nor are ranks whose losses go bad in turn, each at a
    step of its own, and are finite again.

    With dynamic loss scaling an Inf gradient on a step whose scale falls is normal life, at the
    start of training for as many steps as the scale needs (see loss_scaling.py), later up to
    `streak` in a row, as long as the scale stays above one. Where nobody reports a scale, or it did
    not fall, a reduced gradient alone that was bad is normal as well once a finite step follows it:
    the update was skipped, or no parameter would be finite. Three in a row, or an eighth of the
    newest steps, are not.

    Parameters
    ----------
    most_share : the largest share of ranks that may be first together and still be called origin.
    streak : overflow steps in a row that are no longer normal under loss scaling.
    recovery : finite steps after which a bad time range is over.
    over_at : when the job was over, where that is known, s since the epoch: no step came after.

    Examples
    --------
    The local loss of rank 2 goes NaN at step 40, one all-reduce later everybody's. (The grid keeps
    a NaN that was reported as Inf: NaN means that nobody reported.)

    >>> from rankscope.detectors.sketch import sketch
    >>> loss = np.random.default_rng(7).normal(2.0, 0.1, (4, 60))
    >>> loss[2, 40] = loss[:, 41:] = np.inf
    >>> window = sketch(np.full((4, 60), 0.8), planes={"training.loss|local": loss})
    >>> _, origin = NonfiniteDetector().evaluate(window)
    >>> str(origin.entity), int(np.searchsorted(window.steps.at[0], origin.onset[0]))
    ('rank 2 on host-1', 40)

    A step that goes non-finite again after a restart is reported beside them: the batch is the
    same, the rank that reads it need not be.

    Fails where only reduced values are reported, or one rank alone reports: the job is said to be
    non-finite, and no rank is named. Cannot see where it began once the window has moved past that
    step, nor a NaN that a framework replaces before anybody looks.

    References: Megatron's rerun state machine.
    """

    name = "nonfinite"
    kinds = (
        "job.nonfinite",
        "rank.first_nonfinite",
        "job.nonfinite_everywhere",
        "job.nonfinite_repeated",
        "job.samples_nonfinite",
        "job.loss_scale_collapse",
    )

    def __init__(
        self,
        *,
        most_share: float = 0.25,
        streak: int = 8,
        recovery: int = 30,
        over_at: float = math.inf,
    ) -> None:
        self.most_share = most_share
        self.streak = streak
        self.recovery = recovery
        self.over_at = over_at

    def evaluate(self, window: JobWindow) -> Sequence[Finding]:
        """Return the symptom, and the ranks it came from or that it came from nowhere alone."""
        told = self._by_values(window)
        if any(one.kind == "job.loss_scale_collapse" for one in told):
            return told
        said = nonfinite_logged.said(window, self.name, over=window.now >= self.over_at)
        return [*told, *(said[1:] if told else said)]

    def _by_values(self, window: JobWindow) -> list[Finding]:
        # They hurry ahead of samples: what is only claimed waits for those.
        told = window.named("training.numeric")
        marks = [event for event in told if not claims.is_claimed(event)]
        if self._healthy(window.steps, marks):
            return []
        steps = window.steps
        bad = values.bad_values(window, marks)
        scaled = loss_scaling.scale_of(steps)
        excused = np.zeros(len(steps.index), np.bool_)
        over = window.now >= self.over_at
        if scaled is not None:
            gradients = values.any_rank(bad.gradient | bad.shared) & ~values.any_rank(bad.loss)
            excused = loss_scaling.overflows(scaled, gradients, streak=self.streak, over=over)
        excused |= history.skipped(window, bad, over=over)
        bad = values.NonfiniteMasks(
            bad.loss, bad.gradient & ~excused, bad.shared & ~excused, bad.seen
        )
        every = bad.own | bad.shared
        odd = values.any_rank(every)
        # Before the first step ended nobody knows whether the loss is scaled.
        scaling = scaled is not None or not len(steps.index)
        ahead = values.ahead_of_steps(window, steps, marks, losses_only=scaling)
        if not odd.any() or self._recovered(np.flatnonzero(odd), bad.seen):
            return self._before_any_step(window, ahead)
        first = onsets.newest_run(odd, ends_after=self.recovery)
        if not odd[first]:
            first = int(np.flatnonzero(odd)[-1])
        at = values.when(steps, first, marks)
        earlier = first == 0 and values.truncated(window)
        origin = [] if earlier else self._origin(window, bad, first, marks)
        share = float(every[:, np.flatnonzero(odd)[-1]].mean())
        index = int(steps.index[first])
        since = f"step {index} or earlier" if earlier else f"step {index}"
        symptom = report(
            window,
            self.name,
            "job.nonfinite",
            window.entity,
            onset=at,
            magnitude=float(odd[first:].sum()),
            signal="training.loss",
            observed="NaN",
            expected="finite",
            text=f"values are not finite since {since} ({share:.0%} of the ranks by now)",
            ranks=[rank for f in origin if f.entity.type == "rank" for rank in f.ranks],
        )
        again = [] if earlier else history.repeated(window, self.name, index, at)
        return [symptom, *origin, *again, *self._collapse(window, scaled, first, at, bad.loss)]

    def _healthy(self, steps: StepValues, marks: Sequence[Event]) -> bool:
        """Tell whether the newest steps are finite on ranks that report; the usual second."""
        if not len(steps.index):
            return not marks
        since = int(steps.index[-self.recovery :][0])
        if any((step := event.attributes.get("step")) is None
               or (isinstance(step, int) and step >= since) for event in marks):  # fmt: skip
            return False
        newest = steps.last(self.recovery)
        seen = False
        for name in (*values.LOSS, *values.GRADIENT, *values.SHARED):
            plane = newest.planes.get(name)
            if plane is None:
                continue
            if values.is_bad(name, plane).any():
                return False
            seen |= name.startswith("training.nonfinite") or bool((~np.isnan(plane)).any())
        return (seen and len(steps.index) > self.recovery) or not any(
            name in steps.planes for name in (*values.LOSS, *values.GRADIENT, *values.SHARED)
        )

    def _recovered(self, columns: Ints, seen: Flags) -> bool:
        """Tell whether the newest steps are finite again, on ranks that tell their values."""
        since = seen.shape[1] - 1 - int(columns[-1])
        return since >= self.recovery and bool(seen[:, -self.recovery :].any())

    def _before_any_step(
        self, window: JobWindow, ahead: Sequence[tuple[int, Event, int]]
    ) -> list[Finding]:
        """Return what events say of a step that no rank has reported the end of yet."""
        if not ahead:
            return []
        index, at = min((step, event.at) for step, event, _ in ahead)
        rows = np.array(sorted({row for step, _, row in ahead if step == index}))
        newest = window.steps.at[:, -3:]
        ended = np.isfinite(newest).any(axis=1) if newest.size else np.zeros(0, np.bool_)
        finite = np.setdiff1d(np.flatnonzero(ended), rows)
        share = len(rows) / max(len(window.ranks), 1)
        origin = self._named(window, rows, len(finite), index, at, sure=True)
        symptom = report(
            window,
            self.name,
            "job.nonfinite",
            window.entity,
            onset=at,
            signal="training.loss",
            observed="NaN",
            expected="finite",
            text=f"values are not finite since step {index} ({share:.0%} of the ranks by now)",
            ranks=[rank for f in origin if f.entity.type == "rank" for rank in f.ranks],
        )
        return [symptom, *origin, *history.repeated(window, self.name, index, at)]

    def _origin(
        self, window: JobWindow, bad: values.NonfiniteMasks, first: int, marks: Sequence[Event]
    ) -> list[Finding]:
        """Return the ranks whose own values were bad first, or that they went bad all at once."""
        columns = np.flatnonzero(bad.own[:, first:].any(axis=0))
        if not len(columns):
            return []
        column = first + int(columns[0])
        index, at = int(window.steps.index[column]), values.when(window.steps, column, marks)
        for flags in (bad.own[:, column], bad.gradient[:, column], bad.loss[:, column]):
            rows = np.flatnonzero(flags)
            finite = int((bad.seen[:, column] & ~flags).sum())
            if len(rows) and self._few(window, rows) and finite:
                later = bad.seen[rows, column + 1 :] & ~bad.loss[rows, column + 1 :]
                if later.any() and (turns := self._in_turn(window, bad.loss, rows, first, at)):
                    return turns
                return self._named(window, rows, finite, index, at, sure=column == first)
        if column > first:
            return []  # after a reduction every rank is bad, whoever began it
        return self._named(window, np.flatnonzero(bad.own[:, column]), 0, index, at, sure=True)

    def _in_turn(
        self, window: JobWindow, losses: Flags, rows: Ints, first: int, at: float
    ) -> list[Finding]:
        """Return that other replicas' losses were bad before, each alone: they share no device.

        losses: [ranks, steps]. A local loss is what a rank makes of its own batch.
        """
        if not losses[rows, first:].any():
            return []
        before = losses[:, :first]
        before = before & (before.sum(axis=0) <= max(1, int(self.most_share * len(losses))))
        every = np.union1d(np.flatnonzero(before.any(axis=1)), rows)
        if model_replicas.count(window, every) <= model_replicas.count(window, rows):
            return []
        when = f"one after the other, last at step {int(window.steps.index[first])}"
        return [self._everywhere(window, every, at, when)]

    def _few(self, window: JobWindow, rows: Ints) -> bool:
        """Tell whether one of these ranks may be the origin, and the others have it of that one.

        Two replicas share neither a device nor a value before the reduction: what both have at the
        same step comes from what they have in common, and that is the data.
        """
        replicas = model_replicas.replica_of(window)
        if replicas is not None and len(np.unique(replicas[rows])) > 1:
            return False
        return len(rows) <= max(1, int(self.most_share * len(window.ranks)))

    def _named(
        self, window: JobWindow, rows: Ints, finite: int, index: int, at: float, *, sure: bool
    ) -> list[Finding]:
        if finite and self._few(window, rows):
            return [
                report(
                    window,
                    self.name,
                    "rank.first_nonfinite",
                    window.rank_entity(int(row)),
                    onset=at,
                    magnitude=float(finite),
                    score=1.5 if len(rows) > 1 else 3.0 if sure else 2.0,
                    signal="training.loss",
                    observed="NaN",
                    expected="finite",
                    text=f"rank {int(window.ranks[row])}'s own value went non-finite at step "
                    f"{index}, when those of {finite} peers were finite",
                )
                for row in rows
            ]
        if len(rows) < 2:
            return []
        return [self._everywhere(window, rows, at, f"at the same step {index}")]

    def _everywhere(self, window: JobWindow, rows: Ints, at: float, when: str) -> Finding:
        return report(
            window,
            self.name,
            "job.nonfinite_everywhere",
            window.entity,
            onset=at,
            magnitude=float(len(rows)),
            score=2.0,
            signal="training.loss",
            observed=float(len(rows)),
            expected=0.0,
            text=f"the own values of {len(rows)} ranks went non-finite {when}",
            ranks=window.ranks[rows].tolist(),
        )

    def _collapse(
        self, window: JobWindow, scale: Floats | None, first: int, at: float, losses: Flags
    ) -> list[Finding]:
        falls, high, low = loss_scaling.collapse(scale, first)
        if scale is None or not falls:
            return []
        spoilt = np.flatnonzero(values.any_rank(losses[:, first:]))
        until = first + int(spoilt[0]) if len(spoilt) else losses.shape[1]
        # A bad batch spoils the loss itself, and not the gradients of many batches in a row alone.
        ahead = bool(loss_scaling.collapse(scale[:until], until)[0])
        return [
            report(
                window,
                self.name,
                "job.loss_scale_collapse",
                window.entity,
                onset=at,
                magnitude=high / low,
                score=2.0,
                signal=loss_scaling.SCALE,
                observed=low,
                expected=high,
                text=f"the loss scale fell {falls} times, from {high:g} to {low:g}"
                + (", while losses were finite" if ahead else ""),
            )
        ]
