"""Ranks that do work of their own beside training, which their peers then wait for."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ...vocabulary.findings import Finding
from .. import compute_time, durations, medians, parts
from ..activity import CPU
from ..contract import Detector
from ..features import DATA
from ..findings import report
from ..window import Floats, Ints, JobWindow, StepValues

_PARTS = (
    DATA,
    compute_time.COMPUTE,
    compute_time.COMM,
    "training.optimizer.duration",
    "training.checkpoint.duration",
    "training.gc.duration",
)
CPU_WAIT = "process.cpu.wait"
ALLOCATED = "training.memory.allocated"
_WHERE = {
    compute_time.STEP: "beside what training accounts for",
    DATA: "on data, in its own process",
    CPU: "on the CPU",
    ALLOCATED: "and holds more memory for it",
}
MARGIN = 0.8
"""Means of ratios are not ratios of means."""

FEW, FEWEST = 4, 3
"""Ranks from which on it is no coincidence that rank 0 is the one; and, as info, where it was the
one from the first step on: so is code, and not a loader that became slow."""

ALL_ALONG_SECONDS, ALL_ALONG_STEPS = 45.0, 12
"""How long little time for data is looked at where it was always there: noise is none so long."""

MOVED = 1 / 3
"""Share of an excess by which the others' compute time fell, where work moved to its ranks."""

GATHERED, GATHERED_SIGMAS = 0.02, 6.0
"""Share of what rank 0 had allocated, and spreads of its peers' changes, by which more of it is no
chance: what a step allocates is the same in each."""

GATHERED_ALL_ALONG = 0.1
"""Share of what peers of its role have allocated by which rank 0 has more, where it always had."""

_SPINS = 0.85
"""CPU of peers from which on a waiting process cannot be told from a working one."""


class ExtraWorkDetector(Detector):
    """Name the ranks, usually rank 0, that do more in a step than training.

    Two signs. What is left of a rank's step when every timed part is taken out (logging, metrics,
    preprocessing, gathering results) exceeds that of its peers, who wait in collectives meanwhile.
    Or, where compute time is measured as that remainder, the rank's compute time exceeds that of
    its peers and its process uses the CPU for a good part of that: work in the process, not a
    slower device and not a missing CPU, which leave the CPU seconds of a step as they are. Where
    peers spin while they wait, and their CPU says nothing, memory does: rank 0 gathers where it
    alone has allocated more since its compute time rose, or alone has a tenth more than its role
    where it was so from the first step; no device becomes slow by that. Rank 0,
    where it is the only one of its role, has all other ranks for peers in the first sign. A whole
    host that stands out so has slower CPUs, and is no finding. Where the excess is in the time for
    data and the process works in it, and does not sleep until its loader's workers are done, the
    rank prepares data itself; where nobody reports its CPU, rank 0 alone counts as one that does,
    and as info where it has spent a little more than its peers from the first step on, and no less
    CPU than they: peers that spin while they wait hide how much more. Time for data that has grown
    on all ranks has a cause that they share: one prepares its own only where its excess is more
    than that.

    Parameters
    ----------
    least : smallest excess, as a share of the step, where the rank's habit is known.
    least_from_start : smallest excess where it is not.
    least_data : smallest excess of the time for data where the rank's habit is not known.
    on_cpu : share of the excess that the rank's process must spend on a CPU.
    little : smallest excess of what is timed that is reported as info: rank 0 logs in most jobs.
        Time for data counts from there on, even where it was always there.

    Examples
    --------
    From step 40 on rank 0 spends 0.3 s of each step with something that nothing else accounts for.

    >>> from rankscope.detectors.sketch import sketch
    >>> train = np.full((4, 60), 0.8)
    >>> extra = np.zeros((4, 60))
    >>> extra[0, 40:] = 0.3
    >>> window = sketch(train + extra, planes={"training.compute.duration": train})
    >>> for finding in ExtraWorkDetector().evaluate(window):
    ...     print(finding.kind, finding.entity, f"{finding.magnitude:.2f}")
    job.slow job example 1.30
    rank.extra_work rank 0 on host-0 0.30

    Fails where waiting peers burn their CPU and compute is not timed by itself: then a rank with
    extra work looks like one with a slow device. Cannot see what the work is.

    References: What-if analysis of stragglers (OSDI'25).
    """

    name = "extra_work"
    kinds = ("job.slow", "rank.extra_work", "rank.prepares_data")
    cadence_seconds = 5.0

    def __init__(
        self,
        *,
        least: float = 0.08,
        least_from_start: float = 0.2,
        least_data: float = 0.08,
        on_cpu: float = 0.3,
        little: float = 0.05,
    ) -> None:
        self.least = least
        self.little = little
        self.least_from_start = least_from_start
        self.least_data = least_data
        self.on_cpu = on_cpu

    def evaluate(self, window: JobWindow) -> Sequence[Finding]:
        """Return findings on ranks and the slowness they cause."""
        steps = parts.steps_to_compare(window)
        if steps is None:
            return []
        found, signal = self._measured(window, steps, self.least, self.least_from_start)
        if found is None:
            found, signal = self._by_cpu(window, steps), CPU
        if found is None:
            found, signal = self._gathers(window, steps), ALLOCATED
        certain = found is not None
        if found is None:
            found, signal = self._measured(window, steps, self.little, self.little)
        if found is None:
            found = self._prepares(window, steps, self.little, self.little, all_along=True)
        if found is None:
            return []
        slow = parts.slowed(window, self.name, found, least=self.least, without="extra work of {}")
        slow = slow if certain else replace(slow, score=0.5)
        return [slow, *(self._rank(window, found, int(row), signal) for row in found.rows)]

    def _measured(
        self, window: JobWindow, steps: StepValues, least: float, from_start: float
    ) -> tuple[parts.PartExcess | None, str]:
        """Return the ranks with more work by what is timed, and the signal that shows it."""
        found = self._left_over(window, steps, least, from_start)
        if found is not None:
            return found, compute_time.STEP
        from_start = min(from_start, self.least_data)
        return self._prepares(window, steps, least, from_start), DATA

    def _rank(self, window: JobWindow, found: parts.PartExcess, row: int, signal: str) -> Finding:
        extra = float(found.effect[row])
        return report(
            window,
            self.name,
            "rank.prepares_data" if signal == DATA else "rank.extra_work",
            window.rank_entity(row),
            onset=found.onset(),
            seen=found.seen(),
            magnitude=extra,
            score=extra / (self.least * found.step),
            signal=signal,
            observed=float(found.seconds[row]),
            expected=float(found.peers[row]),
            text=f"rank {int(window.ranks[row])} works {durations.seconds(extra)} longer in a "
            f"step than its peers, {_WHERE[signal]}",
        )

    def _left_over(
        self, window: JobWindow, steps: StepValues, least: float, from_start: float
    ) -> parts.PartExcess | None:
        if not all(
            steps.has(name) for name in (compute_time.STEP, compute_time.COMPUTE, compute_time.COMM)
        ):
            return None
        # In a healthy job the newest steps are all that is looked at.
        recent = steps.last(parts.newest(window, steps))
        lowest = min(least, from_start)
        # Where nobody shares rank 0's role, what no role explains is compared with all the others.
        roles, lone = window.role_of, _lone(window)
        if lone:
            roles = np.zeros_like(roles)
        if not parts.stands_out(roles, parts.step_seconds(recent), _left(recent), least=lowest):
            return None
        bounds = parts.ExcessBounds(least=least, least_from_start=from_start)
        found = parts.excess(window, steps, _left(steps), bounds, roles=roles)
        return found if found and (not lone or _rank_0_alone(window, found, FEW)) else None

    def _prepares(
        self,
        window: JobWindow,
        steps: StepValues,
        least: float,
        from_start: float,
        *,
        all_along: bool = False,
    ) -> parts.PartExcess | None:
        """Return the ranks that work on their data, and do not wait for it.

        all_along: in most steps for long, however long they have done so.
        """
        used = window.rank_readings.get(CPU)
        if not (steps.has(DATA) and steps.has(compute_time.COMM)):
            return None
        bounds = parts.ExcessBounds(least=least, least_from_start=from_start, together=True)
        if all_along:
            bounds = replace(
                bounds,
                always=1.0, persistence=0.6, seconds=ALL_ALONG_SECONDS, fewest=ALL_ALONG_STEPS,
            )  # fmt: skip
        found = parts.excess(window, steps, _sane(steps.plane(DATA)), bounds)
        if found is None:
            return None
        always = all_along and found.first <= parts.WARM_UP
        if used is None or used.newest_at() == -np.inf:
            return found if _rank_0_alone(window, found, FEWEST if always else FEW) else None
        begin, end = found.seen()
        since = min(max(begin, found.onset()[1]), end - 2.2 * used.period())
        # Waiting for a CPU is work that takes longer, and no wait for a loader.
        runnable = np.nan_to_num(window.of_ranks(CPU_WAIT).rate(since, np.inf))
        cpu = used.mean(since, np.inf) + runnable
        others = np.setdiff1d(np.flatnonzero(np.isfinite(cpu)), found.rows)
        if not len(others):
            return None
        usual = medians.middle(cpu[others])
        waited = parts.mean(found.recent.plane(compute_time.COMM))[others]
        waited = waited[np.isfinite(waited)]
        if not len(waited):
            return None
        waits = max(medians.middle(waited) / found.step, 1e-3)
        # The CPU that peers burn while they wait for this rank, which it does not wait for.
        burnt = float(np.clip((usual - (1.0 - waits)) / waits, 0.0, 1.0))
        share = found.effect / found.step
        with np.errstate(invalid="ignore"):
            works = cpu >= usual + (0.5 - burnt) * share
            # A small share of the step may be hidden in the CPU time; none was saved meanwhile.
            unclear = (share < self.least) & (cpu >= usual)
        if always and unclear[found.rows].all() and _rank_0_alone(window, found, FEWEST):
            return found
        rows = np.array([row for row in found.rows if works[row]], np.int64)
        if not len(rows) or _whole_hosts(window, rows, cpu):
            return None
        return replace(found, rows=rows)

    def _alike(self, window: JobWindow, steps: StepValues) -> bool:
        """Tell whether the newest compute times are too much alike for anybody to stand out.

        An excess over peers is a smaller share of the step than of the peers' compute time.
        """
        ratio = window.features.ratio
        if ratio is None:
            return True
        newest = parts.mean(ratio[:, -parts.newest(window, steps) :])
        most = float(np.max(newest, initial=0.0, where=np.isfinite(newest)))
        return most - 1 < MARGIN * min(self.least, self.least_from_start)

    def _longer(
        self, window: JobWindow, steps: StepValues, *, all_along: bool = False
    ) -> tuple[Floats, parts.PartExcess] | None:
        """Return [ranks, steps] compute time (s), for its tokens, and who needs longer for it.

        all_along: however long they have.
        """
        if self._alike(window, steps):
            return None
        own = compute_time.compute_time(steps)
        if own is None:
            return None
        own = compute_time.per_token(own, steps)
        bounds = parts.ExcessBounds(least=self.least, least_from_start=self.least_from_start)
        if all_along:
            bounds = replace(bounds, always=1.0)
        found = parts.excess(window, steps, own, bounds)
        return None if found is None else (own, found)

    def _gathers(self, window: JobWindow, steps: StepValues) -> parts.PartExcess | None:
        """Return rank 0, where it alone computes longer and has allocated more since then."""
        longer = self._longer(window, steps, all_along=True) if steps.has(ALLOCATED) else None
        if longer is None or not _rank_0_alone(window, longer[1], FEW):
            return None
        own, found = longer
        row, count = int(found.rows[0]), len(found.recent.index)
        held = steps.plane(ALLOCATED)
        level, share = medians.median(held[:, -count:], axis=1), GATHERED
        if found.first > parts.WARM_UP:
            # The step in which it began may hold any part of it.
            begun = max(found.first - 1, parts.WARM_UP)
            before = medians.median(held[:, max(begun - count, parts.WARM_UP) : begun], axis=1)
        else:
            before, share = _usual_of_roles(window, level, without=row), GATHERED_ALL_ALONG
        grown = level - before
        others = np.setdiff1d(np.flatnonzero(np.isfinite(grown)), found.rows)
        if len(others) < FEWEST or not np.isfinite(grown[row]):
            return None
        usual, spread = medians.middle(grown[others]), medians.spread(grown[others])
        least = max(share * float(before[row]), GATHERED_SIGMAS * spread)
        gathers = grown[row] - usual >= least > 0 and not _moved(own, found, others)
        return found if gathers else None

    def _by_cpu(self, window: JobWindow, steps: StepValues) -> parts.PartExcess | None:
        used = window.rank_readings.get(CPU)
        longer = None if used is None else self._longer(window, steps)
        if used is None or longer is None:
            return None
        own, found = longer
        begin, end = found.seen()
        cpu = used.mean(min(max(begin, found.onset()[1]), end - 6.0), np.inf)
        others = np.setdiff1d(np.flatnonzero(np.isfinite(cpu)), found.rows)
        if not len(others) or medians.middle(cpu[others]) > _SPINS:
            return None
        usual = medians.middle(cpu[others])
        with np.errstate(invalid="ignore"):
            busy = (cpu - usual) * found.step >= self.on_cpu * found.effect
        rows = np.array([row for row in found.rows if busy[row]], np.int64)
        if not len(rows) or _whole_hosts(window, rows, cpu) or _moved(own, found, others):
            return None
        return replace(found, rows=rows)


def _usual_of_roles(window: JobWindow, level: Floats, *, without: int) -> Floats:
    """Return [ranks], the median of their roles, one rank left out; NaN for a role of it alone."""
    counted = np.where(np.arange(len(level)) == without, np.nan, level)
    usual = np.full(len(level), np.nan)
    for role in np.unique(window.role_of):
        here = window.role_of == role
        if np.isfinite(counted[here]).any():
            usual[here] = medians.known(counted[here])
    return usual


def _moved(own: Floats, found: parts.PartExcess, others: Ints) -> bool:
    """Tell whether the others' compute time fell as that of these ranks rose: it is their work.

    own: [ranks, steps], seconds. The router of experts moves tokens so.
    """
    before = parts.mean(own[others, parts.WARM_UP : -len(found.recent.index)])
    fell = before - found.seconds[others]
    fell = fell[np.isfinite(fell)]
    excess = float(found.effect[found.rows].min())
    return len(fell) > 0 and medians.middle(fell) >= MOVED * excess


def _lone(window: JobWindow) -> bool:
    """Tell whether rank 0 is the only one of its role, as in a job of one model replica."""
    row = window.row_of(0)
    return row is not None and int((window.role_of == window.role_of[row]).sum()) == 1


def _rank_0_alone(window: JobWindow, found: parts.PartExcess, fewest: int) -> bool:
    """Tell whether it is rank 0 alone of many; that just this one has a slow loader is unlikely."""
    return window.ranks[found.rows].tolist() == [0] and len(window.ranks) >= fewest


def _left(steps: StepValues) -> Floats:
    """Return [ranks, steps], what is left of steps without their timed parts, in seconds."""
    left = _sane(steps.plane(compute_time.STEP))
    for name in _PARTS:
        if name in steps.planes:
            part = _sane(steps.plane(name))
            timed = name in (compute_time.COMPUTE, compute_time.COMM)
            left = left - (part if timed else np.where(np.isnan(part), 0.0, part))
    return np.maximum(left, 0.0)


def _sane(values: Floats) -> Floats:
    return np.where(np.abs(values) < compute_time.MOST, values, np.nan)


def _whole_hosts(window: JobWindow, rows: Ints, cpu: Floats) -> bool:
    """Tell whether all ranks of a host, two at least, stand out alike."""
    for host in np.unique(window.host_of[rows]):
        there = np.flatnonzero((window.host_of == host) & np.isfinite(cpu))
        if host >= 0 and len(there) > 1 and np.isin(there, rows).all():
            return True
    return False
