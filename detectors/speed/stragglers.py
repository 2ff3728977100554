"""Ranks whose own work takes longer than their peers', and ranks that their peers wait for."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from ...vocabulary.findings import Finding
from .. import onsets, own_time
from ..contract import Detector
from ..findings import report
from ..hardware import devices
from ..window import Flags, Floats, Ints, JobWindow, Steps
from .excess import FEW, LONG, SHORT, Scale, Standing, Usual, standing_out

LEAST_EPISODE = 1.15
"""The ratio to what is usual that makes a step part of an episode."""

SHARED = 20
"""Newest steps that two ranks at least have reported, by which ranks end steps together or not."""


class Stragglers(Detector):
    """Name the ranks that a synchronous job waits for.

    Own time (see own_time.py: compute, else the step less the wait inside collectives, else the
    step alone) over the healthy quantile of peers with the same parallel role, freed of tokens and
    of the rank's own habit (its ratio early in the attempt). A finding needs an effect, persistence
    and a distance from the job's own noise (excess.py), in the newest 10 s or 5 steps for 8 %, in
    the newest 45 s or 8 steps for 4 %, in each of three steps of 2 s or more for 25 %. A rank that
    is slow from the first step is named where it is alone or nearly so, by 5 % and five times what
    ranks usually differ; a skew that many ranks have needs to be large, and one of devices of
    another model is no fault. The noise is that of the whole window too, by pairs of ranks: five
    steps alone hold too little of it. A rank that was slow in two episodes or more stays named
    between them.
    Waiting: the exposed wait in collectives; the culprit waits least while its peers wait long.

    Parameters
    ----------
    least : smallest excess over peers in the newest `seconds` or `fewest` steps.
    least_small : smallest excess that lasts for a minute.
    least_from_start : smallest excess of ranks of which no habit is known, where several have it.
    fewest, seconds : how much of the newest past large effects are looked for in.
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

    With a noise of s per step an effect e among n ranks shows after (1.25 s z / e)^2 steps, z = 4
    or 1.5 + sqrt(2 ln n) where that is more: 5 % among 1,024 ranks within 45 s at 1 s a step and
    3 % noise.

    Fails where more than two thirds of a role's ranks are affected alike, where a role has one rank
    only, and takes the last stage of a pipeline for slow where nobody reports stages and few ranks
    belong to it.

    References: NVRx straggler scores; Alibaba cluster-trace (a stable skew is no straggler);
    the least-wait rule, MegaScale (NSDI'24).
    """

    name = "stragglers"
    kinds = ("job.slow", "rank.slow_compute", "rank.waits_least")

    def __init__(
        self,
        *,
        least: float = SHORT.least,
        least_small: float = LONG.least,
        least_from_start: float = 0.25,
        fewest: int = SHORT.fewest,
        seconds: float = SHORT.seconds,
        warm_up: int = 5,
        most: int = 256,
    ) -> None:
        self.least = least
        self.least_small = least_small
        self.least_from_start = least_from_start
        self.fewest = fewest
        self.seconds = seconds
        self.warm_up = warm_up
        self.most = most

    def _scales(self) -> tuple[Scale, ...]:
        short = replace(SHORT, least=self.least, fewest=self.fewest, seconds=self.seconds)
        small = min(self.least_small, self.least)
        return short, replace(LONG, least=small, least_alone=max(LONG.least_alone, small))

    def evaluate(self, window: JobWindow) -> Sequence[Finding]:
        """Return findings on ranks, and one on the job when the ranks' excess slows its steps."""
        steps, own, ratio = window.features.steps, window.features.own, window.features.ratio
        if own is None or ratio is None or len(window.ranks) < 2:
            return []
        if len(steps.index) < self.fewest + self.warm_up or window.features.stale:
            return []
        alone = own_time.own_plane(steps) == own_time.STEP
        if alone and _apart(window.steps):
            # Not synchronous: each rank's newest steps, whatever their index.
            steps = _aligned(window.steps)
            own = own_time.own_seconds(steps, own_time.STEP)
            ratio = own_time.against_peers(own, window.role_of)
        scales = self._scales()
        counts = _counts(window.features.step_ends, scales, len(steps.index) - self.warm_up)
        usual = _usual(window, len(ratio))
        look = partial(
            standing_out,
            ratio[:, self.warm_up :],
            usual,
            role_of=window.role_of,
            least_from_start=self.least_from_start,
            isolated=not alone,
        )
        found = look(scales, counts)
        (few,) = _counts(window.features.step_ends, (FEW,), counts[0])
        if found is None and few < counts[0]:
            scales, counts = (FEW,), (few,)
            found = look(scales, counts)
        if found is not None and len(unlike := _unlike(window)):
            found = look(scales, counts, unlike=unlike)
        found = self._episodes(steps, ratio, usual, found, max(counts[0], self.fewest))
        if found is None:
            return []
        rows = found.rows
        # Those that stand out most; the symptom carries all of them.
        named = np.sort(rows[np.argsort(-found.effect[rows], kind="stable")[: self.most]])
        firsts = {int(row): self._first(ratio[row], int(row), found) for row in named}
        healthy = _healthy(own[:, -found.count :], window.role_of, named)
        findings = [
            self._rank(window, steps, own, int(row), found, firsts[int(row)],
                       healthy[int(window.role_of[row])])
            for row in named
        ]  # fmt: skip
        findings += self._waits(window, steps, rows, named, found.count)
        slowed = self._job(window, steps, own, ratio, found, min(firsts.values()))
        return [*slowed, *findings]

    def _episodes(
        self, steps: Steps, ratio: Floats, usual: Usual, found: Standing | None, count: int
    ) -> Standing | None:
        """Return what was found, with the ranks that are slow again and again."""
        with np.errstate(invalid="ignore"):
            limit = (LEAST_EPISODE * usual.ratio).astype(ratio.dtype)
            odd = ratio[:, self.warm_up :] > limit[:, None]
        often = np.flatnonzero(odd.sum(axis=1, dtype=np.int16) >= 2 * count * onsets.ODD_SHARE)
        if not len(often) or len(often) > max(1, len(ratio) // 3):
            return found
        current = set() if found is None else set(found.rows.tolist())
        ends = own_time.step_ends(steps)[self.warm_up :]
        for row in often:
            runs = onsets.episodes(odd[row], max(int(onsets.ODD_SHARE * count), 3))
            again = onsets.recurring(runs, ends, float(ends[-1]), ongoing=row in current)
            if again is None:
                continue
            first = again[0] + self.warm_up
            inside = ratio[row, self.warm_up :][odd[row]]
            effect = float(np.median(inside)) / float(usual.ratio[row]) - 1
            found = _with_row(found, int(row), effect, first, usual, count)
        return found

    def _first(self, ratio: Floats, row: int, found: Standing) -> int:
        """Return the column in which the newest run of a rank's excess began."""
        if row in found.since:
            return found.since[row]
        valid = np.flatnonzero(np.isfinite(ratio))
        effect = float(found.effect[row]) * float(found.usual[row])
        limit = float(found.usual[row]) + effect / 2
        values = ratio[valid]
        if found.small[row]:
            return int(valid[onsets.change_point(values, limit, effect)])
        return int(valid[onsets.newest_run(values > limit)])

    def _rank(
        self,
        window: JobWindow,
        steps: Steps,
        own: Floats,
        row: int,
        found: Standing,
        first: int,
        healthy: float,
    ) -> Finding:
        at = steps.at[row]
        onset = float(at[first])
        valid = at[:first][np.isfinite(at[:first])]
        before = float(valid[-1]) if len(valid) else onset
        recent = at[-found.count :]
        seen, effect = _middle(own[row, -found.count :]), float(found.effect[row])
        rank = int(window.ranks[row])
        text = (
            f"rank {rank} needs {100 * effect:.0f} % more for its own work than its peers, again "
            "and again"
            if row in found.since
            else f"rank {rank} needs {seen:.3g} s for its own work in a step, its peers "
            f"{healthy:.3g} s ({100 * effect:.0f} % more)"
        )
        return report(
            window,
            self.name,
            "rank.slow_compute",
            window.rank_entity(row),
            onset=(min(before, onset), onset),
            seen=(float(np.nanmin(recent)), float(np.nanmax(recent))),
            magnitude=1 + effect,
            score=float(found.score[row]),
            signal=own_time.COMPUTE if steps.has(own_time.COMPUTE) else own_time.STEP,
            observed=seen,
            expected=healthy,
            text=text,
        )

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
        theirs = _middle(wait[others])
        findings = []
        for row in named:
            gap = (theirs - wait[row]) / step
            if not gap >= 0.03:
                continue
            at = steps.at[row, -count:]
            seen = (float(np.nanmin(at)), float(np.nanmax(at)))
            findings.append(
                report(
                    window,
                    self.name,
                    "rank.waits_least",
                    window.rank_entity(int(row)),
                    onset=seen,
                    seen=seen,
                    magnitude=theirs - float(wait[row]),
                    score=float(gap / 0.03),
                    signal=own_time.COMM,
                    observed=float(wait[row]),
                    expected=theirs,
                    text=f"rank {int(window.ranks[row])} waits {float(wait[row]):.3g} s in "
                    f"collectives, its peers {theirs:.3g} s: they wait for it",
                )
            )
        return findings

    def _job(
        self,
        window: JobWindow,
        steps: Steps,
        own: Floats,
        ratio: Floats,
        found: Standing,
        first: int,
    ) -> list[Finding]:
        """Return the symptom: how much shorter steps would be without the slow ranks' excess."""
        count, rows = found.count, found.rows
        recent = own[:, -count:]
        with np.errstate(invalid="ignore", divide="ignore"):
            beyond = recent[rows] * (1 - 1 / ratio[rows, -count:])
        step = _step_seconds(steps, count, recent.T)
        lost = max(min(_middle(own_time.highest(beyond, axis=0)), 0.95 * step), 0.0)
        share = lost / step if step > 0 else 0.0
        again = rows[[int(row) in found.since for row in rows]]
        if share < self.least_small / 2 and not len(again):
            return []
        at = own_time.step_ends(steps)
        onset = float(at[first])
        # Cards differ by a few percent from the first step on: worth knowing, and no page.
        least = 0.0 if first <= self.warm_up + count and not len(again) else 1.0
        return [
            report(
                window,
                self.name,
                "job.slow",
                window.entity,
                onset=(min(float(at[max(first - 1, 0)]), onset), onset),
                seen=(float(at[-count]), float(at[-1])),
                magnitude=1 / (1 - share),
                score=max(share / SHORT.least, least),
                signal=own_time.STEP,
                observed=step,
                expected=step - lost,
                text=f"steps take {step:.3g} s; without the excess of its slowest ranks they would "
                f"take {step - lost:.3g} s",
                ranks=window.ranks[rows].tolist(),
            )
        ]


def _with_row(
    found: Standing | None, row: int, effect: float, first: int, usual: Usual, count: int
) -> Standing:
    """Return what was found with a rank that is slow again and again since a column."""
    if found is None:
        size = len(usual.ratio)
        found = Standing(
            np.zeros(0, np.int64), np.zeros(size), usual.ratio, np.zeros(size),
            np.zeros(size, np.bool_), count,
        )  # fmt: skip
    effects, scores, bases = found.effect.copy(), found.score.copy(), found.usual.copy()
    effects[row], bases[row] = effect, usual.ratio[row]
    scores[row] = max(scores[row], effect / SHORT.least)
    return replace(
        found,
        rows=np.union1d(found.rows, [row]),
        effect=effects,
        usual=bases,
        score=scores,
        since={**found.since, row: first},
    )


def _counts(ends: Floats, scales: tuple[Scale, ...], most: int) -> tuple[int, ...]:
    """Return how many of the newest steps each scale looks at; the first of `most` of them."""
    valid = ends[np.isfinite(ends)]
    newest = float(valid[-1]) if len(valid) else 0.0
    first, *more = (
        max(int((valid > newest - scale.seconds).sum()), scale.fewest) for scale in scales
    )
    return min(first, most), *more


def _usual(window: JobWindow, count: int) -> Usual:
    ratio, known, habit = np.ones(count), np.zeros(count, np.bool_), np.zeros(count, np.bool_)
    held = window.baselines
    size = min(len(held.usual), count)
    known[:size] = np.isfinite(held.usual[:size])
    ratio[:size] = np.where(known[:size], held.usual[:size], 1.0)
    habit[:size] = held.known[:size]
    return Usual(ratio, known, habit, held.habit_steps)


def _unlike(window: JobWindow) -> Flags:
    """Return [ranks], whose device is of another model than most; empty where all are alike."""
    kinds, known = devices.models(window, power=False)
    counts = np.bincount(kinds) if known and len(kinds) else np.zeros(0, np.int64)
    return kinds != int(np.argmax(counts)) if (counts > 0).sum() > 1 else np.zeros(0, np.bool_)


def _healthy(own: Floats, role_of: Ints, rows: Ints) -> dict[int, float]:
    """Return the healthy own seconds of the newest steps, by the roles of these rows."""
    return {
        int(role): _middle(own_time.low_quantile(own[role_of == role]))
        for role in np.unique(role_of[rows])
    }


def _middle(values: Floats) -> float:
    """Return the median of those that are reported, NaN where none is."""
    valid = values[np.isfinite(values)]
    return float(np.median(valid)) if len(valid) else float("nan")


def _step_seconds(steps: Steps, count: int, stand_in: Floats) -> float:
    """Return the recent step time; the median of the rows' highest where nobody reports it."""
    valid = steps.plane(own_time.STEP)[:, -count:]
    return _middle(valid if np.isfinite(valid).any() else own_time.highest(stand_in, 1))


def _apart(steps: Steps) -> bool:
    """Tell whether ranks end their steps at different times: the newest of some are long ago.

    Ranks of a synchronous job end a step together, however late some of them report it.
    """
    reported: Flags = np.isfinite(steps.at)
    newest = reported.shape[1] - 1 - np.argmax(reported[:, ::-1], axis=1)
    if np.median(newest) >= newest.max() - 3 and newest.min() >= newest.max() - 20:
        return False
    shared = np.flatnonzero(reported.sum(axis=0) >= 2)[-SHARED:]
    if not len(shared):
        return True
    at = steps.at[:, shared]
    away = own_time.highest(at, axis=0) + own_time.highest(-at, axis=0)
    step = _middle(steps.plane(own_time.STEP)[:, shared])
    return not float(np.median(away)) < 2 * step


def _aligned(steps: Steps) -> Steps:
    """Return the steps with each rank's newest one in the last column."""
    order = np.argsort(np.isfinite(steps.at), axis=1, kind="stable")
    rows = np.arange(len(order))[:, None]
    return Steps(
        steps.index, steps.at[rows, order], {own_time.STEP: steps.plane(own_time.STEP)[rows, order]}
    )
