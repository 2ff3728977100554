"""Which open incident an explanation belongs to."""

from collections.abc import Mapping, Sequence

from ..vocabulary import faults
from ..vocabulary import findings as kinds
from ..vocabulary.entities import Entity
from ..vocabulary.ids import Job
from . import first_cause
from .causes.calibration import overlap
from .causes.catalogue import cause_of
from .causes.engine import RootExplanation, ranks_at
from .causes.folding import TOGETHER_SECONDS
from .causes.joint import by_time_alone
from .lifecycle import TrackedIncident
from .news import is_news

SHARED_TYPES = ("host", "switch", "storage", "nic", "gpu")
"""Entities that several jobs stand on: a root on one is one incident for all of them."""


def matched(
    job: Job, attempt: int, incidents: Sequence[TrackedIncident], found: Sequence[RootExplanation]
) -> dict[int, RootExplanation]:
    """Return the explanation of each incident, by the incident's position; each at most once.

    An incident goes with the explanation that names its root, else with one that shares a symptom
    and may be the same trouble under another name.
    """
    pairs: dict[int, RootExplanation] = {}
    left = list(found)
    for number, incident in enumerate(incidents):
        same = [row for row in left if _is_root(incident, row, job)]
        if same and (_named(same[0]) or _attempt(incident, job) == attempt):
            pairs[number] = same[0]
            left.remove(same[0])
    for explanation in list(left):
        for number, incident in enumerate(incidents):
            if number in pairs:
                continue
            here = _attempt(incident, job) == attempt and _may_be(incident, explanation, job)
            if here or is_return(incident, explanation, job):
                pairs[number] = explanation
                left.remove(explanation)
                break
    return pairs


def left_over(
    explanation: RootExplanation,
    incidents: Sequence[TrackedIncident],
    pairs: Mapping[int, RootExplanation],
    job: Job,
) -> bool:
    """Return whether an explanation is what remains of a symptom of an incident that goes on.

    As a trouble ends, some of its evidence goes before the rest: that is no second one.
    """
    return not _named(explanation) and any(
        _shares_symptom(incidents[number], explanation, job) for number in pairs
    )


def includes(explanation: RootExplanation, incident: TrackedIncident, job: Job) -> bool:
    """Return whether what an incident is about lies within another explanation's root.

    Only where that explains a symptom of it: a host's clock that is off explains no slow device.
    """
    if not _shares_symptom(incident, explanation, job):
        return False
    root, held = explanation.cause.hypotheses[0].entity, _entity(incident)
    there = ranks_at(explanation.cause)
    if root.type == "job" or held is None or not held.ranks or held.ranks == there:
        return False
    return len(held.ranks) < len(there) and all(rank in there for rank in held.ranks)


def led_to(explanation: RootExplanation, incidents: Sequence[TrackedIncident]) -> bool:
    """Return whether a trouble has ended, at the same place, in what an open incident is about.

    Memory that grew until a host had none left is found for a while after it had none.
    """
    first = explanation.cause.hypotheses[0]
    cause = cause_of(first.fault)
    return cause is not None and any(
        incident.open
        and incident.announced
        and incident.root[0] in cause.ends_in
        and (held := _entity(incident)) is not None
        and overlap(held, first.entity)
        for incident in incidents
    )


def shows_why(incident: TrackedIncident, explanation: RootExplanation) -> bool:
    """Return whether an explanation names what an incident of no visible cause was about.

    It is about the same device or host, and began before that incident's symptoms were over.
    """
    root, held = explanation.cause.hypotheses[0], _entity(incident)
    if (
        incident.first is None
        or not first_cause.gives_way(incident.root[0])
        or not _named(explanation)
    ):
        return False
    if held is None or "job" in (held.type, root.entity.type) or first_cause.gives_way(root.fault):
        return False
    began = min(symptom.onset[0] for symptom in explanation.symptoms)
    over = max((part.last_active for part in incident.parts.values()), default=began)
    return began <= over and any(rank in root.entity.ranks for rank in held.ranks)


def is_return(incident: TrackedIncident, explanation: RootExplanation, job: Job) -> bool:
    """Return whether an explanation says what an earlier attempt's incident was, as it returned."""
    cause = cause_of(explanation.cause.hypotheses[0].fault)
    if cause is None or incident.root[0] not in cause.first_taken_for:
        return False
    return _shares_symptom(incident, explanation, job)


def _attempt(incident: TrackedIncident, job: Job) -> int | None:
    part = incident.parts.get(job)
    return None if part is None else part.attempt


def _named(explanation: RootExplanation) -> bool:
    return explanation.cause.hypotheses[0].fault != faults.UNKNOWN


def _entity(incident: TrackedIncident) -> Entity | None:
    return None if incident.first is None else incident.first.cause.hypotheses[0].entity


def _is_root(incident: TrackedIncident, explanation: RootExplanation, job: Job) -> bool:
    """Return whether an explanation names an incident's root, or has its symptom if unknown."""
    if incident.first is None or incident.root != first_cause.key(explanation.cause):
        return False
    if is_news(explanation, incident, job):
        return False
    return _named(explanation) or _shares_symptom(incident, explanation, job)


def _shares_symptom(incident: TrackedIncident, explanation: RootExplanation, job: Job) -> bool:
    return any(symptom.kind in incident.held_kinds(job) for symptom in explanation.symptoms)


def _may_be(incident: TrackedIncident, explanation: RootExplanation, job: Job) -> bool:
    """Return whether an explanation may be an incident's trouble under another name.

    A stable cause of slowness elsewhere is a trouble of its own; a job stops only once.
    """
    if not _shares_symptom(incident, explanation, job) or incident.first is None:
        return False
    if is_news(explanation, incident, job):
        return False
    held = incident.first.cause
    if held.status != "stable" or not _named(explanation):
        return True
    if held.hypotheses[0].fault == faults.UNKNOWN:
        return True
    if any(kinds.catalogue()[s.kind].effect != "slows" for s in explanation.symptoms):
        return True
    root, known = explanation.cause.hypotheses[0].entity, held.hypotheses[0].entity
    if "job" in (root.type, known.type) or _of_one_slowness(incident, explanation):
        return True
    same_host = root.host is not None and root.host == known.host
    there = ranks_at(explanation.cause)
    return same_host or any(rank in there for rank in ranks_at(held))


def _of_one_slowness(incident: TrackedIncident, explanation: RootExplanation) -> bool:
    """Return whether the same fault is named elsewhere, by time alone and of the same time.

    Of ranks that become slow together one stands out now and another one a moment later.
    """
    first = explanation.cause.hypotheses[0]
    begun = min(symptom.onset[0] for symptom in explanation.symptoms)
    return (
        first.fault == incident.root[0]
        and abs(begun - incident.opened_at) <= TOGETHER_SECONDS
        and by_time_alone(first)
    )
