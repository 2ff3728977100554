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

UNNAMED_GPU_HOURS = 1.0
"""What slowness without a named cause has cost when a person is asked to look at it."""


@dataclass(frozen=True, slots=True)
class IncidentPolicy:
    """What a site asks its people about.

    unnamed_gpu_hours: GPU-hours that slowness without a named cause must have cost. observes:
    False makes an incident of everything, as a post-mortem does, which is asked for an answer.
    """

    unnamed_gpu_hours: float = UNNAMED_GPU_HOURS
    observes: bool = True

    def is_incident(
        self, severity: Severity, cause: RootCause, symptoms: Sequence[Finding]
    ) -> bool:
        """Return whether symptoms of one root make an incident.

        Above info they do. At info where that is what the fault is by its nature (a clock that is
        off: the catalogue says that somebody wants to know), or where a symptom asks for an action
        of its own. What else is info lacks its effect, or the proof of it.
        """
        if severity != "info" or not self.observes:
            return True
        first = faults.catalogue()[cause.hypotheses[0].fault]
        return first.severity == "info" or any(_asks(symptom) for symptom in symptoms)

    def is_costly(self, gpu_seconds: float) -> bool:
        """Return whether so much lost time is worth a person's without a named cause."""
        return gpu_seconds >= 3600.0 * self.unnamed_gpu_hours


POST_MORTEM = IncidentPolicy(unnamed_gpu_hours=0.0, observes=False)
"""Of a job that is dead everything that was found is an answer."""


def _asks(symptom: Finding) -> bool:
    asks_from = kinds.catalogue()[symptom.kind].asks_from
    return asks_from is not None and symptom.score >= asks_from
