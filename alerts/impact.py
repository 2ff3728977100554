"""What an incident claims of a job's time: a share of it, since when, and of which kind."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from ..vocabulary import findings as kinds
from ..vocabulary.findings import Finding

AGAIN_SECONDS = 10.0
"""A job that ended steps so long after a stop has gone on: the stop is history."""

HISTORY_SECONDS = 900.0
"""How far back a symptom that is found late can still raise a claim."""


@dataclass(frozen=True, slots=True)
class SymptomCost:
    """What symptoms cost their job at one moment.

    The share is 1 while no step ends or steps are worth nothing, 1 - 1/slowdown while they are
    long. `tier` is the place of the effect in `EFFECTS`, `onset` that of the costliest symptom.
    """

    share: float
    tier: int
    onset: float


@dataclass(slots=True)
class TimeClaims:
    """What one incident has claimed of one job's time, up to `until`.

    `intervals` are the last ones: [begin, end, share of the time that was claimed]. A symptom that
    is found only some seconds after its onset claims from its onset.
    """

    until: float | None = None
    intervals: list[tuple[float, float, float]] = field(default_factory=list)

    def claim(self, share: float, onset: float, end: float) -> list[tuple[float, float]]:
        """Claim a share of the time up to `end`, and since `onset` at least as much.

        Returns the time ranges of which so much was not claimed before.
        """
        if self.until is None:
            self.until = onset
        new = self._raised(share, onset) if onset < self.until else []
        if end > self.until:
            new.append((self.until, end))
            self._append((self.until, end, share))
            self.until = end
        while self.intervals and self.intervals[0][1] < self.until - HISTORY_SECONDS:
            del self.intervals[0]
        return new

    def pause(self, now: float) -> None:
        """Claim nothing up to `now`."""
        if self.until is not None and now > self.until:
            self.until = now

    def _raised(self, share: float, onset: float) -> list[tuple[float, float]]:
        """Claim `share` where less was claimed since `onset`; return those time ranges."""
        before, self.intervals = self.intervals, []
        new: list[tuple[float, float]] = []
        for begin, end, held in before:
            if end <= onset or held >= share:
                self._append((begin, end, held))
                continue
            middle = max(begin, onset)
            if middle > begin:
                self._append((begin, middle, held))
            self._append((middle, end, share))
            new.append((middle, end))
        return new

    def _append(self, interval: tuple[float, float, float]) -> None:
        last = self.intervals[-1] if self.intervals else None
        if last is not None and (last[1], last[2]) == (interval[0], interval[2]):
            self.intervals[-1] = (last[0], interval[1], last[2])
        else:
            self.intervals.append(interval)


def cost(symptoms: Sequence[Finding], last_step_at: float) -> SymptomCost:
    """Return what the costliest of some symptoms costs."""
    costs = [_cost(symptom, last_step_at) for symptom in symptoms]
    most = max(costs, key=lambda row: (row.share, -row.onset))
    return SymptomCost(most.share, min(r.tier for r in costs if r.share == most.share), most.onset)


def stopped(symptom: Finding, last_step_at: float) -> bool:
    """Return whether a symptom stops its job: steps that end long after it say that it does not."""
    stops = kinds.catalogue()[symptom.kind].effect == "stops"
    return stops and last_step_at <= symptom.onset[1] + AGAIN_SECONDS


def _cost(symptom: Finding, last_step_at: float) -> SymptomCost:
    kind = kinds.catalogue()[symptom.kind]
    tier = kinds.EFFECTS.index(kind.effect)
    share = 0.0
    if kind.effect == "corrupts" or stopped(symptom, last_step_at):
        share = 1.0
    elif kind.slowdown and (symptom.entity.type != "gpu" or last_step_at == float("-inf")):
        # By how much a device is behind its peers is a guess: steps, where there are any, show it.
        share = 1 - 1 / max(symptom.magnitude, 1.0)
    return SymptomCost(share, tier, symptom.onset[0])
