"""What an incident costs: GPU-seconds, integrated over the intervals in which they are lost."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from ..vocabulary import findings as kinds
from ..vocabulary.findings import Finding

AGAIN_SECONDS = 10.0
"""A job that ended steps so long after a stop has gone on: the stop is history."""

HISTORY_SECONDS = 900.0
"""How far back a symptom that is found late can still be charged."""


@dataclass(slots=True)
class Loss:
    """Seconds lost by each rank of one job, up to `until`.

    `intervals` are the last charged ones: [begin, end, share of the time that was lost in it]. The
    share is 1 while no step ends or steps are worth nothing, 1 - 1/slowdown while steps are long. A
    symptom that is found only some seconds after its onset is charged from its onset.
    """

    seconds: float = 0.0
    until: float | None = None
    intervals: list[tuple[float, float, float]] = field(default_factory=list)

    def charge(self, share: float, onset: float, end: float) -> None:
        """Charge a share of the time from `until` to `end`, and since `onset` at least as much."""
        if self.until is None:
            self.until = onset
        if onset < self.until:
            self._raise(share, onset)
        if end > self.until:
            self.seconds += (end - self.until) * share
            last = self.intervals[-1] if self.intervals else None
            if last is not None and last[1] == self.until and last[2] == share:
                self.intervals[-1] = (last[0], end, share)
            else:
                self.intervals.append((self.until, end, share))
            self.until = end
        while self.intervals and self.intervals[0][1] < self.until - HISTORY_SECONDS:
            del self.intervals[0]

    def pause(self, now: float) -> None:
        """Charge nothing up to `now`."""
        if self.until is not None and now > self.until:
            self.until = now

    def _raise(self, share: float, onset: float) -> None:
        """Charge what was charged less since `onset` at `share`."""
        raised: list[tuple[float, float, float]] = []
        for begin, end, held in self.intervals:
            if end <= onset or held >= share:
                raised.append((begin, end, held))
                continue
            middle = max(begin, onset)
            self.seconds += (end - middle) * (share - held)
            raised += [(begin, middle, held)] if middle > begin else []
            raised.append((middle, end, share))
        self.intervals = raised


def lost_share(symptoms: Sequence[Finding], last_step_at: float) -> tuple[float, float]:
    """Return the share of time lost under the symptoms, and the onset of the costliest one."""
    costs = [(_share(symptom, last_step_at), -symptom.onset[0]) for symptom in symptoms]
    share, onset = max(costs)
    return share, -onset


def stopped(symptom: Finding, last_step_at: float) -> bool:
    """Return whether a symptom stops its job: steps that end long after it say that it does not."""
    stops = kinds.catalogue()[symptom.kind].effect == "stops"
    return stops and last_step_at <= symptom.onset[1] + AGAIN_SECONDS


def _share(symptom: Finding, last_step_at: float) -> float:
    effect = kinds.catalogue()[symptom.kind].effect
    if effect == "corrupts" or stopped(symptom, last_step_at):
        return 1.0
    return 1 - 1 / max(symptom.magnitude, 1.0) if effect == "slows" else 0.0
