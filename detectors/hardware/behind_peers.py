"""Devices that hold their peers back, by what the devices themselves report."""

from collections.abc import Sequence

import numpy as np

from ...vocabulary.findings import Finding
from .. import medians
from ..contract import Detector
from ..findings import report
from ..window import Flags, Floats, JobWindow, PeriodicReadings
from . import devices, held_back
from .clocks import LowClockDetector
from .throttling import CLOCK, LOWER, ThrottlingDetector

ACTIVITY = ("hw.gpu.sm.activity", "hw.gpu.tensor.activity", "hw.gpu.memory.activity", "hw.power")
"""What a device does more of that works while its peers wait for it, the most telling first."""

RECENT_SECONDS = 20.0
"""As far as the means of clocks go back."""

WARM_UP_SECONDS = 120.0
FEWEST_READINGS = 4
PAST_SECONDS = 7200.0
SETTLED_SECONDS = 30.0
"""A low clock counts from so much later on, if it is still without a reason."""

LASTS = 3
"""Of so many time ranges, one after the other, a device is ahead of its peers in each: a rank that
evaluates or saves for the others is busy while they wait, and is done after a while."""

MOST = 32
"""More than one device in so many that does more than the others has been given more to do."""

PAUSED = 0.3
"""Share of its usual activity below which a job pauses: afterwards its ranks may run elsewhere."""

OLDER = 0.5
"""A device's own past is the older half of so many seconds."""

_CLOCKS: tuple[Detector, ...] = (ThrottlingDetector(), LowClockDetector())


class BehindPeersDetector(Detector):
    """Name the devices that a job must wait for, whether or not its steps show it already.

    A synchronous job waits for its slowest device. A busy one whose clock is held down
    (`throttling`, `low_clock`) to `lower` below its peers' is worth knowing before enough steps
    have ended to show what it costs, and where steps are reported without their parts: it is info.
    At its cap a clock wanders: below by less than 8 % and without heat, it counts where it reached
    its peers' in none of six readings, over a minute at least.
    Where neither steps nor collectives are reported it is all that can be known, and a warning;
    a device that reached its peers' clock all the same is left out: its mean has readings at rest.
    What scraped exporters show cannot tell then that a job is slow, only which of its devices must
    hold it back. Two things do: such a clock, and work that lasts longer. All devices do the same
    work and wait for the slowest, so the slowest is busy while the others wait: in each of the
    newest three times `seconds` it is more active than the median of its peers by `least`, by six
    times their robust spread, and by `least` more than it was in the older part of its own past: a
    device that always has more to do is no slow one. Only the most telling metric that is reported
    is looked at.

    Parameters
    ----------
    seconds : a time range that is evaluated; at least three readings lie in it.
    least : how much more active than its peers, and than before, a device must be (0.06 = 6 %).
    lower : how far below its peers' a clock must be where steps are reported.

    Examples
    --------
    From minute 10 on the peers of rank 3's device wait for it.

    >>> from rankscope.detectors.sketch import START, readings, sketch
    >>> at = START + np.arange(0.0, 1200, 15)
    >>> busy = np.full((4, len(at)), 0.6)
    >>> busy[:3, 40:] = 0.45
    >>> window = sketch(np.zeros((4, 0)), now=START + 1200, rank_readings={
    ...     "hw.gpu.tensor.activity": readings(at, busy)})
    >>> (behind,) = BehindPeersDetector().evaluate(window)
    >>> str(behind.entity), round(behind.magnitude, 2)
    ('gpu GPU-3 on host-1', 1.33)

    Fails where a device was slow before anybody looked, and cannot tell a slow device from one that
    was given more work: that needs steps.

    Reference: stragglers are those that wait least, Greyhound (ATC'25), Mycroft (SOSP'25).
    """

    name = "behind_peers"
    kinds = ("gpu.behind_peers",)
    cadence_seconds = 5.0

    def __init__(self, *, seconds: float = 90.0, least: float = 0.06, lower: float = LOWER) -> None:
        self.seconds = seconds
        self.least = least
        self.lower = lower

    def evaluate(self, window: JobWindow) -> Sequence[Finding]:
        """Return one finding a device that holds the others back."""
        if not blind(window):
            return held_back.before_steps_show(window, self.name, _held, self.lower)
        held = _held(window)
        findings: dict[str, Finding] = {}
        clock = devices.level(window, CLOCK, self.seconds)
        fast = _as_fast(window, self.lower)
        for found in held:
            row = window.row_of(next(iter(found.ranks), -1))
            if row is None or found.entity.id in findings:
                continue
            if found.kind in held_back.BY_MEAN and fast[row]:
                continue  # it is read at rest now and then, as a scraper does, and is not slow
            if (
                found.detector == LowClockDetector.name
                and window.now - found.onset[1] < SETTLED_SECONDS
            ):
                continue  # the reason that the device reports may be a reading behind its clock
            peers = float(np.nanmedian(clock)) if np.isfinite(clock).any() else np.nan
            ratio = peers / float(clock[row]) if clock[row] > 0 else np.nan
            findings[found.entity.id] = report(
                window,
                self.name,
                "gpu.behind_peers",
                found.entity,
                onset=found.onset,
                magnitude=max(float(np.nan_to_num(ratio, nan=1.0)), 1.01),
                score=2.0,
                signal=found.signal,
                observed=found.observed,
                expected=found.expected,
                text=f"{found.text}; no steps are reported, the job waits for its slowest device",
            )
        return [*findings.values(), *self._longer(window, findings)]

    def _longer(self, window: JobWindow, known: dict[str, Finding]) -> list[Finding]:
        """Return findings on devices that work while their peers wait."""
        for metric in (name for name in ACTIVITY if name in window.rank_readings):
            ratio, newest = self._ratio(window, metric)
            rows = np.flatnonzero(self._odd(window, metric, ratio, newest))
            if not 0 < len(rows) <= max(1, len(ratio) // MOST):
                return []
            found = []
            for row in rows.tolist():
                entity = window.gpu_entity(row)
                if entity is None or entity.id in known:
                    continue
                level = float(devices.level(window, metric, self.seconds)[row])
                first = self._since(window, metric, row)
                found.append(
                    report(
                        window,
                        self.name,
                        "gpu.behind_peers",
                        entity,
                        onset=(first - window.rank_readings[metric].period(), first),
                        magnitude=float(ratio[row]),
                        score=2.0,
                        signal=metric,
                        observed=level,
                        expected=level / float(ratio[row]),
                        text=f"{entity} works while its peers wait: {metric} "
                        f"{ratio[row] - 1:.0%} above theirs, and before it was not; no steps are "
                        "reported",
                    )
                )
            return found
        return []

    def _ratio(self, window: JobWindow, metric: str) -> tuple[Floats, float]:
        """Return [ranks], activity over that of peers, and the newest reading's time.

        The lowest of the newest time ranges.
        """
        held = window.rank_readings[metric]
        newest, seconds = held.newest_at(), self._range(held)
        lowest = np.full(len(window.ranks), np.inf)
        for number in range(LASTS):
            end = newest - number * seconds
            value = held.mean(end - seconds, end)
            lowest = np.minimum(lowest, self._over_peers(window, value))
        return lowest, newest

    def _range(self, held: PeriodicReadings) -> float:
        """Return the length of a time range: of slow reporters it is longer."""
        return max(self.seconds, 3.2 * held.period())

    def _over_peers(self, window: JobWindow, value: Floats) -> Floats:
        kinds, _ = devices.models(window)
        works = np.isfinite(value) & (value > 0)
        usual = devices.peers_median(value, kinds, works)
        with np.errstate(invalid="ignore", divide="ignore"):
            ratio: Floats = np.where(usual > 0, value / usual, np.nan)
        return ratio

    def _odd(self, window: JobWindow, metric: str, ratio: Floats, newest: float) -> Flags:
        """Return [ranks], who does more than its peers, and did not use to."""
        least = self.least
        with np.errstate(invalid="ignore"):
            odd: Flags = ratio >= 1 + max(least, 6 * medians.spread(ratio))
        if not odd.any():
            return odd
        held = window.rank_readings[metric]
        seen = held.at[np.isfinite(held.at)]
        first = max(float(seen.min()), window.attempt_started_at, _paused_until(held))
        start = max(newest - PAST_SECONDS, first + WARM_UP_SECONDS)
        end = min(start + OLDER * (newest - start), newest - LASTS * self._range(held))
        if end <= start:
            return np.zeros(len(ratio), np.bool_)
        before = self._over_peers(window, held.mean(start, end))
        clock = devices.level(window, CLOCK, self.seconds)
        kinds, _ = devices.models(window)
        slow = clock < 0.97 * devices.peers_median(clock, kinds, np.isfinite(clock))
        with np.errstate(invalid="ignore"):
            odd &= (ratio - before >= least) & ~slow
        return odd

    def _since(self, window: JobWindow, metric: str, row: int) -> float:
        """Return when a device began to do more than its peers did later."""
        one = window.rank_readings[metric]
        middle = np.nanmedian(one.value, axis=0)
        at, value = one.at[row], one.value[row]
        with np.errstate(invalid="ignore", divide="ignore"):
            more = value / middle >= 1 + self.least / 2
        usual = at[np.isfinite(at) & ~more]
        after = at[np.isfinite(at) & more & (at > usual.max(initial=-np.inf))]
        return float(after.min()) if len(after) else float(np.nanmax(at))


def _paused_until(held: PeriodicReadings) -> float:
    """Return when all devices last began to work again after they had paused; -inf: never.

    A restart is not reported where nothing but devices is; its ranks may have moved.
    """
    value = np.where(np.isfinite(held.at), held.value, np.nan)
    known = np.isfinite(value).any(axis=0)
    if known.sum() < FEWEST_READINGS:
        return -np.inf
    middle = np.full(value.shape[1], np.nan)
    middle[known] = np.nanmedian(value[:, known], axis=0)
    usual = float(np.nanmedian(middle))
    with np.errstate(invalid="ignore"):
        paused = np.flatnonzero(middle < PAUSED * usual)
    if not len(paused):
        return -np.inf
    return float(np.nanmax(held.at[:, paused[-1]]))


def _held(window: JobWindow) -> list[Finding]:
    """Return the findings on clocks that are held down."""
    return [found for one in _CLOCKS for found in one.evaluate(window)]


def _as_fast(window: JobWindow, lower: float) -> Flags:
    """Return [ranks], who reached the clock that its peers reached in the newest readings.

    At rest a clock is low whatever the device; under load the highest reading is what it can do.
    """
    held = window.rank_readings.get(CLOCK)
    if held is None:
        return np.zeros(len(window.ranks), np.bool_)
    reached = devices.highest(held, RECENT_SECONDS)
    kinds, _ = devices.models(window, power=False)
    usual = devices.peers_median(reached, kinds, np.isfinite(reached))
    with np.errstate(invalid="ignore"):
        fast: Flags = reached >= (1 - lower) * usual
    return fast


def blind(window: JobWindow) -> bool:
    """Tell whether nothing but devices is reported of a job: no step, no collective, no process."""
    if len(window.ranks) < devices.FEWEST_PEERS or window.groups:
        return False
    if any(not name.startswith("hw.") for name in window.rank_readings):
        return False
    return not np.isfinite(window.steps.at).any()
