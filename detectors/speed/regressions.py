"""Job-wide slowness that begins with a change of code, configuration, driver or image."""

from collections.abc import Sequence

import numpy as np

from ...vocabulary.findings import Finding
from .. import compute_time, durations, medians
from ..baselines import PARTS_STEPS
from ..contract import Detector
from ..findings import report
from ..window import Floats, JobWindow, StepValues
from .since_change import CHANGE, changes
from .slow_steps import SlowStepsDetector

ALIKE = 0.05
"""Work that grew by less at a restart is as it was."""


class RegressionsDetector(Detector):
    """Join the onset of slow steps with the change event just before it; say what grew.

    Where slow_steps.py finds the job slow, the parts of its step are compared before and since the
    onset: the median rank's own work, and the wait inside collectives of the rank that waits
    least, which is the communication itself. Own work that grew on four of five ranks alike is no
    single rank's doing. A change event within `before` seconds ahead of the onset, or around the
    start of an attempt that is slow from its first step on, is what the slowness began with. Where
    nobody reports one, such an attempt is slow since its restart: what people restart jobs for.
    Where what grew is the exchange in collectives, to `times` what it took in the attempt before,
    and no rank's work, the ranks chose another transport.

    Parameters
    ----------
    before : seconds that may pass between a change and the first slow step.
    least : share of the slowdown that a part must explain.
    times : by how much the exchange must have grown at a restart; twice as much may be sent.

    Examples
    --------
    A configuration changes in step 40; every rank needs a quarter more from then on.

    >>> from rankscope.detectors.sketch import START, sketch
    >>> from rankscope.vocabulary.samples import Event, TelemetryResource
    >>> own = np.random.default_rng(7).normal(0.8, 0.008, (4, 70))
    >>> own[:, 40:] *= 1.25
    >>> host = TelemetryResource("host-0", "example")
    >>> changed = Event("change", START + 38, {"kind": "config"}, host)
    >>> for finding in RegressionsDetector().evaluate(sketch(own, events=(changed,))):
    ...     print(finding.kind, finding.entity, f"{finding.magnitude:.2f}")
    job.slow_compute job example 1.25
    job.slow_since_change job example 1.21

    Fails where a change takes effect long after it was made, where nobody reports one that needs no
    restart, and where an earlier attempt is unknown.

    References: ByteRobust (SOSP'25) for code among the causes; Llama 3 (2024) for software bugs.
    """

    name = "regressions"
    cadence_seconds = 5.0
    kinds = (
        "job.slow_since_change",
        "job.slow_since_restart",
        "job.exchange_since_restart",
        "job.slow_compute",
        "job.slow_comm",
    )

    def __init__(self, *, before: float = 180.0, least: float = 0.5, times: float = 2.5) -> None:
        self.before = before
        self.least = least
        self.times = times

    def evaluate(self, window: JobWindow) -> Sequence[Finding]:
        """Return evidence on the job; nothing where its steps are not slow."""
        found = SlowStepsDetector().evaluate(window)
        if not found:
            return []
        (slow,) = found
        return [*self._parts(window, slow), *self._change(window, slow)]

    def _parts(self, window: JobWindow, slow: Finding) -> list[Finding]:
        steps, ends = window.features.steps, window.features.step_ends
        first = int(np.searchsorted(np.nan_to_num(ends, nan=-np.inf), slow.onset[1]))
        before, since = steps.cut(max(first - 100, 0), first), steps.cut(first, len(steps.index))
        if len(before.index) < 5 or not len(since.index):
            return []
        step = _usual(since.plane(compute_time.STEP)) - _usual(before.plane(compute_time.STEP))
        findings: list[Finding] = []
        plane = compute_time.own_plane(steps)
        if plane is not None and plane != compute_time.STEP:
            held = [_by_rank(compute_time.own_seconds(part, plane)) for part in (before, since)]
            grown = held[1] - held[0]
            grown = grown[np.isfinite(grown)]
            if len(grown) > 1 and float(np.quantile(grown, 0.2)) >= self.least * step > 0:
                findings.append(
                    self._part(window, slow, "job.slow_compute", held, compute_time.COMPUTE,
                               "every rank's own work takes")
                )  # fmt: skip
        if steps.has(compute_time.COMM):
            held = [_exposed(part) for part in (before, since)]
            if float(held[1][0] - held[0][0]) >= self.least * step > 0:
                findings.append(
                    self._part(window, slow, "job.slow_comm", held, compute_time.COMM,
                               "collectives take even the rank that waits least")
                )  # fmt: skip
        return findings

    def _part(
        self,
        window: JobWindow,
        slow: Finding,
        kind: str,
        held: Sequence[Floats],
        signal: str,
        text: str,
    ) -> Finding:
        before, since = (medians.known(values) for values in held)
        return report(
            window,
            self.name,
            kind,
            window.entity,
            onset=slow.onset,
            seen=slow.window,
            magnitude=since / max(before, 1e-9),
            score=slow.score,
            signal=signal,
            observed=since,
            expected=before,
            text=f"{text} {durations.seconds(since)} in a step instead of "
            f"{durations.seconds(before)}",
        )

    def _change(self, window: JobWindow, slow: Finding) -> list[Finding]:
        from_start = slow.onset[1] <= float(np.nanmin(window.features.step_ends)) + 1e-6
        first, last = slow.onset[0] - self.before, slow.onset[1]
        if from_start:
            first = min(first, window.attempt_started_at - 600.0)
        made = [event for event in changes(window) if first <= event.at <= last]
        if not made:
            if not from_start:
                return []
            return [self._restart(window, slow), *self._exchange(window, slow)]
        change = made[-1]
        words = [str(change.attributes.get(name, "")) for name in ("kind", "text")]
        what = ": ".join(word for word in words if word)
        return [
            report(
                window,
                self.name,
                "job.slow_since_change",
                window.entity,
                onset=(min(change.at, slow.onset[1]), slow.onset[1]),
                seen=slow.window,
                magnitude=slow.magnitude,
                score=max(slow.score, 3.0),
                signal=CHANGE,
                observed=slow.observed,
                expected=slow.expected,
                text=f"steps are {100 * (slow.magnitude - 1):.0f} % longer since a change "
                f"{max(slow.onset[1] - change.at, 0.0):.0f} s before ({what or 'not described'})",
            )
        ]

    def _restart(self, window: JobWindow, slow: Finding) -> Finding:
        """Return that a restart, with as many ranks and as many tokens, is all that changed."""
        return report(
            window,
            self.name,
            "job.slow_since_restart",
            window.entity,
            onset=slow.onset,
            seen=slow.window,
            magnitude=slow.magnitude,
            score=max(slow.score, 2.0),
            signal=compute_time.STEP,
            observed=slow.observed,
            expected=slow.expected,
            text=f"steps are {100 * (slow.magnitude - 1):.0f} % longer than in attempt "
            f"{window.attempt - 1}, from the first one on; no change is reported",
        )

    def _exchange(self, window: JobWindow, slow: Finding) -> list[Finding]:
        """Return that the restart made the exchange several times as long, and no rank's work.

        That is how a transport behaves which the ranks chose as they started: code that sends
        twice as much, or works for longer, is none.
        """
        before = window.baselines.before
        if before is None:
            return []
        seen, work = window.features.parts_of(PARTS_STEPS)
        # NaN, and so no comparison holds, where a part is not known.
        explains = seen - before.exchange >= self.least * (1 - 1 / slow.magnitude) * before.seconds
        if not (
            explains and seen >= self.times * before.exchange and work <= (1 + ALIKE) * before.work
        ):
            return []
        return [
            report(
                window,
                self.name,
                "job.exchange_since_restart",
                window.entity,
                onset=slow.onset,
                seen=slow.window,
                magnitude=seen / max(before.exchange, 1e-9),
                score=max(slow.score, 2.0),
                signal=compute_time.COMM,
                observed=seen,
                expected=before.exchange,
                text=f"collectives take even the rank that waits least {durations.seconds(seen)} "
                f"in a step, {durations.seconds(before.exchange)} in the attempt before, and "
                "ranks work for no longer",
            )
        ]


def _by_rank(own: Floats) -> Floats:
    return medians.median(own, axis=1)


def _exposed(part: StepValues) -> Floats:
    """Return the wait in collectives of the rank that waits least, as one value."""
    wait = medians.median(part.plane(compute_time.COMM), axis=1)
    valid = wait[np.isfinite(wait)]
    return np.array([float(valid.min()) if len(valid) else np.nan])


def _usual(plane: Floats) -> float:
    return medians.known(plane.ravel())
