"""Device memory that the allocator holds but cannot use: reserved far beyond what tensors need."""

from collections.abc import Sequence

import numpy as np

from ...vocabulary.findings import Finding
from .. import compute_time, medians
from ..contract import Detector
from ..findings import report
from ..window import Floats, Ints, JobWindow
from . import growth
from .gpu_leak import ALLOCATED, LIMIT, MOST, allocated, warm_up_end

RESERVED = "training.memory.reserved"
RETRIES = "training.memory.retries"

LONGER = 0.5
"""Share of the growth from which on longer steps are what it comes from."""


class FragmentationDetector(Detector):
    """Name the ranks whose allocator retries, or reserves up to the limit what is not allocated.

    Reserved memory is above allocated memory at the end of any step: activations are freed by then.
    It also grows for as long as a step needs more, or other sizes, than all before it. That says
    nothing. A retry does: the allocator found no block, gave its cache back to the device and tried
    again, which waits for all kernels. Retries in several steps of the newest `seconds` and a gap
    of `gap` of the reserved memory, wider by `wider` of it than before the first retry, are
    fragmentation; otherwise memory is simply full: more is allocated. So is reserved memory that
    goes on growing while allocated memory does not: info where it will run out within hours or the
    limit is not reported, and beyond `near` of the device's memory a warning where retries are not.
    Growth of which half or more came in steps that brought the rank more tokens than any before is
    what longer steps need, and says nothing either.
    A symptom because the next large tensor finds no block and the job dies.

    Parameters
    ----------
    seconds : the newest time range in which retries are counted, at least 20 steps.
    steps : steps with a retry that are needed; one alone is a resize.
    gap : reserved less allocated memory, as a share of the reserved.
    wider : how much of the reserved memory the gap has gained since before the first retry.
    near : reserved memory as a share of the device's, from which on it will run out.
    grown : growth of reserved memory, as a share of it, that is looked at where it is not near.

    Examples
    --------
    Rank 1 retries at every fifth step from step 60 on, and reserves more for the same tensors.

    >>> from rankscope.detectors.sketch import sketch
    >>> retries = np.zeros((4, 100))
    >>> retries[1, 60:] = np.arange(40) // 5 + 1
    >>> window = sketch(np.full((4, 100), 0.8), planes={RETRIES: retries,
    ...     ALLOCATED: np.full((4, 100), 50e9),
    ...     RESERVED: np.where(np.arange(100) < 60, 64e9, np.full((4, 1), 78e9))})
    >>> (torn,) = FragmentationDetector().evaluate(window)
    >>> torn.kind, str(torn.entity), torn.magnitude
    ('rank.memory_fragmented', 'rank 1 on host-0', 8.0)

    Fails where neither retries nor reserved memory are reported.

    References: PyTorch notes on CUDA memory management (num_alloc_retries).
    """

    name = "fragmentation"
    kinds = ("rank.memory_fragmented", "rank.gpu_memory_full")
    cadence_seconds = 10.0

    def __init__(
        self,
        *,
        seconds: float = 300.0,
        steps: int = 3,
        gap: float = 0.15,
        wider: float = 0.08,
        near: float = 0.9,
        grown: float = 0.1,
    ) -> None:
        self.seconds = seconds
        self.steps = steps
        self.gap = gap
        self.wider = wider
        self.near = near
        self.grown = grown

    def evaluate(self, window: JobWindow) -> Sequence[Finding]:
        """Return one finding a rank."""
        steps = window.steps
        retried = self._retried(window) if steps.has(RETRIES) else []
        if retried or not (steps.has(RESERVED) and steps.has(ALLOCATED)):
            return retried
        return self._runs_away(window)

    def _retried(self, window: JobWindow) -> list[Finding]:
        count = compute_time.recent_count(window.steps, seconds=self.seconds, fewest=20)
        steps = window.steps.last(count + 1)
        retries = steps.plane(RETRIES)
        with np.errstate(invalid="ignore"):
            past = np.where(np.isfinite(retries[:, :-5]), retries[:, :-5], np.inf)
            grown = medians.highest(retries[:, -5:], axis=1) > past.min(axis=1, initial=np.inf)
        if not grown.any():
            return []
        retries = np.where(np.abs(retries) < compute_time.MOST, retries, np.nan)
        retries = np.fmax.accumulate(retries, axis=1)  # a step that is missing counts later
        with np.errstate(invalid="ignore"):
            rises = np.diff(retries, axis=1) > 0
        often = rises.sum(axis=1)
        rows = np.flatnonzero(often >= self.steps)
        if not len(rows):
            return []
        gap, gained = _gap(window, rows), _gained(window, rows)
        added = np.where(rises, np.diff(retries, axis=1), 0.0)[rows].sum(axis=1)
        ends = compute_time.step_ends(steps)[1:]
        findings = []
        for place in np.lexsort((window.ranks[rows], -added))[:MOST]:
            row = int(rows[place])
            when = ends[rises[row] & np.isfinite(ends)]
            torn = bool(gap[place] >= self.gap and not gained[place] < self.wider)
            shown = f", {gap[place]:.0%} of its reserved memory is not allocated"
            findings.append(
                report(
                    window,
                    self.name,
                    "rank.memory_fragmented" if torn else "rank.gpu_memory_full",
                    window.rank_entity(row),
                    onset=float(when[0]) if len(when) else window.now,
                    magnitude=float(added[place]),
                    score=2.0 if often[row] >= 2 * self.steps else 1.5,
                    signal=RETRIES,
                    observed=float(added[place]),
                    expected=0.0,
                    text=f"the allocator of rank {int(window.ranks[row])} retried in "
                    f"{int(often[row])} of {count} steps{shown if np.isfinite(gap[place]) else ''}",
                )
            )
        return findings

    def _runs_away(self, window: JobWindow) -> list[Finding]:
        """Return the ranks whose reserved memory goes on growing, and not the allocated."""
        reserved, held = allocated(window, RESERVED), allocated(window)
        assert reserved is not None and held is not None  # noqa: S101, PT018  both are reported
        limit = window.of_ranks(LIMIT).latest()[0]
        size, known = reserved.latest()[0], np.where(limit > 0, limit, np.inf)
        with np.errstate(invalid="ignore", divide="ignore"):
            near = size >= self.near * known
            loose = 1.0 - held.latest()[0] / size >= self.gap
            loose &= size >= (1 + self.grown) * _lowest(reserved.value)
        if not (near | loose).any():
            return []
        waits = window.steps.has(RETRIES)  # the first retry decides
        least = np.where(near, 0.01 * limit, np.where(loose, self.grown * size, np.inf))
        found = growth.growing(
            reserved,
            now=window.now,
            least=np.nan_to_num(least, nan=np.inf),
            limit=np.where(near, limit, np.inf),
            since=warm_up_end(window),
        )
        if found is None:
            return []
        gap = _gap(window, found.rows)
        room = np.maximum(limit[found.rows] - found.level, 0.0)
        left = found.left(room)[0]
        findings = []
        for place in np.lexsort((window.ranks[found.rows], left))[:MOST]:
            row, begun = int(found.rows[place]), float(found.begun[place])
            quarter = (found.end - begun) / 4
            mine = held.of(np.array([row]))
            early = float(mine.mean(begun, begun + quarter)[0])
            late = float(mine.mean(found.end - quarter, found.end)[0])
            grown = float(found.slope[place]) * (found.end - begun)
            if not (gap[place] >= self.gap and late - early < 0.3 * grown):
                continue
            if not near[row] and left[place] > growth.HORIZON_SECONDS:
                continue
            if _by_longer_steps(window, row, begun) >= LONGER:
                continue
            later = waits or not near[row]
            left_over = (
                f", and {room[place] / 2**30:.3g} GiB of the device are left"
                if limit[row] > 0
                else ""
            )
            findings.append(
                report(
                    window,
                    self.name,
                    "rank.memory_fragmented",
                    window.rank_entity(row),
                    onset=begun,
                    magnitude=float(gap[place]),
                    score=growth.OBSERVED
                    if later
                    else growth.score(float(left[place]), found.end - begun),
                    signal=RESERVED,
                    observed=float(found.slope[place]),
                    expected=0.0,
                    text=f"reserved memory of rank {int(window.ranks[row])} grows by "
                    f"{found.slope[place] * 60 / 2**20:.3g} MiB a minute while allocated memory "
                    f"does not; {gap[place]:.0%} of it is not allocated{left_over}",
                )
            )
        return findings


def _by_longer_steps(window: JobWindow, row: int, begun: float) -> float:
    """Return the share of a rank's growth that came in steps of more tokens than all before.

    Such records become rare, one in n steps after n: fragmentation seldom grows in one.
    """
    tokens, reserved = (window.steps.plane(name)[row] for name in (compute_time.TOKENS, RESERVED))
    ends = compute_time.step_ends(window.steps)
    seen = np.isfinite(tokens) & np.isfinite(reserved) & np.isfinite(ends)
    record = np.diff(np.maximum.accumulate(tokens[seen])) > 0
    grown = np.diff(np.maximum.accumulate(reserved[seen])) * (ends[seen][1:] >= begun)
    return float(grown[record].sum() / grown.sum()) if grown.any() else 0.0


def _lowest(values: Floats) -> Floats:
    """Return [rows], the lowest value of each, inf where there is none."""
    lowest: Floats = np.where(np.isfinite(values), values, np.inf).min(axis=1, initial=np.inf)
    return lowest


def _gap(window: JobWindow, rows: Ints) -> Floats:
    """Return [rows], the share of reserved memory that is not allocated; NaN where unknown."""
    steps = window.steps.last(20)
    reserved = medians.median(steps.plane(RESERVED)[rows], axis=1)
    held = medians.median(steps.plane(ALLOCATED)[rows], axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(reserved > 0, 1.0 - held / reserved, np.nan)


def _gained(window: JobWindow, rows: Ints) -> Floats:
    """Return [rows], what the gap has gained since before the first retry; NaN where unknown.

    As a share of the reserved memory of now. Before: the lower quartile, it grows up to a retry.
    """
    steps, fewest = window.steps, 20
    retries = steps.plane(RETRIES)[rows]
    gap = steps.plane(RESERVED)[rows] - steps.plane(ALLOCATED)[rows]
    now = medians.median(steps.last(fewest).plane(RESERVED)[rows], axis=1)
    gained = np.full(len(rows), np.nan)
    for place in range(len(rows)):
        seen = np.isfinite(retries[place]) & np.isfinite(gap[place])
        mine, count = gap[place][seen], retries[place][seen]
        before = mine[count <= count[:1].min(initial=np.inf)]
        if fewest <= len(before) < len(mine) and now[place] > 0:
            late = medians.middle(mine[-fewest:])
            gained[place] = (late - float(np.percentile(before, 25))) / now[place]
    return gained
