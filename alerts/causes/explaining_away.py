"""Which roots what was found has: the best supported first, then what it does not explain."""

from collections.abc import Sequence
from dataclasses import replace

from ...vocabulary import findings as kinds
from ...vocabulary.entities import Entity
from ...vocabulary.findings import Finding
from ...vocabulary.topology import JobTopology
from . import active, folding, joint, left_over, scoring
from .catalogue import CauseCatalogue
from .folding import MOST_ROOTS, TOGETHER_SECONDS, FoldedRoot, effect
from .index import FindingIndex
from .ranking import CandidateCause, CauseRanking, explains, ranking
from .view import JobView

__all__ = ["FoldedRoot", "roots"]

MOST_OF_ONE = 16
"""Roots that are looked for in all; those of one fault beyond MOST_ROOTS are folded unseen."""

LEAD = 1.9
"""Nats by which a further root must be more than certain: the first one explains the symptom too,
and so it is no sign that what is left began together with it."""


def roots(
    findings: Sequence[Finding], view: JobView, knowledge: CauseCatalogue
) -> list[FoldedRoot]:
    """Return the roots of what was found, at least one symptom among it."""
    index = FindingIndex(findings, view.topology)
    open_symptoms = list(index.symptoms)
    shared: list[Finding] = []
    found: list[tuple[CandidateCause, FoldedRoot]] = []
    while (open_symptoms or shared) and _goes_on(found):
        ranked = ranking(index, [*open_symptoms, *shared], view, knowledge)
        certain = knowledge.weights.certain if found else 0.0
        held = {(root.cause.fault, root.entity) for root, _ in found}
        left = [c for c in ranked.candidates if (c.cause.fault, c.entity) not in held]
        shown = {symptom.kind for symptom in open_symptoms}
        root = _next(replace(ranked, candidates=tuple(left)), shown, knowledge, certain)
        if root is None:
            break
        least = ranked.unknown.score + knowledge.weights.certain
        root = joint.rather(root, left, index, view.topology, least=least)
        explained = tuple(
            symptom
            for symptom in (*open_symptoms, *shared)
            if _explains(root, symptom, index, view.topology)
        )
        about = {symptom.kind for symptom in explained}
        found.append((root, FoldedRoot(ranked.only(about), explained)))
        taken = {id(symptom) for symptom in explained}
        # Several roots may make steps longer; what one entity shows has one root.
        # By identity: a storm has thousands of symptoms; comparing each with each takes minutes.
        still_open = {id(symptom) for symptom in open_symptoms}
        shared += [
            s
            for s in explained
            if id(s) in still_open and effect(s) == "slows" and s.entity.type == "job"
        ]
        open_symptoms = [symptom for symptom in open_symptoms if id(symptom) not in taken]
        gone = taken - {id(symptom) for symptom in shared}
        whole = any(symptom.entity.type == "job" for symptom in explained)
        index = _without(root, index, gone, _bearing(about, knowledge), view.topology, whole=whole)
    result = folding.folded(joint.tested(found, view.topology), view.topology, knowledge)
    return left_over.shared_out(result, open_symptoms, index, view, knowledge)


def _goes_on(found: Sequence[tuple[CandidateCause, FoldedRoot]]) -> bool:
    """Return whether another root is looked for: clocks that are all off must hide nothing else."""
    faults = {candidate.cause.fault for candidate, _ in found}
    return len(faults) <= MOST_ROOTS and len(found) < MOST_OF_ONE


def _next(
    ranked: CauseRanking, open_kinds: set[str], knowledge: CauseCatalogue, least: float
) -> CandidateCause | None:
    """Return the best root for a symptom that has none yet, else one that leads clearly.

    `least`: the lead over unknown that it needs; beside another root it must be certain.
    """
    if ranked.named is None:
        return None
    for candidate in ranked.candidates:
        lead = candidate.score - ranked.unknown.score
        if lead <= least:
            break
        if lead >= LEAD + knowledge.weights.certain or not open_kinds.isdisjoint(
            candidate.cause.symptoms
        ):
            return candidate
    return None


def _explains(
    root: CandidateCause, symptom: Finding, index: FindingIndex, topology: JobTopology
) -> bool:
    """Return whether a root explains a symptom: its own, and what a stop brings to the job.

    A symptom of one entity is explained by a root on it, above it or below it.
    """
    if symptom.entity.type != "job" and not _within(symptom.entity, root.entity, topology):
        return False
    if _crashed_elsewhere(root, symptom, index):
        return False
    if symptom.kind in root.cause.shown_by:
        return explains(root.cause, symptom, index)
    return effect(symptom) == "stops" and "stops" in root.cause.effects


def _crashed_elsewhere(root: CandidateCause, symptom: Finding, index: FindingIndex) -> bool:
    """Return whether a crash has a beginning of its own, away from a root that is there for long.

    A port that is down ends a job when connections over it break. Where steps went on for minutes,
    and the rank that ends first is another host's, it was not that.
    """
    if symptom.kind != "job.crashed" or root.entity.type == "job" or "job.stalled" in index:
        return False
    first = index.affected("rank.first_exit")
    if not first or any(rank in root.entity.ranks for rank in first):
        return False
    return symptom.onset[0] - folding.begun(root, index) > TOGETHER_SECONDS


def _within(entity: Entity, root: Entity, topology: JobTopology) -> bool:
    """Return whether two entities are one, or one stands on the other."""
    if (entity.type, entity.id) == (root.type, root.id) or root.type == "job":
        return True
    host = topology.host_of_entity(root)
    if entity.type == "host" and host is not None:
        return host == entity.id
    return any(rank in root.ranks for rank in entity.ranks)


def _bearing(symptoms: set[str], knowledge: CauseCatalogue) -> set[str]:
    """Return the kinds of findings that bear on some kinds of symptoms."""
    found = {
        prediction.finding
        for cause in knowledge.causes
        if not symptoms.isdisjoint(cause.shown_by)
        for prediction in (*cause.predicts, *cause.contradicts)
    }
    return found | {active.BAD, active.PASSED}


def _without(
    root: CandidateCause,
    index: FindingIndex,
    gone: set[int],
    bearing: set[str],
    topology: JobTopology,
    *,
    whole: bool,
) -> FindingIndex:
    """Return what a root leaves: no evidence of its own, none on its scope for its symptoms.

    `gone` are the identities of the symptoms that need no other root; `bearing` the kinds of
    findings that bear on what the root explains; `whole`: it explains a symptom of the job, and so
    takes evidence about the job too.
    """
    used = {
        id(finding)
        for finding in scoring.support(root.cause, root.entity, index)
        if whole or finding.entity.type != "job" or root.entity.type == "job"
    }
    scope = root.entity
    host = topology.host_of_entity(scope) if scope.type == "host" else None

    def left(finding: Finding) -> bool:
        if kinds.catalogue()[finding.kind].symptom:
            return id(finding) not in gone
        if id(finding) in used:
            return False
        if finding.kind not in bearing:
            return True
        if finding.entity.type == "job" or scope.type == "job":
            return finding.entity.type != scope.type
        if host is not None and host == topology.host_of_entity(finding.entity):
            return False
        return not any(rank in scope.ranks for rank in finding.entity.ranks)

    return FindingIndex([f for f in index.findings if left(f)], topology)
