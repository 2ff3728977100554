"""What of the things that are found becomes an incident, and what is an observation.

An incident accuses: it names an entity, has an id and is counted. What has no effect on a job, no
horizon, and asks nobody for an action is kept as an observation (observations.py).
"""

from collections.abc import Sequence
from dataclasses import dataclass

from ..vocabulary import faults
from ..vocabulary import findings as kinds
from ..vocabulary.faults import Severity
from ..vocabulary.findings import Finding
from ..vocabulary.incidents import RootCause
from .severity import is_of_the_exchange, waits_for_its_cost

UNNAMED_GPU_HOURS, UNNAMED_MINUTES = 1.0, 5.0
"""What slowness without a named cause, or a slight one, has cost when a person is asked to look at
it: GPU-hours of all its ranks, or minutes of the job's own time."""

LEAST_SECONDS = 60.0
"""Of the job's own time that slowness must have taken in any case: of many GPUs an hour is lost in
moments, and a stretch that is over by the time that somebody looks is worth nobody's."""


@dataclass(frozen=True, slots=True)
class IncidentPolicy:
    """What a site asks its people about.

    unnamed_gpu_hours: GPU-hours that slowness without a named cause, or a slight one that all
    share, must have cost.
    unnamed_minutes: the same in minutes of the job's own time, for jobs of few GPUs: whichever
    comes first. observes: False makes an incident of everything, as a post-mortem does, which is
    asked for an answer.
    """

    unnamed_gpu_hours: float = UNNAMED_GPU_HOURS
    unnamed_minutes: float = UNNAMED_MINUTES
    observes: bool = True

    def is_incident(
        self,
        severity: Severity,
        cause: RootCause,
        symptoms: Sequence[Finding],
        *,
        costly: bool = True,
    ) -> bool:
        """Return whether symptoms of one root make an incident; `costly`: see `is_costly`.

        Above info they do. At info where that is what the fault is by its nature (a clock that
        moved: the catalogue says that somebody wants to know), where a symptom asks for an action
        of its own, or where steps are long for a reason that is named. What else is info lacks its
        effect, or the proof of it; so does what is only claimed, and what its kind says asks for
        nothing (a clock that has always been off).
        """
        if severity != "info" or not self.observes:
            return True
        if not costly and waits_for_its_cost(symptoms, cause):
            return False
        first = faults.catalogue()[cause.hypotheses[0].fault]
        symptoms = [symptom for symptom in symptoms if not symptom.claimed]
        asks = any(_asks(symptom) for symptom in symptoms)
        by_nature = first.severity == "info" and not all(map(_asks_nothing, symptoms))
        return by_nature or asks or _slows_for_a_reason(cause, symptoms)

    def is_costly(
        self, gpu_seconds: float, gpus: int, symptoms: Sequence[Finding], cause: RootCause
    ) -> bool:
        """Return whether so much lost time is worth a person's though no cause is named.

        The least is enough where what is slow lies outside of the job, between its devices.
        """
        own_seconds = gpu_seconds / max(gpus, 1)
        most = 60.0 * self.unnamed_minutes
        if own_seconds < min(LEAST_SECONDS, most):
            return False
        if own_seconds >= most or gpu_seconds >= 3600.0 * self.unnamed_gpu_hours:
            return True
        return is_of_the_exchange(symptoms, cause)


POST_MORTEM = IncidentPolicy(unnamed_minutes=LEAST_SECONDS / 60, observes=False)
"""Of a job that is dead everything that was found is an answer; healthy ones have slow moments too,
and what cost less than a minute is for information."""


def _asks(symptom: Finding) -> bool:
    asks_from = kinds.catalogue()[symptom.kind].asks_from
    return asks_from is not None and symptom.score >= asks_from


def _asks_nothing(symptom: Finding) -> bool:
    asks_from = kinds.catalogue()[symptom.kind].asks_from
    return asks_from is not None and symptom.score < asks_from


def _slows_for_a_reason(cause: RootCause, symptoms: Sequence[Finding]) -> bool:
    """Return whether steps are long, and what is named for it is more than one of many guesses.

    Slowness that its detector scores below 1 costs little: its cause needs confidence.
    """
    first = cause.hypotheses[0]
    if first.fault == faults.UNKNOWN:
        return False
    slow = [s.score for s in symptoms if kinds.catalogue()[s.kind].slowdown]
    return bool(slow) and (max(slow) >= 1 or first.confidence != "low")
