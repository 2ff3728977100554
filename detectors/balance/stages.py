"""Pipeline stages that carry more work than the others, from the first step."""

from collections.abc import Sequence

import numpy as np

from ...vocabulary.entities import Entity
from ...vocabulary.findings import Finding
from ...vocabulary.ranks import RankSet
from .. import compute_time, durations, medians, onsets, parts
from ..contract import Detector
from ..findings import report
from ..hardware.clocks import LowClockDetector
from ..hardware.throttling import ThrottlingDetector
from ..window import Floats, Ints, JobWindow

SAMPLE = 128
"""Ranks of a stage that are looked at; their median says as much as that of all."""

EARLY, FEWEST, EARLY_SECONDS = 40, 6, 60.0
"""Steps after the warm-up that say how it was from the first step; fewer where they are long."""

HELD_DOWN = "; clocks of its devices are held down since then"
"""What says that it is not the partition: a stage in one rack is as slow as that is hot."""

MOST, TOGETHER_SECONDS = 0.75, 90.0
"""Share of a stage's devices, and how close to its beginning their clocks must have sunk: heat
builds up, and a stage is slow from the next step on."""

_CLOCKS: tuple[Detector, ...] = (ThrottlingDetector(), LowClockDetector())


class StagesDetector(Detector):
    """Name the pipeline stage that all others wait for because it was given more work.

    Compute time of each stage (median over its ranks, by tokens) over the median of the other
    stages. It is the partition, and not a bad node, when most ranks of the stage are slow alike,
    when it was so in the first steps already or came to all ranks of the stage on two hosts or more
    at one time (layers that are frozen or grow as training goes on), and when the stage's ranks
    wait least inside collectives, where waits are reported. Where the clocks of its devices sank at
    that time, and those of other stages did not, the finding says so: then it is these that are
    slow. The job loses what the slowest stage has beyond the mean of all.

    Parameters
    ----------
    least : excess over the other stages that is reported, as info below `severe`: head and loss of
        a last stage with few layers are often a tenth, and moving a layer would win half of it.
    severe : excess from which on it is a warning; below it is info.

    Examples
    --------
    The ranks of the last of four stages work 1.2 s, the others 0.8 s.

    >>> from rankscope.detectors.sketch import sketch
    >>> from rankscope.vocabulary.topology import RankPlacement, JobTopology
    >>> own = np.full((8, 80), 0.8)
    >>> own[6:] = 1.2
    >>> where = [RankPlacement(rank, f"host-{rank // 4}", pp=rank // 2) for rank in range(8)]
    >>> placed = JobTopology("example", world_size=8, placements=where)
    >>> window = sketch(own, placed=placed, role_of=np.arange(8) // 2)
    >>> for finding in StagesDetector().evaluate(window):
    ...     print(finding.kind, finding.entity, f"{finding.magnitude:.2f}")
    group.stage_slow group pp stage 3 1.33

    Fails where nobody reports pipeline coordinates or compute time, and in the first 40 steps (six,
    where they take long).

    References: What-if analysis of stragglers (OSDI'25): last stage in 39.3 % of slow jobs.
    """

    name = "stages"
    kinds = ("group.stage_slow",)
    cadence_seconds = 5.0

    def __init__(self, *, least: float = 0.08, severe: float = 0.25) -> None:
        self.least = least
        self.severe = severe

    def evaluate(self, window: JobWindow) -> Sequence[Finding]:
        """Return one finding on the slowest stage, or none."""
        steps = parts.steps_to_compare(window)
        stage_of = stages_of(window)
        if steps is None or stage_of is None:
            return []
        needed = _early(parts.step_seconds(steps))
        if len(steps.index) < parts.WARM_UP + needed:
            return []
        own = window.features.own
        if own is None:
            return []
        chosen, everywhere = _sample(window, stage_of), stage_of
        stage_of, own, tokens = (
            stage_of[chosen],
            own[chosen],
            steps.plane(compute_time.TOKENS)[chosen],
        )
        fit = compute_time.token_fit(own, tokens) if steps.has(compute_time.TOKENS) else None
        own = own if fit is None else fit.freed(own, tokens)
        early = own[:, parts.WARM_UP : parts.WARM_UP + needed]
        recent = own[:, -max(parts.newest(window, steps), needed) :]
        names = np.unique(stage_of[stage_of >= 0])
        now, before = medians.median(recent, axis=1), medians.median(early, axis=1)
        seconds = np.array([_middle(now[stage_of == stage]) for stage in names])
        if not np.isfinite(seconds).all() or seconds.min() <= 0:
            return []
        slowest = int(np.argmax(seconds))
        others = medians.middle(np.delete(seconds, slowest))
        excess = float(seconds[slowest]) / others - 1
        then = np.array([_middle(before[stage_of == stage]) for stage in names])
        started = float(then[slowest]) / medians.middle(np.delete(then, slowest)) - 1
        rows = np.flatnonzero(stage_of == names[slowest])
        mine = now[rows][np.isfinite(now[rows])]
        alike = float(np.quantile(mine, 0.25)) / others - 1 >= 0.6 * excess
        always = started >= 0.6 * excess
        if not (excess >= self.least and alike and (always or _by_hosts(window, chosen[rows]))):
            return []
        if not _waits_least(
            steps.plane(compute_time.COMM)[chosen, -recent.shape[1] :], stage_of, rows
        ):
            return []
        ends = compute_time.step_ends(steps)
        first = 0 if always else _began(own, rows, 1 + (started + excess) / 2)
        held = not always and _held_down(window, stage_of, rows, chosen, float(ends[first]))
        since = "the first step" if always else f"step {int(steps.index[first])}"
        rows = np.flatnonzero(everywhere == names[slowest])
        magnitude = float(seconds[slowest] / seconds.mean())
        return [
            report(
                window,
                self.name,
                "group.stage_slow",
                _entity(window, rows, int(names[slowest])),
                onset=(float(ends[max(first - 1, 0)]), float(ends[first])),
                magnitude=magnitude,
                score=excess / self.least if excess >= self.severe else 0.5,
                signal=compute_time.COMPUTE,
                observed=float(seconds[slowest]),
                expected=others,
                text=f"pipeline stage {int(names[slowest])} works "
                f"{durations.seconds(seconds[slowest])} in a "
                f"step, the other stages {durations.seconds(others)}, since {since}"
                f"{HELD_DOWN if held else ''}",
                ranks=window.ranks[rows].tolist(),
            )
        ]


def stages_of(window: JobWindow) -> Ints | None:
    """Return [ranks] the pipeline stage, -1 where unknown; None where there are no two stages."""
    stages = np.array(window.topology.pp, np.int64)
    if len(stages) != len(window.ranks):
        return None
    known = stages[stages >= 0]
    return stages if len(known) and known.min() != known.max() else None


def _early(step: float) -> int:
    """Return how many steps after the warm-up say how it was, by the usual step (s)."""
    return int(min(max(EARLY_SECONDS / step, FEWEST), EARLY)) if step > 0 else EARLY


def _sample(window: JobWindow, stage_of: Ints) -> Ints:
    """Return rows, at most SAMPLE of each stage, evenly chosen by rank."""
    order = np.argsort(window.ranks, kind="stable")
    chosen = []
    for stage in np.unique(stage_of[stage_of >= 0]):
        rows = order[stage_of[order] == stage]
        places = np.linspace(0, len(rows) - 1, min(len(rows), SAMPLE)).astype(np.int64)
        chosen.append(rows[places])
    return np.concatenate(chosen)


def _middle(values: Floats) -> float:
    values = values[np.isfinite(values)]
    return medians.middle(values) if len(values) else np.nan


def _by_hosts(window: JobWindow, rows: Ints) -> bool:
    """Tell whether ranks run on several hosts, so that no single one of these can be the reason."""
    hosts = window.host_of[rows]
    return len(np.unique(hosts[hosts >= 0])) > 1


def _held_down(window: JobWindow, stage_of: Ints, rows: Ints, chosen: Ints, began: float) -> bool:
    """Tell whether clocks are held down since then on most devices of a stage and few others.

    stage_of, rows: of the chosen rows of the window.
    """
    ranks: set[int] = set()
    for detector in _CLOCKS:
        for found in detector.evaluate(window):
            if abs(found.onset[1] - began) <= TOGETHER_SECONDS:
                ranks.update(found.entity.ranks)
    held = np.isin(window.ranks[chosen], np.array(sorted(ranks), np.int64))
    others = np.setdiff1d(np.flatnonzero(stage_of >= 0), rows)
    return bool(held[rows].mean() >= MOST and held[others].mean() <= 1 - MOST)


def _began(own: Floats, rows: Ints, limit: float) -> int:
    """Return the column since which a stage's compute time over the others' is above a limit."""
    others = np.setdiff1d(np.arange(len(own)), rows)
    mine, theirs = medians.median(own[rows], axis=0), medians.median(own[others], axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        valid = np.flatnonzero(np.isfinite(mine / theirs))
        return int(valid[onsets.newest_run((mine / theirs)[valid] > limit)])


def _waits_least(comm: Floats, stage_of: Ints, rows: Ints) -> bool:
    """Tell whether a stage's ranks wait no longer than the others; True if nobody reports it."""
    wait = medians.median(comm, axis=1)
    others = np.setdiff1d(np.flatnonzero(stage_of >= 0), rows)
    mine, theirs = _middle(wait[rows]), _middle(wait[others])
    return not mine > theirs


def _entity(window: JobWindow, rows: Ints, stage: int) -> Entity:
    """Return the communication group that is this stage best, else the stage by its number."""
    ranks = frozenset(window.ranks[rows].tolist())
    best, name, members = 0.0, f"pp stage {stage}", RankSet(ranks)
    for group in sorted(window.topology.groups, key=lambda group: group.name):
        if group.kind in ("pp", "world") or len(group.ranks) > len(ranks):
            continue
        inside = sum(rank in ranks for rank in group.ranks)
        fit = inside / len(ranks) if inside == len(group.ranks) else 0.0
        if fit > best:
            best, name = fit, group.name
    return Entity("group", name, None, members)
