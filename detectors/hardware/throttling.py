"""Devices whose clocks are held down, by the reason that they report."""

from collections.abc import Sequence

import numpy as np

from ...vocabulary.findings import Finding
from ..contract import Detector
from ..findings import report
from ..window import Flags, Floats, JobWindow
from . import devices, lowered_limits

THROTTLE = "hw.gpu.throttle"
CLOCK = devices.CLOCK
HEAT = ("thermal_hw", "thermal_sw", "slowdown_hw")
BRAKE = "power_brake"
CAP = "power_cap"

OFTEN = 0.5
"""Share of the newest time in which a reason must be active."""

LOWER = 0.04
"""How far a capped device's clock must be below its peers': capped devices of one model stray by
half of it."""


class ThrottlingDetector(Detector):
    """Name devices held down by heat, by a power brake, or by a power cap that their peers are not.

    The share of the newest `seconds` in which a reason was active; half of it counts. A hardware
    slowdown without a named reason counts as heat, beside a power brake as the brake. A power cap
    is normal life at full load: it counts where the device has work, most of its peers of the same
    model are not capped, or where the device is and runs 4 % slower than they do, or, in a job on
    one host, than it did before its limit was lowered. Idle clocks, application clocks and boosts
    in step hold nothing down.

    Parameters
    ----------
    seconds : the newest time range evaluated; at least three readings lie in it.

    Examples
    --------
    The device of rank 3 is throttled by heat from second 45 on.

    >>> from rankscope.detectors.sketch import START, readings, sketch
    >>> at = START + np.arange(0, 61, 5)
    >>> heat = np.zeros((4, 13))
    >>> heat[3, 9:] = 1
    >>> window = sketch(np.full((4, 60), 0.8), rank_readings={
    ...     "hw.gpu.throttle|thermal_hw": readings(at, heat)})
    >>> (held,) = ThrottlingDetector().evaluate(window)
    >>> held.kind, str(held.entity), held.onset[0] - START, held.magnitude
    ('gpu.throttled', 'gpu GPU-3 on host-1', 40.0, 1.0)

    Fails where reasons are not reported (see clocks.py), and where every device of one model is
    capped alike: that is what the site chose.

    References: NVML clock event reasons (nvml.h).
    """

    name = "throttling"
    kinds = ("gpu.throttled", "gpu.power_held")
    cadence_seconds = 5.0

    def __init__(self, *, seconds: float = 20.0) -> None:
        self.seconds = seconds

    def evaluate(self, window: JobWindow) -> Sequence[Finding]:
        """Return one finding a device that is held down."""
        key = (ThrottlingDetector, *vars(self).values())
        return window.features.once(key, lambda: self._evaluated(window))

    def _evaluated(self, window: JobWindow) -> Sequence[Finding]:
        findings = []
        for row, (reason, share) in sorted(self._held(window).items()):
            entity = window.gpu_entity(row)
            if entity is None:
                continue
            held = window.rank_readings[f"{THROTTLE}|{reason}"]
            first = devices.since(held, row, 0.5)
            kind = "gpu.throttled" if reason in HEAT else "gpu.power_held"
            findings.append(
                report(
                    window,
                    self.name,
                    kind,
                    entity,
                    onset=(first - held.period(), first),
                    magnitude=share,
                    score=2.0 + share,
                    signal=THROTTLE,
                    observed=share,
                    expected=0.0,
                    text=f"{entity}: clocks held down, {reason}, {share:.0%} of the time",
                )
            )
        return findings

    def _held(self, window: JobWindow) -> dict[int, tuple[str, float]]:
        """Return by row the reason that holds its device down and how often."""
        held: dict[int, tuple[str, float]] = {}
        for reason, odd, share in self._reasons(window):
            for row in np.flatnonzero(odd).tolist():
                held.setdefault(row, (reason, float(share[row])))
        return held

    def _reasons(self, window: JobWindow) -> list[tuple[str, Flags, Floats]]:
        """Return (reason, which rows, share of the time), the more telling reasons first."""
        found: list[tuple[str, Flags, Floats]] = []
        for reason in (*HEAT[:2], BRAKE, HEAT[2]):
            if f"{THROTTLE}|{reason}" in window.rank_readings:
                share = devices.level(window, f"{THROTTLE}|{reason}", self.seconds)
                found.append((reason, np.nan_to_num(share) >= OFTEN, share))
        if f"{THROTTLE}|{CAP}" in window.rank_readings:
            share = devices.level(window, f"{THROTTLE}|{CAP}", self.seconds)
            found.append((CAP, self._capped(window, share), share))
        return found

    def _capped(self, window: JobWindow, share: Floats) -> Flags:
        """Return the rows whose power cap holds them down while their peers' does not."""
        capped: Flags = np.nan_to_num(share) >= OFTEN
        if not capped.any():
            return capped
        limit = devices.latest(window, "hw.power.limit")
        known = limit[np.isfinite(limit)]
        if 2 * capped.sum() > len(capped) and not (len(known) and np.ptp(known)):
            # Most meet the same cap: the site's choice, unless it was lowered as the job ran.
            return capped & lowered_limits.held_back(window)
        kinds, _ = devices.models(window, power=False)
        work = ~devices.waiting(window, self.seconds)
        with np.errstate(invalid="ignore"):
            alone = devices.peers_median(share, kinds, work) < OFTEN / 2
            clock = devices.level(window, CLOCK, self.seconds)
            usual = devices.peers_median(clock, kinds, work)
            slower = clock < (1 - LOWER) * usual
            lower = limit < 0.95 * devices.peers_median(limit, kinds, work)
        compared = np.isfinite(clock) & np.isfinite(usual)
        odd: Flags = capped & work & np.where(compared, slower & (alone | lower), alone)
        for row in np.flatnonzero(odd & compared).tolist():
            worked = devices.level_under_load(window, CLOCK, row, self.seconds)
            odd[row] = worked < (1 - LOWER) * usual[row]
        return odd


def held_down(window: JobWindow, seconds: float) -> Flags:
    """Return [ranks], whose device reports heat, a brake or a slowdown as the reason of its clock.

    A power cap is none: at full load most devices report it, whatever else is wrong with them.
    """
    held = np.zeros(len(window.ranks), np.bool_)
    for reason in (*HEAT, BRAKE):
        share = devices.level(window, f"{THROTTLE}|{reason}", seconds)
        held |= np.nan_to_num(share) >= OFTEN
    return held
