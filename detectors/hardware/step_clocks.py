"""Hosts whose clock left their peers', seen by when the job's steps end on them."""

from collections.abc import Sequence

import numpy as np

from ...vocabulary.findings import Finding
from .. import compute_time, durations, medians
from ..contract import Detector
from ..findings import report
from ..window import Floats, JobWindow

ENOUGH = 8
"""Steps before and after a change, without which nobody can tell how exact their ends are."""


class StepClocksDetector(Detector):
    """Name hosts on whose clock steps end at another time than on their peers', and did not before.

    Synchronised ranks leave the last collective of a step together, so that the ends of their steps
    differ by little, and always by the same. Where all ranks of a host begin to end theirs earlier
    or later than the other hosts do, either the host takes longer or its clock was moved. Durations
    are measured by a clock that nobody sets: what they do not account for is the clock. This shows
    a clock without a time source, which reports no offset. Of two hosts, the one whose steps do not
    follow each other by their own durations has the wrong clock.

    Parameters
    ----------
    least : seconds of offset from which on the order of events is in doubt.
    exact : share of a step that ends of synchronised ranks may differ by in the course of a job:
        the longer a step, the more of it is not the collective in which they meet.
    share : of the difference that durations must leave unexplained.

    Examples
    --------
    From step 40 on the second of three hosts dates its steps 2.5 s later.

    >>> import dataclasses
    >>> from rankscope.detectors.sketch import sketch
    >>> window = sketch(np.full((6, 80), 0.8), hosts=3)
    >>> at = window.steps.at.copy()
    >>> at[2:4, 40:] += 2.5
    >>> window = dataclasses.replace(window, steps=dataclasses.replace(window.steps, at=at))
    >>> [finding.text for finding in StepClocksDetector().evaluate(window)]
    ['host host-1: its clock moved ahead by 2.5 s, as the ends of its steps show']

    Fails where the clock was off from the first step on, where steps are not dated by their end or
    not synchronised (their ends then differ by more), and beyond 30 s, which is taken out of all
    telemetry on arrival.

    References: Mills, "Internet time synchronization: the network time protocol" (1991), for
    offsets of common events.
    """

    name = "step_clocks"
    kinds = ("host.clock_off",)
    cadence_seconds = 10.0

    def __init__(self, *, least: float = 0.25, exact: float = 0.05, share: float = 0.5) -> None:
        self.least = least
        self.exact = exact
        self.share = share

    def evaluate(self, window: JobWindow) -> Sequence[Finding]:
        """Return one finding a host."""
        steps = window.steps
        if (
            len(window.hosts) < 2
            or steps.at.shape[1] < 2 * ENOUGH
            or not steps.has(compute_time.STEP)
        ):
            return []
        early, late = _ends(window)
        if not np.isfinite(late).any():
            return []
        own = late - _others(late)
        recent, usual = own[:, -ENOUGH:], own[:, : max(own.shape[1] // 2, ENOUGH)]
        middle = medians.median(usual, axis=1)
        shift = medians.median(recent, axis=1) - middle
        stray = np.abs(usual - middle[:, None])
        noise = medians.OF_MAD * medians.median(stray, axis=1)
        first = early - _others(early)
        same = medians.median(first[:, -ENOUGH:], axis=1) - medians.median(
            first[:, : usual.shape[1]], axis=1
        )
        with np.errstate(invalid="ignore"):
            least = max(self.least, self.exact * _usual_step(window))
            odd = (np.abs(shift) >= np.maximum(least, 6 * noise)) & (same * shift > 0)
            odd &= np.abs(same) >= np.abs(shift) / 2
        if not odd.any():
            return []
        left = self._unexplained(window, late)
        with np.errstate(invalid="ignore"):
            odd &= (left * shift > 0) & (np.abs(left) >= self.share * np.abs(shift))
        if 2 * odd.sum() > len(window.hosts):
            return []
        return [self._finding(window, host, own, shift) for host in np.flatnonzero(odd).tolist()]

    def _unexplained(self, window: JobWindow, ends: Floats) -> Floats:
        """Return [hosts], seconds between its steps that their durations do not account for."""
        duration = _of_rows(window, window.steps.plane(compute_time.STEP))[1]
        gaps = np.diff(ends, axis=1) - duration[:, 1:]
        # A checkpoint between two steps is a gap on all hosts.
        if len(gaps) > 2:
            return np.asarray(np.nansum(gaps - medians.median(gaps, axis=0), axis=1))
        smaller = np.argmin(np.abs(np.where(np.isfinite(gaps), gaps, np.inf)), axis=0)
        usual = np.take_along_axis(gaps, smaller[None], axis=0)
        return np.asarray(np.nansum(gaps - usual, axis=1))

    def _finding(self, window: JobWindow, host: int, own: Floats, shift: Floats) -> Finding:
        entity, off = window.host_entity(host), float(shift[host])
        start = float(medians.median(own[host, : max(own.shape[1] // 2, ENOUGH)], axis=0))
        moved = (own[host] - start) * np.sign(off) >= self.least
        still = np.flatnonzero(~moved & np.isfinite(own[host]))
        column = min(int(still[-1]) + 1 if len(still) else 0, own.shape[1] - 1)
        at = compute_time.step_ends(window.steps)
        began = (float(at[max(column - 1, 0)]), float(at[column]))
        word = "ahead" if off > 0 else "back"
        return report(
            window,
            self.name,
            "host.clock_off",
            entity,
            onset=(min(began), max(began)),
            magnitude=abs(off),
            score=1.0,
            signal="training.step.duration",
            observed=off,
            expected=0.0,
            text=f"{entity}: its clock moved {word} by {durations.seconds(abs(off))}, as the "
            f"ends of its steps show{_taken_out(window)}",
            ranks=(),
        )


def _usual_step(window: JobWindow) -> float:
    duration = window.steps.plane(compute_time.STEP)
    duration = duration[np.isfinite(duration)]
    return medians.middle(duration) if len(duration) else 0.0


def _taken_out(window: JobWindow) -> str:
    skew = window.clock_skew
    return f", beyond the {skew:.0f} s taken out of telemetry on arrival" if skew > 0 else ""


def _ends(window: JobWindow) -> tuple[Floats, Floats]:
    """Return [hosts, steps], when each step ended on the first and on the last rank of a host."""
    return _of_rows(window, window.steps.at)


def _of_rows(window: JobWindow, plane: Floats) -> tuple[Floats, Floats]:
    """Return [hosts, steps] of a host's first rank and of its last, NaN where it has none."""
    count = len(window.hosts)
    first, last = np.full(count, -1), np.full(count, -1)
    rows = np.flatnonzero(window.host_of >= 0)
    last[window.host_of[rows]] = rows
    first[window.host_of[rows[::-1]]] = rows[::-1]
    found = [np.where((rows >= 0)[:, None], plane[rows], np.nan) for rows in (first, last)]
    return found[0], found[1]


def _others(ends: Floats) -> Floats:
    """Return [hosts, steps], when it ended on the other hosts; their median.

    NaN where most hosts have yet to report a step: the median of few moves with the odd one.
    """
    if len(ends) > 2:
        count = np.isfinite(ends).sum(axis=0)
        most = (count >= 3) & (2 * count > len(ends))
        middle: Floats = np.where(most, medians.median(ends, axis=0), np.nan)
        return np.broadcast_to(middle, ends.shape)
    return ends[::-1]
