"""PCIe links of working devices that run below what they can, or repeat packets."""

from collections.abc import Sequence

import numpy as np

from ...vocabulary.findings import Finding
from ..contract import Detector
from ..findings import report
from ..window import Flags, Floats, JobWindow, PeriodicReadings
from . import counters, devices

WIDTH = "hw.gpu.pcie.width"
GENERATION = "hw.gpu.pcie.generation"
REPLAYS = "hw.gpu.pcie.replays"

PAST_SECONDS, MOMENTS = 900.0, 12
"""The past in which a link may have run at more, and how many moments of it are looked at."""


class PcieLinksDetector(Detector):
    """Name devices whose PCIe link is narrower or of a lower generation than it could be.

    Only by what was read while the device had work: an idle link lowers its generation, and some
    their width. It counts where it lasts `seconds` and where most peers of the model run at more,
    or the device itself did before: a board whose slots are all narrow is what the site bought.
    Links that fall on most devices together, or after which no steps end, follow the job that
    stands: a device whose kernels wait is "busy" and saves power. It is a symptom by itself, since
    at half the lanes each copy between host and device takes twice as long.
    Replays count by rate, against `least` a minute and ten times the median of the peers; they are
    evidence.

    Parameters
    ----------
    seconds : how long the link must be below what it can.
    past : the newest time range evaluated for replays.
    least : replays a minute from which on they count.
    readings : so many at work say that a link is slow: the one of a source that reads every few
        minutes may be of a device that has just begun, or rests for a moment.

    Examples
    --------
    The device of rank 2 works with 8 of 16 lanes.

    >>> from rankscope.detectors.sketch import START, readings, sketch
    >>> at = START + np.arange(0, 61, 5)
    >>> width = np.array([[16.0], [16.0], [8.0], [16.0]])
    >>> window = sketch(np.full((4, 60), 0.8), rank_readings={
    ...     "hw.gpu.pcie.width": readings(at, width),
    ...     "hw.gpu.pcie.width.max": readings(at, np.full((4, 1), 16.0)),
    ...     "hw.gpu.utilization": readings(at, np.full((4, 1), 0.9))})
    >>> [finding.text for finding in PcieLinksDetector().evaluate(window)]
    ['gpu GPU-2 on host-1: PCIe width 8 of 16 under load']

    Fails where utilization is not reported (nothing says that the link is not just idle) and where
    the narrow part is a switch above the device: then its own link is wide.

    References: PCI Express base specification (link states).
    """

    name = "pcie_links"
    kinds = ("gpu.pcie_slow", "gpu.pcie_replays")
    cadence_seconds = 10.0

    def __init__(
        self,
        *,
        seconds: float = 30.0,
        past: float = 300.0,
        least: float = 60.0,
        readings: int = 2,
    ) -> None:
        self.seconds = seconds
        self.past = past
        self.least = least
        self.readings = readings

    def evaluate(self, window: JobWindow) -> Sequence[Finding]:
        """Return one finding a device and what is low, and one for replays."""
        findings = self._replays(window)
        for metric, word in ((WIDTH, "width"), (GENERATION, "generation")):
            if metric in window.rank_readings and devices.UTILIZATION in window.rank_readings:
                findings += self._below(window, metric, word)
        return findings

    def _below(self, window: JobWindow, metric: str, word: str) -> list[Finding]:
        held = window.rank_readings[metric]
        newest = held.newest_at()
        if newest == -np.inf:
            return []
        most = devices.latest(window, f"{metric}.max")
        if not np.isfinite(most).any() and _alike(held, newest - self.seconds):
            return []
        seconds = max(self.seconds, 3.2 * held.period())
        seen = _most(held, newest - seconds)
        if not ((seen < most) | ~np.isfinite(most)).any():
            return []  # every link runs at what it can
        busy = devices.level(window, devices.UTILIZATION, seconds) >= devices.BUSY
        kinds, _ = devices.models(window, power=False)
        valid: Flags = np.isfinite(seen) & busy
        usual = devices.peers_median(seen, kinds, valid)
        with np.errstate(invalid="ignore"):
            low = valid & ((seen < most) | ~np.isfinite(most))
            below_peers = seen < usual
        fell = self._fell(window, held, seen)
        if len(seen) > 1 and 2 * np.count_nonzero(fell & valid) > np.count_nonzero(valid):
            fell = np.zeros_like(fell)
        rows = np.flatnonzero(low & (below_peers | fell))
        stepped = _last_step(window)
        findings = []
        for row in rows.tolist():
            entity = window.gpu_entity(row)
            worked = devices.under_load(window, held, row)
            if _readings(worked, newest - seconds) < self.readings:
                continue  # it was read at rest, or at a moment of which little is known
            before = self._before(window, metric, row, float(seen[row])) if fell[row] else 0.0
            if entity is None or not (below_peers[row] or before > seen[row]):
                continue
            best = float(most[row]) if np.isfinite(most[row]) else max(before, float(usual[row]))
            first = devices.since(worked, 0, float(seen[row]), below=True)
            if stepped < first + self.seconds:
                continue
            findings.append(
                report(
                    window,
                    self.name,
                    "gpu.pcie_slow",
                    entity,
                    onset=(first - held.period(), first),
                    magnitude=float(seen[row]) / best,
                    score=3.0,
                    signal=metric,
                    observed=float(seen[row]),
                    expected=best,
                    text=f"{entity}: PCIe {word} {seen[row]:.0f} of {best:.0f} under load",
                )
            )
        return findings

    def _fell(self, window: JobWindow, held: PeriodicReadings, seen: Floats) -> Flags:
        """Return [ranks], whose link may have run at more for a quarter of the time held.

        By a few moments of it: at a hundred thousand devices the whole is large.
        """
        fell: Flags = np.zeros(len(seen), np.bool_)
        if not (held.highest() > seen).any():
            return fell
        newest, half = held.newest_at(), held.period() / 2
        ends = window.features.step_ends
        began = max(window.attempt_started_at, float(np.min(ends, initial=np.inf)) - 60.0)
        span = min(newest - began, PAST_SECONDS) if np.isfinite(began) else PAST_SECONDS
        for number in range(MOMENTS):
            at = newest - span * (number + 0.5) / MOMENTS
            value = held.between(at - half, at + half).value
            with np.errstate(invalid="ignore"):
                fell |= ((value > seen[:, None]) & (value < 1e3)).any(axis=1)
        return fell

    def _before(self, window: JobWindow, metric: str, row: int, seen: float) -> float:
        """Return what a link ran at while the device worked before, 0 where it never ran at more.

        For devices without peers: one rank, or a model of its own.
        """
        values = window.rank_readings[metric].of(np.array([row])).value[0]
        values = values[np.isfinite(values) & (values < 1e3)]
        more = values[values > seen]
        return float(more.max()) if 4 * len(more) >= len(values) else 0.0

    def _replays(self, window: JobWindow) -> list[Finding]:
        held = window.rank_readings.get(REPLAYS)
        if held is None:
            return []
        found = counters.growth(held, self.past)
        findings = []
        for fast in counters.fast(
            found, len(window.ranks), per=60.0, shortest=60.0, least=self.least
        ):
            entity = window.gpu_entity(fast.row)
            if entity is None:
                continue
            findings.append(
                report(
                    window,
                    self.name,
                    "gpu.pcie_replays",
                    entity,
                    onset=fast.onset,
                    magnitude=fast.rate,
                    score=min(1.5 + np.log10(fast.rate / self.least), 3.0),
                    signal=REPLAYS,
                    observed=fast.rate,
                    expected=fast.usual,
                    text=f"{entity}: {fast.rate:.3g} PCIe replays a minute, its peers "
                    f"{fast.usual:.2g}",
                )
            )
        return findings


def _readings(held: PeriodicReadings, since: float) -> int:
    """Return how many readings of a single row are known since a moment."""
    with np.errstate(invalid="ignore"):
        return int(np.count_nonzero(np.isfinite(held.value[0]) & (held.at[0] >= since)))


def _most(held: PeriodicReadings, since: float) -> Floats:
    """Return [rows], the most that links ran at since a time; -inf where nothing says."""
    found = held.between(since, np.inf)
    inside = (found.at >= since) & (found.value > 0) & (found.value < 1e3)
    most: Floats = np.max(np.where(inside, found.value, -np.inf), axis=1, initial=-np.inf)
    return most


def _alike(held: PeriodicReadings, since: float) -> bool:
    """Tell whether all links, each read since a time, run at one value and never ran at more."""
    value, at = held.latest()
    most = held.highest()
    return bool(0 < most[0] < 1e3 and (most == most[0]).all()) and bool(
        (value == most).all() and (at >= since).all()
    )


def _last_step(window: JobWindow) -> float:
    """Return when the last step ended; inf where too few are reported to say that none does."""
    ends = window.features.step_ends
    ends = ends[np.isfinite(ends)]
    return float(ends.max()) if len(ends) > 2 else np.inf
