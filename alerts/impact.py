"""What an incident costs: GPU-seconds, integrated over the intervals in which they are lost."""

from collections.abc import Sequence
from dataclasses import dataclass

from ..vocabulary import findings as kinds
from ..vocabulary.findings import Finding


@dataclass(slots=True)
class Loss:
    """Seconds lost by each rank of one job, up to `until`.

    `share` is the part of the time that was lost in the last interval: 1 while no step ends or
    steps are worth nothing, 1 - 1/slowdown while steps are long. A symptom that is found only some
    seconds after its onset is charged from its onset.
    """

    seconds: float = 0.0
    until: float | None = None
    share: float = 0.0
    since: float = 0.0

    def charge(self, share: float, onset: float, end: float) -> None:
        """Charge a share of the time up to `end`, at `share` since `onset`."""
        if self.until is None:
            self.until = self.since = onset
        begun = max(onset, self.since)
        if share > self.share and begun < self.until:
            self.seconds += (self.until - begun) * (share - self.share)
        self.seconds += max(end - self.until, 0.0) * share
        if share != self.share:
            self.share, self.since = share, min(begun, self.until)
        self.until = max(self.until, end)

    def pause(self, now: float) -> None:
        """Charge nothing up to `now`."""
        if self.until is not None and now > self.until:
            self.until = self.since = now
            self.share = 0.0


def stops(symptoms: Sequence[Finding]) -> bool:
    """Return whether no step ends under these symptoms."""
    return any(kinds.catalogue()[symptom.kind].effect == "stops" for symptom in symptoms)


def lost_share(symptoms: Sequence[Finding]) -> tuple[float, float]:
    """Return the share of time lost under the symptoms, and the onset of the costliest one."""
    costs = [(_share(symptom), -symptom.onset[0]) for symptom in symptoms]
    share, onset = max(costs)
    return share, -onset


def _share(symptom: Finding) -> float:
    effect = kinds.catalogue()[symptom.kind].effect
    if effect in ("stops", "corrupts"):
        return 1.0
    return 1 - 1 / max(symptom.magnitude, 1.0) if effect == "slows" else 0.0
