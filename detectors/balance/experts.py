"""Expert groups in which some ranks calculate far more than others."""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from ...vocabulary.findings import Finding
from ...vocabulary.ranks import RankSet
from ...vocabulary.topology import CommunicationGroup
from .. import compute_time, medians, onsets, parts
from ..contract import Detector
from ..findings import report
from ..window import Floats, Ints, JobWindow, StepValues

_NEWEST, _FEWEST = 120.0, 20
_BLOCKS = 6

_FEWEST_OTHERS, _STUDENT = 3, (15.8, 8.0, 5.9, 5.0, 4.5)
"""How many standard errors beyond what they differ by so many members, and one more each, must have
become faster: Student's distribution at two in a thousand, as few members say little of that."""

MOST = 4
"""So many groups are named, the most uneven first."""


class ExpertsDetector(Detector):
    """Name the expert-parallel groups whose ranks' compute times drift apart.

    Compute time of each member over the median of its group, by tokens where these explain it. The
    slowest member costs the group what it has beyond the median. A slow device looks alike at
    first; popular experts show in one of three ways that no device does: the same position is slow
    in several groups (each holds the same experts there); the slowest member changes from minute
    to minute; or the others have become faster than they were, because tokens went to one. The
    last is so certain a sign that half of the excess is enough for it, where they became faster
    by more than members do by themselves (a router's favour wanders) and the slowest one slower.
    Where each rank reports the tokens that it calculates, the router's work is seen itself: one
    member has more than the others step after step, and works longer by as much.

    Parameters
    ----------
    least : excess of the slowest member over the median of its group.

    Examples
    --------
    In both groups of four the second rank is 40 % slower.

    >>> from rankscope.detectors.sketch import sketch
    >>> from rankscope.vocabulary.topology import CommunicationGroup, RankPlacement, JobTopology
    >>> own = np.random.default_rng(1).normal(0.8, 0.004, (8, 80))
    >>> own[[1, 5]] *= 1.4
    >>> groups = [CommunicationGroup(f"ep:{n}", "ep", range(4 * n, 4 * n + 4)) for n in range(2)]
    >>> placed = JobTopology("example", world_size=8, groups=groups,
    ...     placements=[RankPlacement(rank, f"host-{rank // 4}") for rank in range(8)])
    >>> for finding in ExpertsDetector().evaluate(sketch(own, placed=placed)):
    ...     print(finding.kind, finding.entity.id, f"{finding.magnitude:.1f}")
    group.expert_imbalance ep:1 1.4
    group.expert_imbalance ep:0 1.4

    Groups that nobody reports follow from the coordinates of ranks.

    Fails where neither is known, and for one group that was uneven in the same way from the first
    step: that may be a device.

    Source: the slow rank of a group of experts changes; tokens an expert tell why.
    """

    name = "experts"
    kinds = ("group.expert_imbalance",)
    cadence_seconds = 15.0

    def __init__(self, *, least: float = 0.12) -> None:
        self.least = least

    def evaluate(self, window: JobWindow) -> Sequence[Finding]:
        """Return one finding a group."""
        groups = _groups(window)
        steps = parts.steps_to_compare(window) if groups else None
        own = None if steps is None else compute_time.compute_time(steps)
        if steps is None or own is None or len(steps.index) < parts.WARM_UP + _FEWEST:
            return []
        spent, own = own, compute_time.per_token(own, steps)
        tokens = steps.plane(compute_time.TOKENS) if steps.has(compute_time.TOKENS) else None
        count = compute_time.recent_count(window.steps, seconds=_NEWEST, fewest=_FEWEST)
        count = min(count, len(steps.index) - parts.WARM_UP)
        uneven: list[tuple[float, CommunicationGroup, Ints]] = []
        routed: list[tuple[float, CommunicationGroup, Ints]] = []
        profiles: list[Floats] = []
        for group in groups:
            rows = np.array([row for r in group.ranks if (row := window.row_of(r)) is not None])
            if len(rows) < 2:
                continue
            ratio = _ratio(own[rows, -count:])
            middle = medians.median(ratio, axis=1)
            excess = self._excess(ratio)
            profiles.append(np.nan_to_num(middle))
            if excess >= self.least / 2:
                uneven.append((excess, group, rows))
            if tokens is not None:
                more = self._routed(tokens[rows, -count:], spent[rows, -count:])
                if more >= self.least:
                    routed.append((more, group, rows))
        uneven = [
            found for found in uneven
            if _gave_their_tokens(own[found[2]], count, found[0])
            or (found[0] >= self.least and (_same_position(profiles, self.least)
                                            or _changes(own[found[2], -count:], self.least)))
        ]  # fmt: skip
        shown = own
        if len(routed) > len(uneven):
            uneven, shown = routed, spent
        uneven.sort(key=lambda found: (-found[0], found[1].name))
        return [self._finding(window, steps, count, shown, *found) for found in uneven[:MOST]]

    def _routed(self, tokens: Floats, spent: Floats) -> float:
        """Return by how much the member with the most tokens works longer, 0 where they do not.

        The same one in all parts of the newest range: lengths of documents change by the step.
        """
        blocks = np.array_split(_ratio(tokens), min(_BLOCKS, tokens.shape[1]), axis=1)
        share = np.stack([medians.median(block, axis=1) for block in blocks], axis=1)
        share = np.where(np.isfinite(share), share, -np.inf)
        first = int(share[:, -1].argmax())
        most = float(share[first].min())
        if not np.isfinite(most) or most < 1 + self.least or (share.argmax(axis=0) != first).any():
            return 0.0
        longer = medians.median(_ratio(spent), axis=1)
        slowest = int(np.nan_to_num(longer).argmax())
        return min(self._excess(_ratio(spent)), most - 1) if slowest == first else 0.0

    def _excess(self, ratio: Floats) -> float:
        """Return by how much the slowest member exceeds the median, beyond noise; 0: by nothing."""
        blocks = np.array_split(ratio, min(_BLOCKS, ratio.shape[1]), axis=1)
        means = np.stack([medians.median(block, axis=1) for block in blocks], axis=1)
        highest = medians.highest(means, axis=0)
        noise = medians.median(np.abs(np.diff(ratio, axis=1)), axis=1)
        noise = noise[np.isfinite(noise)]
        if not np.isfinite(highest).any() or not len(noise):
            return 0.0
        excess = float(np.nanmedian(highest)) - 1
        steps = max(ratio.shape[1] / len(blocks), 1.0)
        return excess if excess >= 4 * medians.middle(noise) / np.sqrt(steps) else 0.0

    def _finding(
        self,
        window: JobWindow,
        steps: StepValues,
        count: int,
        own: Floats,
        excess: float,
        group: CommunicationGroup,
        rows: Ints,
    ) -> Finding:
        seconds = medians.median(own[rows, -count:], axis=1)
        slowest = int(rows[int(np.nanargmax(seconds))])
        long = seconds >= medians.known(seconds) * (1 + excess / 2)
        odd = {slowest, *rows[long].tolist()}
        return report(
            window,
            self.name,
            "group.expert_imbalance",
            group.entity,
            onset=_began(steps, own[rows], count),
            magnitude=1 + excess,
            score=excess / self.least,
            signal=compute_time.COMPUTE,
            observed=1 + excess,
            expected=1.0,
            ranks=[int(window.ranks[row]) for row in sorted(odd)],
            text=f"in expert group {group.name} the slowest member works {excess:.0%} longer than "
            f"the median, now rank {int(window.ranks[slowest])}",
        )


def _groups(window: JobWindow) -> list[CommunicationGroup]:
    """Return the expert groups that are reported, else those by the coordinates of ranks.

    Of ranks that share tensor and pipeline coordinates, the first of each expert coordinate are a
    group, the second of each the next one, and so on, by their data coordinates.
    """
    placed = window.topology
    reported = [group for group in placed.groups if group.kind == "ep"]
    if reported or max(placed.ep, default=-1) < 1 or min(placed.ep) < 0:
        return reported
    seen: Counter[tuple[int, int, int]] = Counter()
    members: dict[tuple[int, int, int], list[int]] = {}
    columns = zip(placed.pp, placed.tp, placed.dp, placed.ep, placed.ranks, strict=True)
    for pp, tp, _, ep, rank in sorted(columns):
        members.setdefault((pp, tp, seen[pp, tp, ep]), []).append(rank)
        seen[pp, tp, ep] += 1
    return [
        CommunicationGroup(f"ep:{number}", "ep", RankSet(ranks))
        for number, ranks in enumerate(members.values())
    ]


def _began(steps: StepValues, own: Floats, count: int) -> tuple[float, float]:
    """Return when the slowest member of a group left the level of the first steps."""
    ends = compute_time.step_ends(steps)
    highest = medians.highest(_ratio(own), axis=0)
    known = np.flatnonzero(np.isfinite(highest) & np.isfinite(ends))[parts.WARM_UP :]
    highest, ends = highest[known], ends[known]
    before = medians.middle(highest[:_FEWEST]) - 1
    now = medians.middle(highest[-count:]) - 1
    if not now > 1.5 * before:
        return float(ends[0]), float(ends[0])
    effect = (now - before) / 2
    first = onsets.change_point(highest - 1, before + effect, effect)
    return float(ends[max(first - 1, 0)]), float(ends[first])


def _ratio(own: Floats) -> Floats:
    """Return [members, steps], compute time over the median of the group."""
    middle = medians.median(own, axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(middle > 0, own / middle, np.nan)


def _same_position(profiles: Sequence[Floats], least: float) -> bool:
    """Tell whether the same position is slowest in most groups of the same size."""
    if len(profiles) < 2:
        return False
    slowest = [
        (len(profile), int(profile.argmax())) for profile in profiles if profile.max() >= 1 + least
    ]
    if len(slowest) < 2:
        return False
    usual = max(slowest.count(position) for position in set(slowest))
    return usual >= max(2, 0.6 * len(profiles))


def _changes(own: Floats, least: float) -> bool:
    """Tell whether several members are the slowest for a while each."""
    ratio = _ratio(own)
    blocks = np.array_split(ratio, min(_BLOCKS, ratio.shape[1]), axis=1)
    means = np.stack([medians.median(block, axis=1) for block in blocks], axis=1)
    means = np.where(np.isfinite(means), means, -np.inf)
    high = means.max(axis=0) >= 1 + 0.7 * least
    slowest = means.argmax(axis=0)[high]
    return bool(high.mean() >= 0.6 and len(np.unique(slowest)) >= 2)


def _gave_their_tokens(own: Floats, count: int, excess: float) -> bool:
    """Tell whether members have become faster than in the early steps while one became slower.

    What one has more of the others have less of, each by its share: they fall alike, and by more
    than their own differences leave to chance.
    """
    count = min(count, (own.shape[1] - parts.WARM_UP) // 2)  # of a young job, its halves
    early = own[:, parts.WARM_UP : -count][:, : parts.HABIT]
    now, before = medians.median(own[:, -count:], axis=1), medians.median(early, axis=1)
    if not np.isfinite(now).any():
        return False
    with np.errstate(invalid="ignore", divide="ignore"):
        change = now / before
    slowest = int(np.nanargmax(now))
    others = np.delete(change, slowest)
    others = others[np.isfinite(others)]
    if not len(others):
        return False
    fell = 1 - medians.middle(others)
    if fell < max(0.3 * excess / max(len(own) - 1, 1), 0.02):
        return False
    if len(others) < _FEWEST_OTHERS:
        return True
    error = float(np.std(others, ddof=1)) / np.sqrt(len(others))
    sigmas = _STUDENT[min(len(others) - _FEWEST_OTHERS, len(_STUDENT) - 1)]
    return bool(fell >= sigmas * error and change[slowest] >= 1 + excess / 4)
