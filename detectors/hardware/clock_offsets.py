"""Hosts whose clocks differ from their peers'."""

from collections.abc import Sequence

import numpy as np

from ...vocabulary.findings import Finding
from .. import durations
from ..contract import Detector
from ..findings import report
from ..window import Flags, Floats, JobWindow
from . import devices

OFFSET = "system.clock.offset"

FIRST = 8
"""So many of the oldest readings tell where a clock was."""


class ClockOffsets(Detector):
    """Name hosts whose clock is further from the median of the job's hosts than logs bear.

    The newest reading and the one `seconds` before must both be beyond `least`, on the same side. A
    clock that has moved by as much from where it was, and away from its peers, is off as well, and
    since then: clocks that stray by a tenth of a second each hide what one of them does.
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
    >>> [finding.text for finding in ClockOffsets().evaluate(window)]
    ['host host-2: its clock is 2.5 s ahead of its peers']

    Fails where the clock has no time source: then the host reports no offset at all.

    References: adjtimex(2); facts on training signals (joining hosts on one clock).
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
        everyone = float(np.median(value[valid])) if valid.sum() >= 3 else 0.0
        others = _of_others(value, valid)
        stands = np.abs(value - everyone) >= self.least
        findings = []
        odd = valid & (stands | (np.abs(value - others) >= self.least / 2))
        for host in np.flatnonzero(odd).tolist():
            one = held.of(np.array([host]))
            order = np.argsort(one.at[0], kind="stable")
            past = one.value[0, order][one.at[0, order] <= at[host] - self.seconds]
            past = past[np.isfinite(past)]
            if not len(past):
                continue
            zero = middle = float(others[host])
            off, first = float(value[host]) - middle, float(np.median(past[:FIRST]))
            away = abs(off) >= self.least / 2 and abs(first - middle) < abs(off)
            if away and (value[host] - first) * np.sign(off) >= self.least:
                zero = first  # wherever it was before
            elif stands[host]:
                zero = middle = everyone
                off = float(value[host]) - middle
            else:
                continue
            if not (past[-1] - zero) * np.sign(off) >= self.least:
                continue
            entity = window.host_entity(host)
            far = zero + np.sign(off) * self.least
            began = devices.since(held, host, far, below=off < 0)
            word = "ahead of" if off > 0 else "behind"
            text = f"is {durations.seconds(abs(off))} {word} its peers"
            if zero != middle and abs(zero - middle) >= self.least / 2:
                by = durations.seconds(abs(float(value[host]) - zero))
                text = f"moved {'ahead' if off > 0 else 'back'} by {by}, and {text}"
            findings.append(
                report(
                    window,
                    self.name,
                    "host.clock_off",
                    entity,
                    onset=began,
                    magnitude=abs(off),
                    score=1.0,
                    signal=OFFSET,
                    observed=float(value[host]),
                    expected=middle,
                    text=f"{entity}: its clock {text}",
                    ranks=(),
                )
            )
        return findings


def _of_others(value: Floats, valid: Flags) -> Floats:
    """Return [hosts], the median of the other hosts: one that moves takes no median with it.

    Of three it is the median of all, since two others leave open which of them is off; of fewer 0.
    """
    held = np.sort(value[valid])
    count, half = len(held), len(held) // 2
    if count < 3:
        return np.zeros(len(value))
    if count == 3:
        return np.full(len(value), held[1])
    if count % 2 == 0:
        found: Floats = np.where(value <= held[half - 1], held[half], held[half - 1])
        return found
    lower, upper = (held[half - 1] + held[half]) / 2, (held[half] + held[half + 1]) / 2
    beside = (held[half - 1] + held[half + 1]) / 2
    outer = np.where(value < held[half], upper, lower)
    middle: Floats = np.where(value == held[half], beside, outer)
    return middle
