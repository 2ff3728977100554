"""One sentence that says what broke, where, and what people notice."""

from collections.abc import Sequence

from ..vocabulary import faults
from ..vocabulary.entities import Entity
from ..vocabulary.ids import Fault
from ..vocabulary.incidents import Hypothesis, RootCause, Symptom
from .causes.catalogue import cause_of
from .causes.engine import OTHERS

FEW = 8
"""So many ranks are listed one by one."""

PARTS = ("gpu", "nic")
"""What breaks by itself: a symptom at another one of these has another cause."""


def sentence(cause: RootCause, symptoms: Sequence[Symptom], jobs: int = 1) -> str:
    """Return the summary of an incident: cause and entity first, then the first symptom of it.

    `jobs`: how many it affects.
    """
    first = cause.hypotheses[0]
    noticed = _noticed(symptoms, first)
    if first.fault == faults.UNKNOWN:
        return f"Cause unknown: {_standing_out(first, symptoms)}{noticed}"
    title = faults.catalogue()[first.fault].title
    ranks = first.entity.ranks
    where = str(first.entity)
    if first.entity.type not in ("rank", "job") and 0 < len(ranks) <= FEW:
        where += f" ({_word(len(ranks))} {', '.join(str(rank) for rank in ranks)})"
    others = next((row.observed for row in first.evidence if row.family == OTHERS), None)
    if isinstance(others, float):
        where += f" and at least {others:.0f} more with the same fault"
    if first.entity.type == "code" and jobs > 1:
        where += f" and {jobs - 1} more {'job' if jobs == 2 else 'jobs'} with the same change"
    return f"{title}: {where}; {noticed}"


def _noticed(symptoms: Sequence[Symptom], cause: Hypothesis) -> str:
    """Return the first symptom of the cause that is not at another part of hardware than it is.

    What the incident shows besides, and the fault does not bring (a clock that is off beside
    sequences of unequal length), is quoted only where there is nothing else.
    """
    if not symptoms:
        return "no symptom is recorded"
    own = [row for row in symptoms if not _elsewhere(row.entity, cause.entity)] or [symptoms[0]]
    brought = _brought(cause.fault)
    shown = [row for row in own if row.kind in brought] or own[:1]
    return next((row for row in shown if row.entity == cause.entity), shown[0]).text


def _brought(fault: Fault) -> set[str]:
    """Return the kinds of findings that a fault brings."""
    entry = cause_of(fault)
    if entry is None:
        return set()
    return {*entry.symptoms, *entry.covers, *(row.finding for row in entry.predicts)}


def _elsewhere(entity: Entity, cause: Entity) -> bool:
    if entity.type not in PARTS:
        return False
    if cause.type == "host":
        return entity.host != cause.id
    return cause.type in PARTS and entity.id != cause.id


def _standing_out(unknown: Hypothesis, symptoms: Sequence[Symptom]) -> str:
    """Return which ranks stand out and in what, or what the job's own evidence is."""
    entity, ranks = unknown.entity, unknown.entity.ranks
    shown = next((row for row in unknown.evidence if row.weight == 0), None)
    sign = "" if shown is None else shown.text
    if shown is not None and shown.entity.type == "job":
        return f"{sign}; "
    reported = any(symptom.ranks for symptom in symptoms)
    if not 0 < len(ranks) <= FEW or not (entity.type == "rank" or sign or reported):
        return ""
    where = f" on {entity.host}" if entity.host else ""
    listed = ", ".join(str(rank) for rank in ranks)
    who = f"{_word(len(ranks))} {listed}{where} {'stands' if len(ranks) == 1 else 'stand'} out"
    return f"{who} ({sign}); " if sign else f"{who}; "


def _word(count: int) -> str:
    return "rank" if count == 1 else "ranks"
