"""Ranks whose own work takes longer than their peers', and ranks that their peers wait for."""

from collections.abc import Sequence

import numpy as np

from ...vocabulary.findings import Finding
from ...vocabulary.ranks import Ranks
from .. import own_time
from ..contract import Detector
from ..window import Flags, Floats, Ints, JobWindow, Steps


class Stragglers(Detector):
    """Name the ranks that a synchronous job waits for.

    Own time (see own_time.py) of the newest steps over the healthy quantile of peers with the same
    parallel role, freed of the rank's own habit (its ratio early in the attempt): a finding needs
    an effect, persistence over the newest steps, and a distance from the spread of the peers. A
    rank that was slow from the first step needs a larger effect, since no habit is known of it.
    Waiting: the exposed wait in collectives; the culprit waits least while its peers wait long.

    Parameters
    ----------
    least : smallest excess over peers (0.08 = 8 %) when the rank's habit is known.
    least_from_start : smallest excess when it is not.
    sigmas : robust distance from the peers' spread.
    persistence : share of the newest steps in which half the effect must show.
    seconds, fewest : how much of the newest past is looked at, in time and in steps.
    warm_up : steps at the start of an attempt that say nothing about anybody.
    most : ranks that get a finding of their own; the symptom on the job carries all of them.

    Examples
    --------
    Rank 2 of four needs 30 % more for its own work from step 40 on, and its peers wait for it.

    >>> from rankscope.detectors.sketch import sketch
    >>> own = np.random.default_rng(7).normal(0.8, 0.008, (4, 60))
    >>> own[2, 40:] *= 1.3
    >>> window = sketch(own)
    >>> for finding in Stragglers().evaluate(window):
    ...     step = np.searchsorted(window.steps.at[0], finding.onset[1])
    ...     print(finding.kind, finding.entity, step, f"{finding.magnitude:.2f}")
    job.slow job example 40 1.24
    rank.slow_compute rank 2 on host-1 40 1.29
    rank.waits_least rank 2 on host-1 59 0.24

    Fails where more than two thirds of a role's ranks are affected alike, and where a role has
    one rank only.

    References: NVRx straggler scores; Alibaba cluster-trace (a stable skew is no straggler);
    the least-wait rule, MegaScale (NSDI'24).
    """

    name = "stragglers"
    kinds = ("job.slow", "rank.slow_compute", "rank.waits_least")

    def __init__(
        self,
        *,
        least: float = 0.08,
        least_from_start: float = 0.25,
        sigmas: float = 4.0,
        persistence: float = 0.7,
        seconds: float = 10.0,
        fewest: int = 5,
        warm_up: int = 5,
        most: int = 256,
    ) -> None:
        self.least = least
        self.least_from_start = least_from_start
        self.sigmas = sigmas
        self.persistence = persistence
        self.seconds = seconds
        self.fewest = fewest
        self.warm_up = warm_up
        self.most = most

    def evaluate(self, window: JobWindow) -> Sequence[Finding]:
        """Return findings on ranks, and one on the job when the ranks' excess slows its steps."""
        steps, own, ratio = window.features.steps, window.features.own, window.features.ratio
        if own is None or ratio is None or len(window.ranks) < 2:
            return []
        if len(steps.index) < self.fewest + self.warm_up or window.features.stale:
            return []
        count = own_time.recent_count(window, seconds=self.seconds, fewest=self.fewest)
        count = min(count, len(steps.index) - self.warm_up)
        excess, persistent, distance, known = self._excess(window, ratio, count)
        needed = np.where(known, self.least, self.least_from_start)
        with np.errstate(invalid="ignore"):
            slow = (excess >= needed) & (distance >= self.sigmas) & (persistent >= self.persistence)
        # A rank that was slow all along and still is far beyond its peers counts as well.
        plain = own_time.median(ratio[:, -count:], axis=1) - 1
        with np.errstate(invalid="ignore"):
            slow |= (plain >= 2 * self.least_from_start) & (persistent >= self.persistence)
        rows = np.flatnonzero(slow)
        if not len(rows):
            return []
        effect = np.where(np.nan_to_num(excess) >= needed, np.nan_to_num(excess), plain)
        # Those that stand out most; the symptom carries all of them.
        named = rows[np.argsort(-effect[rows], kind="stable")[: self.most]]
        named.sort()
        usual = _usual(own[:, -count:], window.role_of, named)
        findings = [
            self._rank(
                window, steps, own, ratio, int(row), float(effect[row]), float(needed[row]),
                count, usual[int(window.role_of[row])],
            )
            for row in named
        ]  # fmt: skip
        findings += self._waits(window, steps, rows, named, count)
        slowed = self._job(window, steps, own, ratio, rows, named, count)
        return [*slowed, *findings]

    def _excess(
        self, window: JobWindow, ratio: Floats, count: int
    ) -> tuple[Floats, Floats, Floats, Flags]:
        """Return [ranks] each: excess over habit, persistence, distance in sigmas, habit known."""
        recent = ratio[:, -count:]
        middle = own_time.median(recent, axis=1)
        usual, known = np.ones(len(ratio)), np.zeros(len(ratio), np.bool_)
        held = min(len(window.baselines.habit), len(ratio))
        usual[:held], known[:held] = window.baselines.habit[:held], window.baselines.known[:held]
        excess = middle / usual - 1
        with np.errstate(invalid="ignore"):
            persistent = (recent / usual[:, None] - 1 > self.least / 2).mean(axis=1)
        within = own_time.median(np.abs(recent - middle[:, None]), axis=1)
        error = 1.2533 * 1.4826 * within / np.sqrt(max(count, 1))
        # The spread of the healthy half of the ranks, so that the affected do not hide themselves.
        healthy = np.sort(excess[np.isfinite(excess)])
        healthy = healthy[: max(len(healthy) // 2, 1)]
        spread = (
            1.4826 * float(np.median(np.abs(healthy - np.median(healthy)))) if len(healthy) else 0
        )
        centre = float(np.median(healthy)) if len(healthy) else 0.0
        distance = (excess - centre) / np.sqrt(error**2 + spread**2 + 0.01**2)
        return excess, persistent, distance, known

    def _rank(
        self,
        window: JobWindow,
        steps: Steps,
        own: Floats,
        ratio: Floats,
        row: int,
        effect: float,
        needed: float,
        count: int,
        healthy: float,
    ) -> Finding:
        first = self._first(ratio, row, effect)
        at = steps.at[row]
        onset = float(at[first])
        valid = at[:first][np.isfinite(at[:first])]
        before = float(valid[-1]) if len(valid) else onset
        seen = float(np.nanmedian(own[row, -count:]))
        return Finding(
            kind="rank.slow_compute",
            job=window.job,
            attempt=window.attempt,
            entity=window.rank_entity(row),
            onset=(min(before, onset), onset),
            magnitude=1 + effect,
            score=effect / needed,
            detector=self.name,
            signal=own_time.COMPUTE if steps.has(own_time.COMPUTE) else own_time.STEP,
            window=(float(np.nanmin(at[-count:])), float(np.nanmax(at[-count:]))),
            observed=seen,
            expected=healthy,
            text=(
                f"rank {int(window.ranks[row])} needs {seen:.3g} s for its own work in a step, its "
                f"peers {healthy:.3g} s ({100 * effect:.0f} % more)"
            ),
        )

    def _first(self, ratio: Floats, row: int, effect: float) -> int:
        """Return the first column of the newest run in which the rank shows half its effect."""
        valid = np.flatnonzero(np.isfinite(ratio[row]))
        usual = float(np.nanmedian(ratio[row, -self.fewest :])) / (1 + effect)
        limit = usual * (1 + effect / 2)
        first, fast = int(valid[-1]), 0
        for column in valid[::-1]:
            if ratio[row, column] > limit:
                first, fast = int(column), 0
            else:
                fast += 1
                if fast >= 3:
                    break
        return first

    def _waits(
        self, window: JobWindow, steps: Steps, rows: Ints, named: Ints, count: int
    ) -> list[Finding]:
        if not steps.has(own_time.COMM):
            return []
        wait = own_time.median(steps.plane(own_time.COMM)[:, -count:], axis=1)
        others = np.setdiff1d(np.arange(len(wait)), rows)
        if not np.isfinite(wait[others]).any():
            return []
        step = _step_seconds(steps, count, wait[None, :])
        if not step > 0:
            return []
        theirs = float(np.nanmedian(wait[others]))
        findings = []
        for row in named:
            gap = (theirs - wait[row]) / step
            if not gap >= 0.05:
                continue
            at = steps.at[row, -count:]
            findings.append(
                Finding(
                    kind="rank.waits_least",
                    job=window.job,
                    attempt=window.attempt,
                    entity=window.rank_entity(int(row)),
                    onset=(float(np.nanmin(at)), float(np.nanmax(at))),
                    magnitude=theirs - float(wait[row]),
                    score=float(gap / 0.05),
                    detector=self.name,
                    signal=own_time.COMM,
                    window=(float(np.nanmin(at)), float(np.nanmax(at))),
                    observed=float(wait[row]),
                    expected=theirs,
                    text=(
                        f"rank {int(window.ranks[row])} waits {float(wait[row]):.3g} s in "
                        f"collectives, its peers {theirs:.3g} s: they wait for it"
                    ),
                )
            )
        return findings

    def _job(
        self,
        window: JobWindow,
        steps: Steps,
        own: Floats,
        ratio: Floats,
        rows: Ints,
        named: Ints,
        count: int,
    ) -> list[Finding]:
        """Return the symptom: how much shorter steps would be without the slow ranks' excess."""
        recent = own[:, -count:]
        excess = own_time.highest(recent[rows] * (1 - 1 / ratio[rows, -count:]), axis=0)
        step = _step_seconds(steps, count, recent.T)
        lost = min(float(np.nanmedian(excess)), 0.95 * step)
        share = lost / step if step > 0 else 0.0
        if share < self.least / 2:
            return []
        slow_from = min(self._first(ratio, int(row), float(self.least)) for row in named)
        at = own_time.step_ends(steps)
        onset = float(at[slow_from])
        return [
            Finding(
                kind="job.slow",
                job=window.job,
                attempt=window.attempt,
                entity=window.entity,
                onset=(float(at[max(slow_from - 1, 0)]), onset),
                magnitude=1 / (1 - share),
                score=max(share / self.least, 1.0),
                detector=self.name,
                signal=own_time.STEP,
                window=(float(at[-count]), float(at[-1])),
                observed=step,
                expected=step - lost,
                text=(
                    f"steps take {step:.3g} s; without the excess of its slowest ranks they would "
                    f"take {step - lost:.3g} s"
                ),
                ranks=Ranks(window.ranks[rows].tolist()),
            )
        ]


def _usual(own: Floats, role_of: Ints, rows: Ints) -> dict[int, float]:
    """Return the healthy own seconds of the newest steps, by the roles of these rows."""
    return {
        int(role): float(np.nanmedian(own_time.low_quantile(own[role_of == role])))
        for role in np.unique(role_of[rows])
    }


def _step_seconds(steps: Steps, count: int, stand_in: Floats) -> float:
    """Return the recent step time; the median of the rows' highest where nobody reports it."""
    valid = steps.plane(own_time.STEP)[:, -count:]
    return float(np.nanmedian(valid if np.isfinite(valid).any() else own_time.highest(stand_in, 1)))
