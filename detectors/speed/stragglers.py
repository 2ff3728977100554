"""Ranks whose own work takes longer than their peers', and ranks that their peers wait for."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache, partial

import numpy as np

from ...vocabulary.findings import Finding
from .. import compute_time, medians, onsets
from ..baselines import FEW_WARM_UP
from ..contract import Detector
from ..window import Flags, Floats, Ints, JobWindow, StepValues
from .asynchronous import aligned, apart
from .excess import OutstandingRanks, by_chance, noise, standing_out
from .hidden import behind_data
from .newest import with_newest
from .scales import FEW, LONG, MIDDLE, SHORT, count_of, scales
from .straggler_findings import DETECTOR, healthy_seconds, slow_job, slow_rank, waits_least
from .usual import UsualRatios, unlike, usual_of
from .whole_hosts import by_own_past

MOST_CHANCE = 1e-3
"""How probable the steps of a first word may be in a job that has stray steps anyway."""

LEAST_EPISODE = 1.15
"""The ratio to what is usual that makes a step part of an episode."""

EPISODE_SIGMAS = 2.5
"""How far beyond what ranks stray from step to step such a step is, at least."""

OFTENER = 3.0
"""So many times as often as its peers a rank that is slow again and again has such steps."""


class StragglersDetector(Detector):
    """Name the ranks that a synchronous job waits for.

    Compute time (see compute_time.py: compute, else the step less the wait inside collectives, else
    the step alone) over the healthy quantile of peers with the same parallel role, freed of tokens
    and of the rank's own habit (its ratio early in the attempt). A finding needs an effect,
    persistence and a distance from the job's own noise (excess.py), in the newest 10 s or 5 steps
    for 8 %, in the newest 45 s or 8 steps for 4 %, in 90 s or 32 steps where these are too few for
    the noise, in each of three steps of 2 s or more for 25 %. A rank that is slow from the first
    step is named where it is alone or nearly so, by 5 % and five times what ranks usually differ; a
    skew that many ranks have needs to be large, and one of devices of another model is no fault.
    The noise is that of the whole window too, by pairs of ranks: five steps alone hold too little
    of it. Where ranks take turns at having more to do (a router's favour wanders), a rank is named
    only where it stands half as far again as any of the others ever did. A rank that stands barely
    beyond chance slows the job only where the job's steps grew with it, by half of the excess, or
    where it stands farther in twelve steps. A rank that was slow in two episodes or
    more stays named between them, where its peers have far fewer such steps.
    Where each role has all of its ranks on one host, ranks are compared by what each took early in
    the attempt, with those of other roles (whole_hosts.py).
    Waiting: the exposed wait in collectives; the culprit waits least while its peers wait long.

    Parameters
    ----------
    least : smallest excess over peers in the newest `seconds` or `fewest` steps, in fewer, and of
        steps that come again and again.
    least_small : smallest excess that lasts for a minute; `least` where that is less.
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
    >>> for finding in StragglersDetector().evaluate(window):
    ...     step = np.searchsorted(window.steps.at[0], finding.onset[1])
    ...     print(finding.kind, finding.entity, step, f"{finding.magnitude:.2f}")
    job.slow job example 40 1.24
    rank.slow_compute rank 2 on host-1 40 1.29
    rank.waits_least rank 2 on host-1 59 0.24

    With a noise of s per step an effect e among n ranks shows after (1.25 s z / e)^2 steps, z = 4
    or 1.5 + sqrt(2 ln n) where that is more: 5 % among 1,024 ranks within 45 s at 1 s a step and
    3 % noise.

    Of ranks whose excess hides behind another's far longer wait for data nothing is said
    (hidden.py).

    Fails for a slow device in a job whose ranks stray by as much in turn, where more than two
    thirds of a role's ranks are affected alike, where a role has one rank only, and takes the last
    stage of a pipeline for slow where nobody reports stages and few ranks
    belong to it.

    References: NVRx straggler scores; Alibaba cluster-trace (a stable skew is no straggler);
    the least-wait rule, MegaScale (NSDI'24).
    """

    name = DETECTOR
    kinds = ("job.slow", "rank.slow_compute", "rank.waits_least")
    of_steps = True

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

    def evaluate(self, window: JobWindow) -> Sequence[Finding]:
        """Return findings on ranks, and one on the job when the ranks' excess slows its steps."""
        steps, own, ratio = window.features.steps, window.features.own, window.features.ratio
        if own is None or ratio is None or len(window.ranks) < 2:
            return []
        if len(steps.index) < FEW.fewest + FEW_WARM_UP or window.features.stale:
            return []
        alone = compute_time.own_plane(steps) == compute_time.STEP
        if alone and apart(window.steps):
            # Not synchronous: each rank's newest steps, whatever their index.
            steps = aligned(window.steps)
            own = compute_time.own_seconds(steps, compute_time.STEP)
            ratio = compute_time.against_peers(own, window.role_of)
        usual, role_of = usual_of(window, len(ratio)), window.role_of
        ends = window.features.step_ends
        found, count = self._found(window, ends, ratio, usual, role_of, isolated=not alone)
        if not alone and (found is None or found.first):
            more = with_newest(window, usual)
            if more is not None:
                ends = compute_time.step_ends(more[0])
                later, _ = self._found(window, ends, more[2], usual, role_of, isolated=True)
                if later is not None:
                    found, (steps, own, ratio) = later, more
        if not alone and found is None:
            scaled = by_own_past(window, steps, own)
            if scaled is not None:
                own, role_of, ends = scaled, np.zeros_like(role_of), window.features.step_ends
                ratio = compute_time.against_peers(own, role_of)
                found, count = self._found(window, ends, ratio, usual, role_of, isolated=False)
        found = self._episodes(steps, ratio, usual, role_of, found, max(count, self.fewest))
        if found is None:
            return []
        hidden = behind_data(steps, own, found.effect, found.rows, found.count)
        if hidden.all():
            return []
        found = replace(found, rows=found.rows[~hidden])
        rows = found.rows
        # Those that stand out most; the symptom carries all of them.
        named = np.sort(rows[np.argsort(-found.effect[rows], kind="stable")[: self.most]])
        firsts = {int(row): self._first(ratio[row], int(row), found) for row in named}
        healthy = healthy_seconds(own[:, -found.count :], role_of, named)
        findings = [
            slow_rank(window, steps, own, int(row), found, firsts[int(row)],
                       healthy[int(role_of[row])])
            for row in named
        ]  # fmt: skip
        findings += waits_least(window, steps, rows, named, found.count)
        slowed = slow_job(
            window, steps, own, ratio, found, _began(found, firsts),
            least=self.least_small, warm_up=self.warm_up,
        )  # fmt: skip
        return [*slowed, *findings]

    def _found(
        self,
        window: JobWindow,
        ends: Floats,
        ratio: Floats,
        usual: UsualRatios,
        role_of: Ints,
        *,
        isolated: bool,
    ) -> tuple[OutstandingRanks | None, int]:
        """Return who stands out by the shortest scales that show any, and the steps of the first.

        A job of long steps that has just begun is looked at after a shorter warm-up: by whole
        scales only, so that short steps have theirs.
        """
        begun = ratio.shape[1] >= self.fewest + self.warm_up
        past = ratio[:, self.warm_up if begun else FEW_WARM_UP :]
        short, long, few, longer, first = scales(
            self.least, self.least_small, self.fewest, self.seconds
        )
        count = count_of(ends, short)
        if begun:
            count = min(count, past.shape[1])
        look = partial(
            standing_out, past, usual, role_of=role_of,
            strays=cache(lambda: noise(past, role_of)),
            least_from_start=self.least_from_start, isolated=isolated,
        )  # fmt: skip
        for searched, counts in (
            ((short, long), (count, count_of(ends, long))),
            ((few,), (count_of(ends, few),)),
            ((longer,), (count_of(ends, longer),)),
            ((first,), (count_of(ends, first),)),
        ):
            if searched == (first,) and not begun:
                break  # nothing is known yet of what is usual
            found = look(searched, counts)
            if found is not None and len(others := unlike(window)):
                found = look(searched, counts, unlike=others)
            if searched == (first,) and found is not None:
                usually = by_chance(past, usual, found)
                found = replace(found, first=True) if usually <= MOST_CHANCE else None
            if found is not None and not found.sure[found.rows].any():
                # A few more steps tell what may be chance in so few long ones.
                more = look((MIDDLE,), (count_of(ends, MIDDLE),))
                found = found if more is None else replace(found, sure=more.sure)
            if found is not None:
                # Of a job that has just begun nobody knows yet how much its ranks vary.
                return (found if begun else replace(found, first=True)), count
        return None, count

    def _episodes(
        self,
        steps: StepValues,
        ratio: Floats,
        usual: UsualRatios,
        role_of: Ints,
        found: OutstandingRanks | None,
        count: int,
    ) -> OutstandingRanks | None:
        """Return what was found, with the ranks that are slow again and again."""
        past, least = ratio[:, self.warm_up :], max(LEAST_EPISODE - 1, self.least)
        odd, often = _often(past, usual, least, count)
        if len(often) and (strays := float(noise(past, role_of).max())) * EPISODE_SIGMAS > least:
            odd, often = _often(past, usual, EPISODE_SIGMAS * strays, count)
        if not len(often) or len(often) > max(1, len(ratio) // 3):
            return found
        current = set() if found is None else set(found.rows.tolist())
        ends = compute_time.step_ends(steps)[self.warm_up :]
        for row in often:
            runs = onsets.episodes(odd[row], max(int(onsets.ODD_SHARE * count), 3))
            again = onsets.recurring(runs, ends, float(ends[-1]), ongoing=row in current)
            if again is None:
                continue
            first = again[0] + self.warm_up
            inside = ratio[row, self.warm_up :][odd[row]]
            effect = medians.middle(inside) / float(usual.ratio[row]) - 1
            found = _with_row(found, int(row), effect, first, usual, count)
        return found

    def _first(self, ratio: Floats, row: int, found: OutstandingRanks) -> int:
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


def _often(past: Floats, usual: UsualRatios, least: float, count: int) -> tuple[Flags, Ints]:
    """Return [ranks, steps] that are longer than usual by a share, and who has many of them."""
    with np.errstate(invalid="ignore"):
        odd = past > ((1 + least) * usual.ratio).astype(past.dtype)[:, None]
    times = odd.sum(axis=1, dtype=np.int16)
    # By the healthy half: what everybody's pauses do to everybody singles nobody out.
    theirs = medians.middle(np.sort(times)[: max(len(times) // 2, 1)].astype(np.float64))
    enough = max(2 * count * onsets.ODD_SHARE, OFTENER * theirs)
    return odd, np.flatnonzero(times >= enough)


def _with_row(
    found: OutstandingRanks | None,
    row: int,
    effect: float,
    first: int,
    usual: UsualRatios,
    count: int,
) -> OutstandingRanks:
    """Return what was found with a rank that is slow again and again since a column."""
    if found is None:
        size = len(usual.ratio)
        found = OutstandingRanks(
            np.zeros(0, np.int64), np.zeros(size), usual.ratio, np.zeros(size),
            np.zeros(size, np.bool_), np.ones(size, np.bool_), count,
        )  # fmt: skip
    effects, scores, bases = found.effect.copy(), found.score.copy(), found.usual.copy()
    effects[row], bases[row] = effect, usual.ratio[row]
    scores[row] = max(scores[row], effect / SHORT.least)
    sure = found.sure.copy()
    sure[row] = True
    return replace(
        found,
        rows=np.union1d(found.rows, [row]),
        effect=effects,
        usual=bases,
        score=scores,
        sure=sure,
        since={**found.since, row: first},
    )


def _began(found: OutstandingRanks, firsts: dict[int, int]) -> int:
    """Return the column since which the job is slow: by those that make it so.

    The beginning of a small excess is uncertain by many steps.
    """
    most = max(float(found.effect[row]) for row in firsts)
    return min(first for row, first in firsts.items() if found.effect[row] >= most / 2)
