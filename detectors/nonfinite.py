"""Where a NaN or Inf came from: the rank whose own value went bad first."""

import sys
from collections.abc import Sequence

import numpy as np

from ..vocabulary.findings import Finding
from ..vocabulary.samples import Event
from .window import Flags, Floats, JobWindow, Steps

_OWN = (
    "training.loss",
    "training.loss|local",
    "training.nonfinite",
    "training.nonfinite|loss",
    "training.nonfinite|grad_local",
    "training.grad_norm|local",
)
_SHARED = (
    "training.loss|global",
    "training.grad_norm",
    "training.grad_norm|global",
    "training.nonfinite|grad_reduced",
)
_OWN_WORDS = ("loss", "grad_local")
_SCALE = "training.loss_scale"


class Nonfinite:
    """Name the first rank whose own (not yet reduced) value was not finite.

    After one all-reduce every rank has the NaN, so only values from before it accuse: the local
    loss, local gradients, their non-finite counts, and events that say so. A value is bad when it
    is NaN or Inf, when a non-finite count is positive (frameworks hide the NaN itself), or when
    an event names the step.

    With dynamic loss scaling an Inf gradient norm on a step whose scale falls is normal life; it
    counts after `streak` such steps in a row.

    Parameters
    ----------
    most_share : the largest share of ranks that may be first together and still be called origin.
    streak : overflow steps in a row that are no longer normal under loss scaling.
    recovery : finite steps after which a bad time range is over.

    Examples
    --------
    The local loss of rank 2 goes NaN at step 40, one all-reduce later everybody's. (The grid keeps
    a NaN that was reported as Inf: NaN means that nobody reported.)

    >>> from rankscope.detectors.sketch import sketch
    >>> loss = np.random.default_rng(7).normal(2.0, 0.1, (4, 60))
    >>> loss[2, 40] = loss[:, 41:] = np.inf
    >>> window = sketch(np.full((4, 60), 0.8), planes={"training.loss|local": loss})
    >>> _, origin = Nonfinite().evaluate(window)
    >>> str(origin.entity), int(np.searchsorted(window.steps.at[0], origin.onset[0]))
    ('rank 2 on host-1', 40)

    Fails where only reduced values are reported, or one rank alone reports: the job is said to be
    non-finite, and no rank is named.

    References: facts on training signals 0.6 and 3.6; Megatron's rerun state machine.
    """

    name = "nonfinite"
    kinds = (
        "job.nonfinite",
        "rank.first_nonfinite",
        "job.nonfinite_everywhere",
        "job.loss_scale_collapse",
    )

    def __init__(self, *, most_share: float = 0.25, streak: int = 8, recovery: int = 30) -> None:
        self.most_share = most_share
        self.streak = streak
        self.recovery = recovery

    def evaluate(self, window: JobWindow) -> Sequence[Finding]:
        """Return the symptom, and the ranks it came from or that it came from nowhere alone."""
        steps = window.steps
        own, seen = _bad(steps, _OWN)
        shared, _ = _bad(steps, _SHARED)
        shared &= ~self._overflow(steps, own)
        marks = [e for e in window.events if e.name == "training.numeric"]
        _mark(window, steps, own, shared, marks)
        bad = own | shared
        columns = np.flatnonzero(bad.any(axis=0))
        ahead = _ahead(window, steps, marks)
        if not ahead and (not len(columns) or self._recovered(columns, bad, seen)):
            return []
        findings: list[Finding] = []
        if len(columns):
            first = int(columns[0])
            index, at = int(steps.index[first]), _when(steps, first, marks)
            rows = np.flatnonzero(own[:, first])
            finite = np.flatnonzero(seen[:, first] & ~own[:, first])
            share = float(bad[:, columns[-1]].mean())
            lasting = len(columns)
        else:
            index, at = min((step, event.at) for step, event, _ in ahead)
            rows = np.array(sorted({row for step, _, row in ahead if step == index}))
            valid = (
                np.isfinite(steps.at[:, -3:]).any(axis=1) if steps.at.size else np.zeros(0, bool)
            )
            finite = np.setdiff1d(np.flatnonzero(valid), rows)
            share, lasting = len(rows) / max(len(window.ranks), 1), 1
        findings.append(self._symptom(window, index, at, share, lasting))
        few = len(rows) <= max(1, int(self.most_share * len(window.ranks)))
        if len(rows) and few and len(finite):
            findings += [
                self._origin(window, int(row), index, at, len(rows), len(finite)) for row in rows
            ]
        elif len(rows) > 1 and len(window.ranks) > 1:
            findings.append(self._everywhere(window, index, at, len(rows)))
        findings += self._collapse(window, steps, at)
        return findings

    def _recovered(self, columns: np.ndarray, bad: Flags, seen: Flags) -> bool:
        """Tell whether the newest steps are finite again, on ranks that tell their values."""
        since = bad.shape[1] - 1 - int(columns[-1])
        return since >= self.recovery and bool(seen[:, -self.recovery :].any())

    def _symptom(
        self, window: JobWindow, index: int, at: float, share: float, lasting: int
    ) -> Finding:
        return Finding(
            kind="job.nonfinite",
            job=window.job,
            attempt=window.attempt,
            entity=window.entity,
            onset=(at, at),
            magnitude=float(lasting),
            score=3.0,
            detector=self.name,
            signal="training.loss",
            window=(at, max(window.now, at)),
            observed="NaN",
            expected="finite",
            text=f"values are not finite since step {index} ({share:.0%} of the ranks by now)",
        )

    def _origin(
        self, window: JobWindow, row: int, index: int, at: float, together: int, finite: int
    ) -> Finding:
        return Finding(
            kind="rank.first_nonfinite",
            job=window.job,
            attempt=window.attempt,
            entity=window.rank_entity(row),
            onset=(at, at),
            magnitude=float(finite),
            score=3.0 if together == 1 else 1.5,
            detector=self.name,
            signal="training.loss",
            window=(at, max(window.now, at)),
            observed="NaN",
            expected="finite",
            text=(
                f"rank {int(window.ranks[row])}'s own value went non-finite at step {index}, when "
                f"those of {finite} peers were finite"
            ),
        )

    def _everywhere(self, window: JobWindow, index: int, at: float, ranks: int) -> Finding:
        return Finding(
            kind="job.nonfinite_everywhere",
            job=window.job,
            attempt=window.attempt,
            entity=window.entity,
            onset=(at, at),
            magnitude=float(ranks),
            score=2.0,
            detector=self.name,
            signal="training.loss",
            window=(at, max(window.now, at)),
            observed=float(ranks),
            expected=0.0,
            text=f"the own values of {ranks} ranks went non-finite at the same step {index}",
        )

    def _collapse(self, window: JobWindow, steps: Steps, at: float) -> list[Finding]:
        if not steps.has(_SCALE):
            return []
        with np.errstate(invalid="ignore"):
            scale = np.nanmax(np.where(np.isfinite(steps.plane(_SCALE)), steps.plane(_SCALE), 0), 0)
        scale = scale[scale > 0][-64:]
        falls = int((np.diff(scale) < 0).sum())
        if len(scale) < 2 or falls < 5 or scale[-1] > scale.max() / 32:
            return []
        return [
            Finding(
                kind="job.loss_scale_collapse",
                job=window.job,
                attempt=window.attempt,
                entity=window.entity,
                onset=(at, at),
                magnitude=min(float(scale.max()) / float(scale[-1]), sys.float_info.max),
                score=2.0,
                detector=self.name,
                signal=_SCALE,
                window=(at, max(window.now, at)),
                observed=float(scale[-1]),
                expected=float(scale.max()),
                text=f"the loss scale fell {falls} times, from {scale.max():g} to {scale[-1]:g}",
            )
        ]

    def _overflow(self, steps: Steps, own: Flags) -> Flags:
        """Return [ranks, steps], where a bad shared value is a skipped step of loss scaling."""
        if not steps.has(_SCALE):
            return np.zeros(own.shape, bool)
        scale = steps.plane(_SCALE)
        scale = np.nanmax(np.where(np.isfinite(scale), scale, 0.0), axis=0)
        bad = np.zeros(len(scale), bool)
        for name in _SHARED:
            if name in steps.planes:
                bad |= _is_bad(name, steps.planes[name]).any(axis=0)
        # The scale falls on the overflow step itself or is reported with the next one.
        falls = np.diff(scale, prepend=scale[:1]) < 0
        after = np.append(falls[1:], False)
        normal = bad & (falls | after | (np.arange(len(scale)) == len(scale) - 1))
        run = 0
        for column in range(len(bad)):
            run = run + 1 if bad[column] else 0
            if run >= self.streak:
                normal[column - run + 1 : column + 1] = False
        return np.broadcast_to(normal, own.shape)


def _is_bad(name: str, plane: Floats) -> Flags:
    if name.startswith("training.nonfinite"):
        return np.nan_to_num(plane) > 0
    return np.isinf(
        plane
    )  # the grid keeps a NaN that was reported as Inf: NaN means nobody reported


def _bad(steps: Steps, names: Sequence[str]) -> tuple[Flags, Flags]:
    """Return [ranks, steps] flags: a bad value, and a value at all."""
    bad = np.zeros(steps.at.shape, bool)
    seen = np.zeros(steps.at.shape, bool)
    ended = np.isfinite(steps.at)
    for name in names:
        plane = steps.planes.get(name)
        if plane is None:
            continue
        bad |= _is_bad(name, plane)
        if name.startswith("training.nonfinite"):
            seen |= ended
            continue
        seen |= ~np.isnan(plane)
    return bad, seen


def _mark(
    window: JobWindow, steps: Steps, own: Flags, shared: Flags, marks: Sequence[Event]
) -> None:
    """Set the flags of the steps that events name."""
    for event in marks:
        step, rank = event.attributes.get("step"), event.attributes.get("rank")
        row = window.row_of(rank) if isinstance(rank, int) else None
        column = np.flatnonzero(steps.index == step)
        if row is None or not isinstance(step, int) or not len(column):
            continue
        target = own if event.attributes.get("what", "loss") in _OWN_WORDS else shared
        target[row, column[0]] = True


def _ahead(window: JobWindow, steps: Steps, marks: Sequence[Event]) -> list[tuple[int, Event, int]]:
    """Return (step, event, row) of events whose step no rank has reported the end of yet."""
    newest = int(steps.index[-1]) if len(steps.index) else -1
    found = []
    for event in marks:
        step, rank = event.attributes.get("step"), event.attributes.get("rank")
        row = window.row_of(rank) if isinstance(rank, int) else None
        own = event.attributes.get("what", "loss") in _OWN_WORDS
        if row is not None and own and isinstance(step, int) and step > newest:
            found.append((step, event, row))
    return found


def _when(steps: Steps, column: int, marks: Sequence[Event]) -> float:
    valid = steps.at[:, column]
    at = float(valid[np.isfinite(valid)].min())
    named = [e.at for e in marks if e.attributes.get("step") == int(steps.index[column])]
    return min([at, *named])
