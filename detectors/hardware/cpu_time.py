"""Hosts on which the job's processes do not get the CPU time they need."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...vocabulary.findings import Finding
from ..contract import Detector
from ..window import Floats, JobWindow, PeriodicReadings
from . import devices, withheld_cpu

_RISE = 1.4


@dataclass(frozen=True, slots=True)
class _CpuSign:
    """One sign of missing CPU time: where it is read, and from which value on it counts."""

    kind: str
    metric: str
    counter: bool
    per_rank: bool
    least: float
    factor: float
    words: str


_SIGNS = (
    _CpuSign("host.cpu_wait", "process.cpu.wait", True, True, 0.08, 2.5,
          "its ranks wait {seen:.0%} of the time for a CPU although they could run"),
    _CpuSign("host.cpu_wait", "system.pressure|some|cpu", False, False, 0.10, 2.5,
          "some of its tasks wait {seen:.0%} of the time for a CPU"),
    _CpuSign("host.cpu_throttled", "container.cpu.throttled", True, True, 0.05, 2.5,
          "a CPU quota stops its containers {seen:.0%} of the time"),
    _CpuSign("host.cpu_steal", "system.cpu.steal", True, False, 0.10, 2.5,
          "the hypervisor takes {seen:.2g} CPUs from it"),
    _CpuSign("host.cpu_busy", "system.cpu.utilization", False, False, 0.90, 1.25,
          "its CPUs are {seen:.0%} in use"),
)  # fmt: skip


class CpuTimeDetector(Detector):
    """Compare each host's run-queue wait, quota, steal and load with its peers and its own past.

    How long the own processes wait is the better sign; where nobody reports it, or they hardly
    wait, the host's CPU pressure counts: the share of the time in which some task waits.

    A sign counts when the newest `seconds` are above its absolute least value and a factor above
    what is usual: the median of the other hosts of the job, or the host's own earlier readings,
    whichever is known; where both are, exceeding either is enough for wait, quota and steal, while
    load and pressure must exceed both (a job that loads every host alike is normal life).

    They are evidence: what a host withholds costs the job something where its steps say so. A quota
    that stops containers, or processes that wait while others have the CPUs, for a minute on half
    of the hosts at most are worth knowing before that (withheld_cpu.py), and page nobody.

    Parameters
    ----------
    seconds : the newest time range evaluated; at least two readings of a counter must lie in it.
    past : how far back the host's own habit is learnt from.

    Examples
    --------
    From second 60 on the ranks of one host wait 60 % of the time for a CPU. Readings come every
    5 s, so it began between second 60 and second 65.

    >>> from rankscope.detectors.sketch import START, readings, sketch
    >>> at = START + np.arange(0.0, 121, 5)
    >>> wait = np.full((4, len(at)), 0.05)
    >>> wait[:2, at > START + 60] = 3.0
    >>> window = sketch(np.full((4, 60), 0.8), now=START + 120, rank_readings={
    ...     "process.cpu.wait": readings(at, np.cumsum(wait, axis=1))})
    >>> (waits,) = CpuTimeDetector().evaluate(window)
    >>> str(waits.entity), waits.onset[0] - START, waits.onset[1] - START
    ('host host-0', 60.0, 65.0)

    Fails where the kernel gives no schedstat (no wait) and the contention is short-lived against
    the reporting period.

    Source: Linux Documentation/scheduler/sched-stats (run delay), cgroup-v2 cpu.stat.
    """

    name = "cpu_time"
    kinds = (*(sign.kind for sign in _SIGNS), "host.cpu_withheld")
    cadence_seconds = 5.0

    def __init__(self, *, seconds: float = 20.0, past: float = 600.0) -> None:
        self.seconds = seconds
        self.past = past

    def evaluate(self, window: JobWindow) -> Sequence[Finding]:
        """Return one finding a host and sign."""
        key = (CpuTimeDetector, *vars(self).values())
        return window.features.once(key, lambda: self._evaluated(window))

    def _evaluated(self, window: JobWindow) -> list[Finding]:
        found: dict[tuple[str, str], Finding] = {}
        for sign in _SIGNS:
            for finding in self._sign(window, sign):
                found.setdefault((finding.kind, finding.entity.id), finding)
        evidence = list(found.values())
        return [*evidence, *withheld_cpu.for_long(window, self.name, evidence)]

    def _sign(self, window: JobWindow, sign: _CpuSign) -> list[Finding]:
        readings, owner = _readings(window, sign)
        newest = -np.inf if readings is None else readings.newest_at()
        if readings is None or newest == -np.inf:
            return []
        # Slow reporters are given a window that holds at least three of their readings.
        seconds = max(self.seconds, 3.2 * readings.period())
        by_row = _value(readings, sign, newest - seconds, newest)
        if not (by_row >= sign.least).any():
            return []
        seen = _by_host(window, sign, by_row, owner)
        before = newest - seconds
        candidates = np.flatnonzero(np.nan_to_num(seen) >= sign.least)
        if not len(candidates):
            return []  # the past of a healthy job is not even looked at
        rows = np.flatnonzero(np.isin(owner, candidates))
        readings, owner = readings.of(rows), owner[rows]
        past = _by_host(window, sign, _value(readings, sign, before - self.past, before), owner)
        others = devices.median_of_others(seen)
        findings = []
        for host in candidates.tolist():
            value, peers = float(seen[host]), float(others[host])
            usual = [bar for bar in (peers, float(past[host])) if np.isfinite(bar)]
            if sign.counter:
                counts = any(value >= max(sign.factor * bar, bar + sign.least / 2) for bar in usual)
            else:
                counts = bool(usual) and all(value >= sign.factor * bar for bar in usual)
            # Where waiting is usual, a clear rise over both peers and past counts as well.
            counts |= sign.counter and all(
                value >= max(_RISE * bar, bar + 3 * sign.least) for bar in usual
            )
            if not counts and usual:
                continue
            expected = min(usual) if usual else sign.least
            onset = self._onset(readings, owner, host, sign, (expected + value) / 2, newest)
            entity = window.host_entity(host)
            findings.append(
                Finding(
                    kind=sign.kind,
                    job=window.job,
                    attempt=window.attempt,
                    entity=entity,
                    onset=onset,
                    magnitude=float(value),
                    score=float(min(value / sign.least, 10.0)) if sign.counter else 1.5,
                    detector=self.name,
                    signal=sign.metric,
                    window=(before, newest),
                    observed=float(value),
                    expected=float(expected),
                    text=(
                        f"host {entity.id}: {sign.words.format(seen=value)} (usual: {expected:.2g})"
                    ),
                )
            )
        return findings

    def _onset(
        self,
        readings: PeriodicReadings,
        owner: np.ndarray,
        host: int,
        sign: _CpuSign,
        limit: float,
        newest: float,
    ) -> tuple[float, float]:
        """Return the interval between the last usual reading and the first one above the limit."""
        first = newest
        for row in np.flatnonzero(owner == host):
            order = np.argsort(readings.at[row], kind="stable")
            at, value = readings.at[row][order], readings.value[row][order]
            valid = np.isfinite(at)
            at, value = at[valid], value[valid]
            if sign.counter:
                with np.errstate(invalid="ignore", divide="ignore"):
                    value = np.diff(value) / np.diff(at)
                at = at[1:]
            low = np.flatnonzero(~(value > limit))
            since = int(low[-1]) + 1 if len(low) else 0
            if since < len(at):
                first = min(first, float(at[since]))
        return first - max(readings.period(), 1.0), first


def _readings(window: JobWindow, sign: _CpuSign) -> tuple[PeriodicReadings | None, np.ndarray]:
    """Return the readings and the host of each of their rows."""
    if sign.per_rank:
        found = window.rank_readings.get(sign.metric)
        if found is not None:
            return found, window.host_of
    return window.host_readings.get(sign.metric), np.arange(len(window.hosts))


def _value(readings: PeriodicReadings, sign: _CpuSign, start: float, end: float) -> Floats:
    return readings.rate(start, end) if sign.counter else readings.mean(start, end)


def _by_host(window: JobWindow, sign: _CpuSign, values: Floats, owner: np.ndarray) -> Floats:
    """Return [hosts]: the median of a host's ranks, or the host's own value.

    One rank with a busy helper thread is no sign for the host; half of them is.
    """
    seen = np.full(len(window.hosts), np.nan)
    rows = np.flatnonzero(np.isfinite(values) & (owner >= 0))
    rows = rows[np.lexsort((values[rows], owner[rows]))]
    hosts, first, count = np.unique(owner[rows], return_index=True, return_counts=True)
    if sign.per_rank:
        low, high = values[rows[first + (count - 1) // 2]], values[rows[first + count // 2]]
        seen[hosts] = (low + high) / 2
    else:
        seen[hosts] = values[rows[first + count - 1]]
    return seen
