"""Single steps many times longer than the others, in which every rank computes: compilation."""

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ...vocabulary.findings import Finding
from .. import announced, compute_time, durations, medians, onsets
from ..contract import Detector
from ..features import DATA
from ..findings import report
from ..tenants import own_logs, says
from ..window import Flags, Floats, Ints, JobWindow, PeriodicReadings, StepValues

CHECKPOINT, LOG = "training.checkpoint.duration", "log.fault"

_COMPILER = re.compile(
    r"recompil|torch\._dynamo|cache_size_limit|inductor|cudagraph", re.IGNORECASE
)

WARM_UP, FEWEST_STEPS, FEWEST_SHAPES = 5, 12, 30
"""Steps that say nothing; steps that say what is usual, and how many tokens a step usually has."""

TIMES_TOGETHER, TOGETHER, SIGMAS = 1.4, 0.2, 8.0
"""A step in which all but a fifth of the ranks compute for longer counts from this ratio on, and so
far beyond the noise of the steps: compilation of all ranks, and no pause of one."""

DEVICES, CPU = frozenset({"hw.gpu.sm.activity", "hw.gpu.utilization"}), "process.cpu.utilization"
RESTS, WORKS = 0.5, 0.5
"""A device rests below this share of its usual activity, a process works with so much of a CPU."""

MOST_SHARE = 0.4
"""More of the steps than this are how the job steps, and no exceptions."""


class RecompilesDetector(Detector):
    """Say that the compiler runs again and again, and what the job loses by it.

    A step is long where it takes `times` the median step, freed of tokens where they explain it, or
    where nearly all ranks' own work grew by less (at 1.4 times the step). It is compilation where
    the ranks' own work is what grew: not the wait in collectives, for data or for a checkpoint.
    `fewest` such steps after the first ones, at irregular intervals (a regular one is an evaluation
    or a checkpoint that nobody announces; intervals that differ by little, but are far shorter than
    the time before the first, are no schedule), make a finding; so do fewer where each has a number
    of tokens that no step had before while other steps repeat theirs (new shapes), or where the
    compiler's log lines come with them. Where ranks report step times alone, the ranks' devices
    have to rest in those steps while their processes work.

    Parameters
    ----------
    times : how many times longer than the median step.
    fewest : long steps at irregular intervals that make a finding.
    least : smallest share of the time that the job must lose for a symptom; half of it is info
        where the compiler shows by tokens or log lines.
    seconds : how much of the newest past is looked at.

    Examples
    --------
    Five of two hundred steps take ten times as long on all ranks.

    >>> from rankscope.detectors.sketch import sketch
    >>> own = np.random.default_rng(7).normal(0.8, 0.008, (4, 200))
    >>> own[:, [40, 47, 90, 155, 171]] = 8.0
    >>> for finding in RecompilesDetector().evaluate(sketch(own)):
    ...     print(finding.kind, finding.entity, f"{finding.magnitude:.2f}")
    job.slow job example 1.18
    job.recompiles job example 5.00

    Fails where compilation takes less than 0.4 of a step (of one rank alone: twice), at regular
    intervals, and, without a sign of the compiler, where nobody reports what a step is made of. The
    first steps of an attempt are left out: they compile.

    References: torch.compile's dynamic shapes.
    """

    name = "recompiles"
    kinds = ("job.slow", "job.recompiles", "job.compiler_signs")
    cadence_seconds = 10.0

    def __init__(
        self, *, times: float = 3.0, fewest: int = 3, least: float = 0.04, seconds: float = 900.0
    ) -> None:
        self.times = times
        self.fewest = fewest
        self.least = least
        self.seconds = seconds

    def evaluate(self, window: JobWindow) -> Sequence[Finding]:
        """Return the slowness, where it is one, and the evidence; both on the job."""
        steps = window.features.steps
        if len(steps.index) < FEWEST_STEPS + WARM_UP or window.features.stale:
            return []
        count = compute_time.recent_count(window.steps, seconds=self.seconds, fewest=FEWEST_STEPS)
        first = max(len(steps.index) - count, WARM_UP)
        duration = window.features.job_duration[first:]
        valid = duration[np.isfinite(duration)]
        if len(valid) < FEWEST_STEPS:
            return []
        step = medians.middle(valid)
        noise = medians.spread(valid)
        with np.errstate(invalid="ignore"):
            together = max(TIMES_TOGETHER * step, step + SIGMAS * noise)
            long = duration > min(together, self.times * step)
        if long.sum() < 2:
            return []
        columns = np.flatnonzero(long) + first
        extra = window.features.duration[columns] - step
        single = duration[long] > self.times * step
        columns = columns[_computes(steps, columns, extra, single=single)]
        if len(columns) > MOST_SHARE * len(valid):
            return []
        columns = columns[~announced.pauses(window)[columns]]
        fresh = bool(_new_shapes(window.features.most_tokens, columns).all())
        logged = _logged(window, columns)
        # What else than compute is in a step (two schedules at once look irregular) proves nothing.
        often = len(columns) >= self.fewest and (
            steps.has(compute_time.COMPUTE) or _on_hosts(window, columns)
        )
        if len(columns) < 2 or not (fresh or logged or (often and _irregular(columns, first))):
            return []
        found = self._findings(window, columns, step, valid, signs=fresh or logged)
        if fresh or logged:
            sign = "numbers of tokens that no step had before" if fresh else "log lines of it"
            found.append(
                replace(
                    found[-1],
                    kind="job.compiler_signs",
                    score=3.0,
                    signal=compute_time.TOKENS if fresh else LOG,
                    text=f"{len(columns)} long steps come with {sign}: the compiler runs again",
                )
            )
        return found

    def _findings(
        self, window: JobWindow, columns: Ints, step: float, valid: Floats, *, signs: bool
    ) -> list[Finding]:
        duration, ends = window.features.duration, window.features.step_ends
        extra = duration[columns] - step
        lost = float(extra.sum()) / float(valid.sum())
        began = int(columns[onsets.more_often(columns, len(ends))])
        onset = (float(ends[began - 1]), float(ends[began]))
        middle = medians.middle(duration[columns])
        evidence = report(
            window,
            self.name,
            "job.recompiles",
            window.entity,
            onset=(min(onset), max(onset)),
            seen=(min(onset), float(ends[-1])),
            magnitude=float(len(columns)),
            score=max(len(columns) / self.fewest, 1.0),
            signal=compute_time.COMPUTE,
            observed=middle,
            expected=step,
            text=f"{len(columns)} of {len(valid)} steps take {durations.seconds(middle)} instead "
            f"of {durations.seconds(step)}, and the ranks work in them",
        )
        # What the compiler is known to take is worth knowing before it is worth a page.
        if lost < (self.least / 2 if signs else self.least):
            return [evidence]
        whole = float(valid.mean())
        slow = report(
            window,
            self.name,
            "job.slow",
            window.entity,
            onset=(min(onset), max(onset)),
            seen=(min(onset), float(ends[-1])),
            magnitude=1 / (1 - min(lost, 0.95)),
            score=lost / self.least,
            signal=compute_time.STEP,
            observed=whole,
            expected=whole * (1 - lost),
            text=f"an average step takes {durations.seconds(whole)}; without single long steps "
            f"it would take {durations.seconds(whole * (1 - lost))}",
        )
        return [slow, evidence]


def _computes(steps: StepValues, columns: Ints, extra: Floats, *, single: Flags) -> Flags:
    """Tell in which columns the own work of nearly all ranks grew by most of the extra time.

    single: [columns], whether the own work of one rank is enough.
    """
    plane = compute_time.own_plane(steps)
    if plane is None or plane == compute_time.STEP:
        return np.ones(len(columns), np.bool_)  # nobody can tell: a sign of the compiler must
    some = StepValues(
        steps.index[columns],
        steps.at[:, columns],
        {name: held[:, columns] for name, held in steps.planes.items()},
    )
    own = compute_time.own_seconds(some, plane)
    if plane == compute_time.COMM:  # the rest of the step is in it
        for name in (DATA, CHECKPOINT, "training.gc.duration"):
            if name in some.planes:
                own = own - np.nan_to_num(some.planes[name])
    usual = medians.median(compute_time.own_seconds(steps.last(64), plane), axis=1)
    beyond = own - usual[:, None]
    # One rank that compiles makes the others wait: the longest compute time says it.
    ordered = np.sort(beyond, axis=0)  # NaN last
    valid = np.isfinite(ordered).sum(axis=0)
    place = np.minimum((TOGETHER * valid).astype(int), len(ordered) - 1)
    together = ordered[place, np.arange(len(columns))]
    grown = np.where(single, medians.highest(beyond, axis=0), together)
    with np.errstate(invalid="ignore"):
        computed: Flags = grown >= 0.6 * extra
    if CHECKPOINT in some.planes:
        written = medians.highest(some.planes[CHECKPOINT], axis=0)
        computed &= ~(np.nan_to_num(written) >= 0.3 * extra)
    return computed


def _on_hosts(window: JobWindow, columns: Ints) -> bool:
    """Tell whether nearly all ranks' devices rest in these columns while their processes work.

    Who waits for data or a file rests too, and who waits for a peer spins on its device. A
    checkpoint looks the same, and comes at intervals.
    """
    ends = window.features.step_ends[columns]
    begins = ends - window.features.duration[columns]
    device, process = DEVICES & window.rank_readings.keys(), window.rank_readings.get(CPU)
    if process is None or not device:
        return False
    within, without = _within(window.rank_readings[min(device)], begins, ends)
    busy, _ = _within(process, begins, ends)
    known = np.isfinite(within) & np.isfinite(without) & np.isfinite(busy)
    host = (within <= RESTS * without) & (busy >= WORKS)
    return bool(2 * known.sum() >= len(known) and host[known].mean() >= 1 - TOGETHER)


def _within(readings: PeriodicReadings, begins: Floats, ends: Floats) -> tuple[Floats, Floats]:
    """Return [ranks], the means of readings that lie wholly within some ranges, and of the others.

    A reading says what was since the one before.
    """
    at, value = readings.at, readings.value
    place = np.minimum(np.searchsorted(ends, at), len(ends) - 1)
    inside = (at <= ends[place]) & (at >= begins[place] + readings.period())
    means = []
    for chosen in (inside, ~inside):
        some = chosen & np.isfinite(value)
        count = some.sum(axis=1)
        total = np.where(some, value, 0.0).sum(axis=1)
        means.append(np.where(count > 0, total / np.maximum(count, 1), np.nan))
    return means[0], means[1]


def _new_shapes(tokens: Floats, columns: Ints) -> Flags:
    """Tell in which columns the tokens are a number not seen before, while others repeat theirs."""
    fresh = np.zeros(len(columns), np.bool_)
    valid = tokens[np.isfinite(tokens)]
    if not len(columns) or len(valid) < FEWEST_SHAPES:
        return fresh
    if len(np.unique(valid)) > 0.2 * len(valid):
        return fresh
    firsts = np.unique(np.where(np.isfinite(tokens), tokens, np.inf), return_index=True)[1]
    fresh = np.isin(columns, firsts) & np.isfinite(tokens[columns])
    # New numbers of tokens in other steps as well: batches vary, and nothing is compiled for it.
    others = np.setdiff1d(firsts[firsts > columns[0]], columns)
    return fresh if len(others) <= fresh.sum() / 2 else np.zeros(len(columns), np.bool_)


def _logged(window: JobWindow, columns: Ints) -> bool:
    """Tell whether the compiler's log says so while the long steps lasted."""
    ends = window.features.step_ends
    first = float(ends[columns[0] - 1]) if len(columns) else np.inf
    return any(event.at >= first and says(window, event, _COMPILER) for event in own_logs(window))


def _irregular(columns: Ints, first: int) -> bool:
    """Tell whether the intervals between columns differ, as those of a schedule do not.

    first: since which column the job was looked at. A long time without any long step before the
    first one is an interval as well: a schedule would have had some in it.
    """
    gaps = np.diff(columns).astype(np.float64)
    middle = medians.middle(gaps)
    # Multiples of one interval are a schedule of which some steps were not long.
    base = float(gaps.min())
    if base >= 5 and np.all(np.abs(gaps / base - np.rint(gaps / base)) <= 1.5 / base):
        return False
    # Most of the steps of one slow time are long, and it has no intervals.
    apart = middle >= 2 and gaps.max() > gaps.min()
    quiet = apart and columns[0] - first > 2 * gaps.max()
    differ = np.median(np.abs(gaps - middle)) > 0.15 * middle or gaps.max() > 2 * middle
    return bool(quiet or differ)
