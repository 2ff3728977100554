"""GPU time that one job loses, divided among its incidents: no instant is lost twice.

At each instant a job can lose at most the GPUs that it holds. What its incidents claim of an
instant is granted once, up to the highest claim: those that stop the job first, then those that
make its steps worthless, then those that make them long. Of what several of one kind claim each
gets the same; what only one claims is its own. What was granted stays: a claim that is made later
about the same time gets what goes beyond it. So sums never fall, and the order within a second
does not matter.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Generic, TypeVar

from ..vocabulary.ids import IncidentId, Job

if TYPE_CHECKING:
    from .lifecycle import TrackedIncident

K = TypeVar("K")

RECENT_SECONDS = 900.0
"""Of the last quarter of an hour each change of the share is kept."""

MOST_OLDER = 128
"""Intervals kept of the time before; more are joined, two by two."""

MOST_JOBS = 2_000
"""Jobs whose losses are kept: those that lost something last."""


@dataclass(frozen=True, slots=True)
class LossClaim(Generic[K]):
    """A share (0-1) of the time from `begin` to `end` that `claimant` claims.

    `tier` counts from 0: what a lower one claims is granted first.
    """

    claimant: K
    tier: int
    share: float
    begin: float
    end: float


@dataclass(frozen=True, slots=True)
class LossGrant(Generic[K]):
    """GPU-seconds between two times that are counted as lost to `claimant`."""

    claimant: K
    begin: float
    end: float
    gpu_seconds: float


@dataclass(frozen=True, slots=True)
class _LossInterval:
    begin: float
    end: float
    share: float
    gpus: float


@dataclass(slots=True)
class JobLosses:
    """What is lost of one job so far: intervals in order, without overlap; 0 between them."""

    intervals: list[_LossInterval] = field(default_factory=list)

    @property
    def until(self) -> float | None:
        """Return the end of the newest time of which anything was granted; None: nothing was."""
        return self.intervals[-1].end if self.intervals else None

    def grant(self, claims: Iterable[LossClaim[K]], gpus: int) -> list[LossGrant[K]]:
        """Grant what the claims of one second get; `gpus`: those that the job holds now."""
        wanted = sorted(
            (claim for claim in claims if claim.share > 0 and claim.end > claim.begin),
            key=lambda claim: claim.begin,
        )
        if not wanted:
            return []
        start = bisect_right(self.intervals, wanted[0].begin, key=lambda row: row.end)
        held = self.intervals[start:]
        del self.intervals[start:]
        granted: list[LossGrant[K]] = []
        for begin, end, before, active in _cells(held, wanted):
            share, size = (0.0, float(gpus)) if before is None else (before.share, before.gpus)
            for claimant, part in divided(active, share):
                granted.append(LossGrant(claimant, begin, end, part * (end - begin) * size))
            share = max(share, *(claim.share for claim in active)) if active else share
            self._append(_LossInterval(begin, end, share, size))
        self._join_older()
        return granted

    def _append(self, interval: _LossInterval) -> None:
        last = self.intervals[-1] if self.intervals else None
        alike = last is not None and (last.end, last.share, last.gpus) == (
            interval.begin,
            interval.share,
            interval.gpus,
        )
        if last is not None and alike:
            self.intervals[-1] = _LossInterval(last.begin, interval.end, last.share, last.gpus)
        elif interval.share > 0:
            self.intervals.append(interval)

    def _join_older(self) -> None:
        """Join intervals of long ago: their mean grants a late claim no more than they would."""
        recent = self.intervals[-1].end - RECENT_SECONDS
        older = bisect_right(self.intervals, recent, key=lambda row: row.end)
        if older <= MOST_OLDER:
            return
        pairs = older // 2 * 2
        joined = [
            _joined(self.intervals[number], self.intervals[number + 1])
            for number in range(0, pairs, 2)
        ]
        self.intervals[:pairs] = joined


class LossAccount:
    """The losses of every job that has had incidents; of long ago, those of the last jobs.

    `now` has the GPUs that the incidents of a job lose at this moment, by incident, with the fault
    of its first cause; those that lose none are left out.
    """

    def __init__(self) -> None:
        self.now: dict[Job, dict[IncidentId, tuple[str, float]]] = {}
        self._jobs: dict[Job, JobLosses] = {}

    def settle(self, job: Job, incidents: Iterable["TrackedIncident"], gpus: int) -> None:
        """Divide what the incidents of a job claim of this second, and what they lose now."""
        rows = {
            row.id: row
            for row in incidents
            if job in row.parts and (row.open or row.parts[job].claimed)
        }
        parts = {name: row.parts[job] for name, row in rows.items()}
        costs = {name: part.cost for name, part in parts.items() if part.cost is not None}
        claims = [
            LossClaim(name, cost.tier, cost.share, begin, end)
            for name, cost in costs.items()
            for begin, end in parts[name].claimed
        ]
        if claims:
            losses = self._jobs[job] = self._jobs.pop(job, JobLosses())
            for grant in losses.grant(claims, gpus):
                parts[grant.claimant].take(grant.begin, grant.end, grant.gpu_seconds)
            while len(self._jobs) > MOST_JOBS:
                del self._jobs[next(iter(self._jobs))]
        for part in parts.values():
            part.claimed = ()
        now = divided(
            [LossClaim(name, row.tier, row.share, 0.0, 1.0) for name, row in costs.items()]
        )
        self.now.pop(job, None)
        if now:
            shown = [(name, share) for name, share in now if rows[name].announced]
            self.now[job] = {name: (rows[name].root[0], share * gpus) for name, share in shown}

    def until(self, job: Job) -> float | None:
        """Return the end of the newest time of a job that counts as lost; None: nothing does."""
        losses = self._jobs.get(job)
        return None if losses is None else losses.until


def divided(claims: Sequence[LossClaim[K]], held: float = 0.0) -> list[tuple[K, float]]:
    """Return what each claimant gets of an instant of which the share `held` is granted already."""
    level, granted = held, []
    for tier in sorted({claim.tier for claim in claims}):
        rows = sorted((c for c in claims if c.tier == tier), key=lambda claim: claim.share)
        each = 0.0
        for number, claim in enumerate(rows):
            if claim.share > level:
                each += (claim.share - level) / (len(rows) - number)
                level = claim.share
            if each > 0:
                granted.append((claim.claimant, each))
    return granted


def _cells(
    held: Sequence[_LossInterval], claims: Sequence[LossClaim[K]]
) -> Iterator[tuple[float, float, _LossInterval | None, list[LossClaim[K]]]]:
    """Yield (begin, end, what was held, the claims) of each stretch in which nothing changes."""
    cuts = {time for row in held for time in (row.begin, row.end)}
    cuts |= {time for row in claims for time in (row.begin, row.end)}
    rows, waiting = list(reversed(held)), list(reversed(claims))
    active: list[LossClaim[K]] = []
    for begin, end in pairwise(sorted(cuts)):
        while waiting and waiting[-1].begin <= begin:
            active.append(waiting.pop())
        active = [claim for claim in active if claim.end > begin]
        while rows and rows[-1].end <= begin:
            rows.pop()
        before = rows[-1] if rows and rows[-1].begin <= begin else None
        yield begin, end, before, active


def _joined(one: _LossInterval, other: _LossInterval) -> _LossInterval:
    rows = (one, other)
    seconds = sum(row.end - row.begin for row in rows)
    gpus = sum((row.end - row.begin) * row.gpus for row in rows) / seconds
    lost = sum((row.end - row.begin) * row.share * row.gpus for row in rows)
    return _LossInterval(one.begin, other.end, lost / ((other.end - one.begin) * gpus), gpus)
