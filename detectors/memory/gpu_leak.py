"""Device memory that grows from step to step until it runs out."""

from collections.abc import Iterator, Sequence

import numpy as np

from ...vocabulary.findings import Finding
from .. import compute_time, durations
from ..contract import Detector
from ..findings import report
from ..window import Flags, Floats, Ints, JobWindow, PeriodicReadings
from . import growth, trend

ALLOCATED = "training.memory.allocated"
USAGE = "hw.gpu.memory.usage"
LIMIT = "hw.gpu.memory.limit"

WARM_UP_STEPS, WARM_UP_SECONDS = 5, 60.0
"""Optimizer states, workspaces and buffers are made in the first steps."""

LARGEST = 512 * 2.0**30
"""No device has more memory (bytes): where nobody reports a limit, it is reached before this."""

STEADY = 10
"""Parts of a range, of trend.BINS, in which memory in use must have risen: a cache grows by a few
records, a leak with every step."""

BEYOND_PEERS, MANY = 0.25, 4
"""Share of the least growth by which memory in use must be above that of all peers, but for one of
many: their caches reach one level, some later than others."""

MOST = 8
"""So many ranks are named, the first to run out."""


class GpuLeakDetector(Detector):
    """Name the ranks, or the job, whose device memory grows at the same phase of every step.

    What the framework has allocated at the end of each step; where a rank does not report it, the
    memory in use on its device. The first steps are left out. Growth must be what growth.py calls
    so: significant, in many places, up to now, and not levelling off below the limit; resizes are
    steps, caches level off: where only what is in use is known, a rank whose peers hold as much
    fills its cache. Growth that goes with the rank's tokens is a longer batch. Where half of the
    ranks grow it is the job's code. It slows nothing and is a symptom all the same: when the limit
    is reached the job dies. What runs out within `horizon` is a warning, within a day info, later
    it is an observation, as growth is that was seen for too short a time to be drawn on so far;
    where the limit is not reported, it is that of the largest device.

    Parameters
    ----------
    least : smallest growth over a range, as a share of the device's memory.
    cached : the same where only what is in use is reported: an allocator's cache grows by records.
    beyond : how many times faster than the median rank's a rank's memory must grow, where most do
        not grow so. The only rank of a job has no others to grow like.
    horizon : seconds to exhaustion up to which somebody must act now.

    Examples
    --------
    From step 100 on rank 2 loses 0.8 GiB of its 80 GiB a minute; a step takes one second.

    >>> from rankscope.detectors.sketch import readings, sketch
    >>> held = np.full((4, 400), 40 * 2.0**30)
    >>> held[2, 100:] += np.arange(300) * 0.8 * 2.0**30 / 60
    >>> limit = readings(np.array([1.7e9]), np.full((4, 1), 80 * 2.0**30))
    >>> window = sketch(np.full((4, 400), 0.8), planes={ALLOCATED: held},
    ...     rank_readings={LIMIT: limit})
    >>> for finding in GpuLeakDetector().evaluate(window):
    ...     print(finding.kind, finding.entity, f"{finding.magnitude / 60:.0f} min")
    rank.gpu_memory_grows rank 2 on host-1 45 min

    Fails where memory leaks only at evaluations or checkpoints that are further apart than an hour,
    and below 0.4 % of the device a range (2 % where only what is in use is reported). Cannot see
    which tensor is kept.

    References: Theil-Sen estimator (JASA 1968); growth after warm-up and not within an epoch.
    """

    name = "gpu_leak"
    kinds = ("rank.gpu_memory_grows", "job.gpu_memory_grows")
    cadence_seconds = 15.0

    def __init__(
        self,
        *,
        least: float = 0.004,
        cached: float = 0.02,
        beyond: float = 2.0,
        horizon: float = growth.HORIZON_SECONDS,
    ) -> None:
        self.least = least
        self.cached = cached
        self.beyond = beyond
        self.horizon = horizon

    def evaluate(self, window: JobWindow) -> Sequence[Finding]:
        """Return findings on ranks, or one on the job."""
        limit = window.of_ranks(LIMIT).latest()[0]
        framework = allocated(window)
        findings: list[Finding] = []
        if framework is not None:
            findings += self._grown(window, framework, ALLOCATED, limit)
        usage = window.of_ranks(USAGE)
        if usage.at.shape[1]:
            bare = _unreported(window)
            if bare.any():
                rows = np.flatnonzero(bare)
                findings += self._grown(window, usage.of(rows), USAGE, limit[rows], rows)
        return findings

    def _grown(
        self,
        window: JobWindow,
        readings: PeriodicReadings,
        signal: str,
        limit: Floats,
        rows: Ints | None = None,
    ) -> Iterator[Finding]:
        rows = np.arange(len(window.ranks)) if rows is None else rows
        least = self.least if signal == ALLOCATED else self.cached
        newest = readings.latest()[0]
        known = np.isfinite(limit) & (limit > 0)
        least_grown = np.where(known, least * np.where(known, limit, 0.0), 0.02 * newest)
        found = growth.growing(
            readings,
            now=window.now,
            least=least_grown,
            limit=np.where(known, limit, np.inf),
            since=warm_up_end(window),
            risen=trend.BINS // 4 if signal == ALLOCATED else STEADY,
        )
        if found is None:
            return
        left, shortest, longest = found.left(np.maximum(limit[found.rows] - found.level, 0.0))
        kept = ~_longer_batches(window, rows[found.rows], found)
        kept &= ~(left > growth.INTEREST_SECONDS)
        if not kept.any():
            return
        order = np.lexsort((window.ranks[rows[found.rows]], left))
        whole = found.candidates * found.share * kept.mean() >= max(0.5 * found.reported, 2)
        if not whole and found.reported > 1:
            # What others hold grows as well: by records, and levels off there, or by the same leak,
            # which is not significant yet at each of them.
            kept &= found.slope >= self.beyond * found.usual
            if signal == USAGE:
                peers = _highest_of_peers(newest, window.role_of[rows], found.rows)
                kept &= ~(found.level < peers + BEYOND_PEERS * least_grown[found.rows])
        order = order[kept[order]]
        for place in order[: 1 if whole else MOST]:
            row, slope = int(rows[found.rows[place]]), float(found.slope[place])
            seconds = float(left[place])
            latest = max(LARGEST - float(found.level[place]), 0.0) / slope
            ends = ""
            if not np.isfinite(seconds):
                ends = f"; it runs out within {durations.duration(latest)}, whatever the device has"
                ends = ends if latest <= self.horizon else ""
            else:
                span = growth.span(float(shortest[place]), seconds, float(longest[place]))
                ends = f"; it runs out in {span}"
            what = "allocated device memory" if signal == ALLOCATED else "device memory in use"
            begun = float(found.begun[place])
            rank = int(window.ranks[row])
            many = "every rank" if found.candidates == found.reported else (
                f"{found.candidates} of {found.reported} ranks"
            )  # fmt: skip
            owner = f"{many}, first on rank {rank}" if whole else f"rank {rank}"
            yield report(
                window,
                self.name,
                "job.gpu_memory_grows" if whole else "rank.gpu_memory_grows",
                window.entity if whole else window.rank_entity(row),
                onset=begun,
                seen=(begun, window.now),
                magnitude=seconds if np.isfinite(seconds) else growth.INTEREST_SECONDS,
                score=growth.score(
                    seconds if np.isfinite(seconds) else latest, window.now - begun, self.horizon
                ),
                signal=signal,
                observed=slope,
                expected=0.0,
                text=f"{what} of {owner} grows by {slope * 60 / 2**20:.3g} MiB a minute for "
                f"{durations.duration(window.now - begun)}{ends}",
            )


def allocated(window: JobWindow, plane: str = ALLOCATED) -> growth.StepReadings | None:
    """Return a plane of allocator values as readings, None where nobody reports it."""
    if not window.steps.has(plane):
        return None
    steps = window.steps
    return growth.StepReadings(steps, steps.plane(plane), compute_time.step_ends(steps))


def warm_up_end(window: JobWindow) -> float:
    """Return when the first steps were over (s since the epoch), -inf where nobody can tell."""
    ends = compute_time.step_ends(window.steps)
    ends = ends[np.isfinite(ends)]
    if not len(ends):
        return window.attempt_started_at + 5 * WARM_UP_SECONDS
    stepped = float(ends[min(WARM_UP_STEPS, len(ends) - 1)])
    return max(stepped, window.attempt_started_at + WARM_UP_SECONDS)


def _unreported(window: JobWindow) -> Flags:
    """Return [ranks], whose framework does not say what it has allocated."""
    if not window.steps.has(ALLOCATED):
        return np.ones(len(window.ranks), np.bool_)
    reported = np.isfinite(window.steps.last(64).plane(ALLOCATED)).sum(axis=1)
    silent: Flags = reported == 0
    return silent


def _highest_of_peers(newest: Floats, role_of: Ints, grown: Ints) -> Floats:
    """Return [grown], the most that another rank of the role holds which does not grow; NaN: none.

    newest: [ranks], bytes in use now. role_of: [ranks]. grown: rows that grow. Of many others the
    second, as one may hold what is its own.
    """
    steady = np.isfinite(newest)
    steady[grown] = False
    highest = np.full(len(newest), np.nan)
    for role in compute_time.roles(role_of[grown]):
        held = np.sort(newest[steady & (role_of == role)])
        if len(held):
            highest[role_of == role] = held[-2 if len(held) >= MANY else -1]
    return highest[grown]


def _longer_batches(window: JobWindow, rows: Ints, found: growth.RowGrowth) -> Flags:
    """Return [found], whether tokens grew by half of the proportion that memory did, or more."""
    tokens = allocated(window, compute_time.TOKENS)
    if tokens is None:
        return np.zeros(len(rows), np.bool_)
    mine = tokens.of(rows)
    longer: Flags = np.zeros(len(rows), np.bool_)
    for begun in np.unique(found.begun):
        quarter = (found.end - begun) / 4
        early, late = mine.mean(begun, begun + quarter), mine.mean(found.end - quarter, found.end)
        grown = found.slope * (found.end - begun)
        with np.errstate(invalid="ignore", divide="ignore"):
            more: Flags = late / early - 1 >= 0.5 * grown / np.maximum(found.level - grown, 1.0)
        longer = np.where(found.begun == begun, more, longer)
    return longer
