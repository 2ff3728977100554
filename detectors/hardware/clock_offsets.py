"""Hosts whose clocks differ from their peers'."""

from collections.abc import Sequence

import numpy as np

from ...vocabulary.findings import Finding
from .. import durations, medians
from ..contract import Detector
from ..findings import report
from ..window import Floats, JobWindow
from . import devices

OFFSET = "system.clock.offset"

FIRST = 8
"""So many of the oldest readings tell where a clock was."""

STANDS = 0.8
"""The score of a clock that has not moved: what is compared here is freed of its offset, and who
reads the logs can do the same."""

SCATTER, MOST_OF_THEM = 5.0, 0.75
"""A clock is one of its peers' within so many times what so many of them differ by: in a cluster
without a common time source all clocks are off, and none is a host's fault."""


def _among_its_peers(every: Floats, now: float) -> bool:
    """Tell whether a clock is off by no more than its peers' differ; every: [hosts], of all."""
    if len(every) < 3:
        return False
    others = np.delete(every, int(np.argmin(np.abs(every - now))))
    away = np.abs(others - medians.middle(others))
    usual = float(np.quantile(away, MOST_OF_THEM, method="higher"))
    return abs(now - medians.middle(others)) < SCATTER * usual


class ClockOffsetsDetector(Detector):
    """Name hosts whose clock is further from the median of the job's hosts than logs bear.

    The newest reading and the one `seconds` before must both be beyond `least`, on the same side,
    and beyond all that its peers' clocks differ by among themselves. A
    clock that has moved by as much from where it was, and away from its peers, is off as well, and
    since then: clocks that stray by a tenth of a second each hide what one of them does. Only that
    asks somebody to look: one that has always been off, and stays so, is worth an observation.
    It costs the job nothing, so it is worth knowing and no more: telemetry is freed of offsets
    before anything is compared, while logs of two hosts can no longer be put in order.

    Parameters
    ----------
    least : seconds of offset from which on the order of events is in doubt.
    seconds : how long it must last.

    Examples
    --------
    >>> from rankscope.detectors.sketch import START, readings, sketch
    >>> offset = np.array([[0.0], [0.001], [2.5]])
    >>> window = sketch(np.full((6, 200), 0.8), hosts=3, host_readings={
    ...     "system.clock.offset": readings(START + np.arange(0, 200, 5), offset)})
    >>> [finding.text for finding in ClockOffsetsDetector().evaluate(window)]
    ['host host-2: its clock is 2.5 s ahead of its peers']

    Fails where the clock has no time source: then the host reports no offset at all.

    References: adjtimex(2).
    """

    name = "clock_offsets"
    kinds = ("host.clock_off",)
    cadence_seconds = 10.0

    def __init__(self, *, least: float = 0.25, seconds: float = 60.0) -> None:
        self.least = least
        self.seconds = seconds

    def evaluate(self, window: JobWindow) -> Sequence[Finding]:
        """Return one finding a host."""
        held = window.host_readings.get(OFFSET)
        if held is None:
            return []
        value, at = held.latest()
        valid = np.isfinite(value) & (np.abs(value) < 1e6)
        if not valid.any():
            return []
        everyone = medians.middle(value[valid]) if valid.sum() >= 3 else 0.0
        # One that moves takes no median with it; of three, two leave open which of them is off.
        others = np.full(len(value), everyone)
        if valid.sum() > 3:
            others = devices.median_of_others(np.where(valid, value, np.nan))
        findings = []
        beyond = np.fmax(np.abs(value - everyone), 2 * np.abs(value - others))
        for host in np.flatnonzero(valid & (beyond >= self.least)).tolist():
            one = held.of(np.array([host]))
            order = np.argsort(one.at[0], kind="stable")
            past = one.value[0, order][one.at[0, order] <= at[host] - self.seconds]
            past = past[np.isfinite(past)]
            if not len(past):
                continue
            now, first = float(value[host]), medians.middle(past[:FIRST])
            zero, middle = self._moved(now, first, float(others[host])), float(others[host])
            score = STANDS if zero is None else 1.0
            if zero is None:
                if _among_its_peers(value[valid], now):
                    continue
                zero = middle = everyone
            sign = float(np.sign(now - middle))
            if (past[-1] - zero) * sign < self.least or (now - zero) * sign < self.least:
                continue
            began = devices.since(held, host, zero + sign * self.least, below=sign < 0)
            entity = window.host_entity(host)
            findings.append(
                report(
                    window,
                    self.name,
                    "host.clock_off",
                    entity,
                    onset=began,
                    magnitude=abs(now - middle),
                    score=score,
                    signal=OFFSET,
                    observed=now,
                    expected=middle,
                    text=f"{entity}: its clock {self._text(now, zero, middle)}",
                    ranks=(),
                )
            )
        return findings

    def _moved(self, now: float, first: float, others: float) -> float | None:
        """Return where a clock was before it moved away from the others; None if it did not."""
        off = now - others
        away = abs(off) >= self.least / 2 and abs(first - others) < abs(off)
        return first if away and (now - first) * np.sign(off) >= self.least else None

    def _text(self, now: float, zero: float, middle: float) -> str:
        off, by = durations.seconds(abs(now - middle)), durations.seconds(abs(now - zero))
        text = f"is {off} {'ahead of' if now > middle else 'behind'} its peers"
        if abs(zero - middle) < self.least / 2:
            return text
        return f"moved {'ahead' if now > middle else 'back'} by {by}, and {text}"
