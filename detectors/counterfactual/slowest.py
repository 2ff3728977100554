"""What a job would gain without its slowest ranks or hosts, trouble or none.

The slowest are those whose own work takes longest beyond that of the peers of their role, step by
step: where two are slow, neither holds the job up by itself. Steps without them are replayed as
those without a cause are, with their work replaced by that of peers.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ...vocabulary.counterfactuals import StepTimeWithout
from .. import compute_time, medians
from ..arrays import Floats, Ints
from ..window import JobWindow
from .graph import graph_of, join
from .replay import JobSteps
from .spans import spans_of
from .work import work_of

COUNTS = (1, 2, 5)
"""So many of the slowest are taken away together."""

Place = Literal["rank", "host"]


@dataclass(frozen=True, slots=True)
class SlowPlace:
    """A rank (its row) or a host (its index), and the steps with that one alone replaced.

    seconds: by how much its work is longer than that of its peers, mean over steps. without: None
    where nobody is comparable to it.
    """

    number: int
    seconds: float
    without: StepTimeWithout | None


@dataclass(frozen=True, slots=True)
class StepsWithoutSlowest:
    """The newest steps of a job, and what they would take without the slowest places together.

    places: the slowest first. removed: by count; a count for which nobody would be left to compare
    with is missing.
    """

    step_seconds: float
    steps: int
    places: tuple[SlowPlace, ...]
    removed: dict[int, StepTimeWithout]


def without_slowest(window: JobWindow, place: Place) -> StepsWithoutSlowest | None:
    """Return the newest steps of a job without its slowest ranks, or hosts.

    None where too few steps are known, or where nobody reports what ranks do in a step: of a
    synchronous job the step times alone accuse nobody.
    """
    spans = spans_of(window, -np.inf)
    work = None if spans is None else work_of(window, spans.now)
    if spans is None or work is None or not np.isfinite(work.busy).any():
        return None
    steps = JobSteps(window, spans, work, graph_of(window), of_roles=True)
    step = float(np.nanmean(steps.duration))
    place_of = window.host_of if place == "host" else np.arange(len(work.busy))
    seconds = _behind(window, work.ready + steps.peers.freed, place_of)
    order = np.argsort(-seconds, kind="stable")[: max(COUNTS)]
    slowest = order[seconds[order] > 0].tolist()
    removing = _RemovedPlaces(steps, place_of, slowest)
    alone = [removing.without([number]) for number in slowest]
    removed = {
        count: alone[0] if count == 1 else removing.without(slowest[:count])
        for count in COUNTS
        if count <= len(slowest)
    }
    return StepsWithoutSlowest(
        step_seconds=step,
        steps=int(np.isfinite(steps.duration).sum()),
        places=tuple(
            SlowPlace(number, float(seconds[number]), found)
            for number, found in zip(slowest, alone, strict=True)
        ),
        removed={count: found for count, found in removed.items() if found is not None},
    )


class _RemovedPlaces:
    """Takes some of the slowest places away; the work of all others is added up only once."""

    def __init__(self, steps: JobSteps, place_of: Ints, slowest: Sequence[int]) -> None:
        self._steps, self._place_of = steps, place_of
        self._rows = np.flatnonzero(np.isin(place_of, slowest))
        self._others = steps.work_of_others(self._rows)

    def without(self, places: Sequence[int]) -> StepTimeWithout | None:
        """Return the steps without some of them, None where nobody is comparable."""
        removed = np.isin(self._place_of[self._rows], places)
        others = join(self._others, self._steps.work_of_rows(self._rows[~removed]))
        found = self._steps.with_peers(self._rows[removed], others=others)
        if found is None or not found.known:
            return None
        return found.no_longer_than(float(np.nanmean(self._steps.duration)))


def _behind(window: JobWindow, own: Floats, place_of: Ints) -> Floats:
    """Return [places], by how much the slowest rank of each is behind its role, mean of steps (s).

    own: [ranks, steps], the work of ranks (s). Being ahead in other steps gives nothing back.
    """
    most = np.zeros((int(place_of.max(initial=-1)) + 1, own.shape[1]))
    for role in compute_time.roles(window.role_of):
        rows = np.flatnonzero((window.role_of == role) & (place_of >= 0))
        behind = np.nan_to_num(own[rows] - medians.median(own[rows], axis=0))
        np.maximum.at(most, place_of[rows], behind)
    seconds: Floats = most.mean(axis=1)
    return seconds
