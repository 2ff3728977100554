"""Which roots what was found has: the best supported first, then what it does not explain."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ...vocabulary import findings as kinds
from ...vocabulary.entities import Entity
from ...vocabulary.findings import Effect, Finding
from ...vocabulary.topology import Topology
from . import scoring
from .calibration import overlap
from .catalogue import Catalogue
from .index import FindingIndex
from .ranking import Candidate, Ranking, explains, ranking
from .view import JobView

MOST_ROOTS = 4
"""Faults of one job at one second. More roots of one fault are no coincidence: they are one."""

MOST_OF_ONE = 16
"""Roots that are looked for in all; those of one fault beyond MOST_ROOTS are folded unseen."""

LEAD = 1.9
"""Nats by which a further root must be more than certain: the first one explains the symptom too,
and so it is no sign that what is left began together with it."""

TOGETHER_SECONDS = 120.0
"""A symptom that no cause is named for joins a root whose symptoms began so close to it."""


@dataclass(frozen=True, slots=True)
class Root:
    """One root: the ranking that it leads, and the symptoms that it explains.

    `others`: entities with the same fault that are folded into it.
    """

    ranking: Ranking
    symptoms: tuple[Finding, ...]
    others: tuple[Entity, ...] = ()


def roots(findings: Sequence[Finding], view: JobView, knowledge: Catalogue) -> list[Root]:
    """Return the roots of what was found, at least one symptom among it."""
    index = FindingIndex(findings, view.topology)
    open_symptoms = list(index.symptoms)
    shared: list[Finding] = []
    found: list[tuple[Candidate, Root]] = []
    while (open_symptoms or shared) and _goes_on(found):
        ranked = ranking(index, [*open_symptoms, *shared], view, knowledge)
        certain = knowledge.weights.certain if found else 0.0
        root = _next(ranked, {symptom.kind for symptom in open_symptoms}, knowledge, certain)
        if root is None:
            break
        explained = tuple(
            symptom
            for symptom in (*open_symptoms, *shared)
            if _explains(root, symptom, index, view.topology)
        )
        held = {symptom.kind for symptom in explained}
        found.append((root, Root(ranked.only(held), explained)))
        taken = {id(symptom) for symptom in explained}
        # Several roots may make steps longer; what one entity shows has one root.
        # By identity: a storm has thousands of symptoms; comparing each with each takes minutes.
        still_open = {id(symptom) for symptom in open_symptoms}
        shared += [
            s
            for s in explained
            if id(s) in still_open and _effect(s) == "slows" and s.entity.type == "job"
        ]
        open_symptoms = [symptom for symptom in open_symptoms if id(symptom) not in taken]
        gone = taken - {id(symptom) for symptom in shared}
        whole = any(symptom.entity.type == "job" for symptom in explained)
        index = _without(root, index, gone, _bearing(held, knowledge), view.topology, whole=whole)
    result = _folded(_at_one_host(found, view.topology), view.topology, knowledge)
    return _with_left_over(result, open_symptoms, index, view, knowledge)


def _goes_on(found: Sequence[tuple[Candidate, Root]]) -> bool:
    """Return whether another root is looked for: clocks that are all off must hide nothing else."""
    faults = {candidate.cause.fault for candidate, _ in found}
    return len(faults) <= MOST_ROOTS and len(found) < MOST_OF_ONE


def _next(
    ranked: Ranking, open_kinds: set[str], knowledge: Catalogue, least: float
) -> Candidate | None:
    """Return the best root for a symptom that has none yet, else one that leads clearly.

    `least`: the lead over unknown that it needs; beside another root it must be certain.
    """
    if ranked.named is None:
        return None
    for candidate in ranked.candidates:
        lead = candidate.score - ranked.unknown.score
        if lead <= least:
            break
        if lead >= LEAD + knowledge.weights.certain or open_kinds & set(candidate.cause.symptoms):
            return candidate
    return None


def _effect(symptom: Finding) -> Effect:
    return kinds.catalogue()[symptom.kind].effect


def _explains(root: Candidate, symptom: Finding, index: FindingIndex, topology: Topology) -> bool:
    """Return whether a root explains a symptom: its own, and what a stop brings to the job.

    A symptom of one entity is explained by a root on it, above it or below it.
    """
    if symptom.entity.type != "job" and not _within(symptom.entity, root.entity, topology):
        return False
    if symptom.kind in root.cause.symptoms:
        return explains(root.cause, symptom, index)
    stops = any(kinds.catalogue()[kind].effect == "stops" for kind in root.cause.symptoms)
    return stops and _effect(symptom) == "stops"


def _within(entity: Entity, root: Entity, topology: Topology) -> bool:
    """Return whether two entities are one, or one stands on the other."""
    if (entity.type, entity.id) == (root.type, root.id) or root.type == "job":
        return True
    host = topology.host_of_entity(root)
    if entity.type == "host" and host is not None:
        return host == entity.id
    return any(rank in root.ranks for rank in entity.ranks)


def _bearing(symptoms: set[str], knowledge: Catalogue) -> set[str]:
    """Return the kinds of findings that bear on some kinds of symptoms."""
    return {
        prediction.finding
        for cause in knowledge.causes
        if symptoms & set(cause.symptoms)
        for prediction in (*cause.predicts, *cause.contradicts)
    }


def _without(
    root: Candidate,
    index: FindingIndex,
    gone: set[int],
    bearing: set[str],
    topology: Topology,
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


def _at_one_host(
    found: Sequence[tuple[Candidate, Root]], topology: Topology
) -> list[tuple[Candidate, Root]]:
    """Return the roots; those of one fault on two parts of a host are one of the host.

    What they share there (cooling, power) fails once, rather than two parts in the same minute.
    Only where the fault can be a host's, and the host is a candidate that beats unknown.
    """
    kept: list[tuple[Candidate, Root]] = []
    for candidate, root in found:
        for number, (other, held) in enumerate(kept):
            shared = _shared_host(other, candidate, held.ranking, topology)
            if shared is not None:
                rest = (row for row in held.ranking.candidates if row is not shared)
                ranked = replace(held.ranking, candidates=(shared, *rest))
                kept[number] = (shared, _joined(replace(held, ranking=ranked), root))
                break
        else:
            kept.append((candidate, root))
    return kept


def _shared_host(
    one: Candidate, other: Candidate, ranked: Ranking, topology: Topology
) -> Candidate | None:
    """Return the candidate of the host that two roots of one fault are on, None for none."""
    host = topology.host_of_entity(one.entity)
    apart = host is None or host != topology.host_of_entity(other.entity)
    if apart or one.cause is not other.cause:
        return None
    return next(
        (
            row
            for row in ranked.candidates
            if row.cause is one.cause
            and (row.entity.type, row.entity.id) == ("host", host)
            and row.score > ranked.unknown.score
        ),
        None,
    )


def _in_one_rack(one: Candidate, other: Candidate, topology: Topology) -> bool:
    """Return whether two roots are one of a rack: another host behind the same leaf switch."""
    host, beside = (topology.host_of_entity(row.entity) or "" for row in (one, other))
    switch = topology.switches.get(host)
    behind_one = switch is not None and switch == topology.switches.get(beside)
    return one.cause.of_a_rack and host != beside and behind_one


def _folded(
    found: Sequence[tuple[Candidate, Root]], topology: Topology, knowledge: Catalogue
) -> list[Root]:
    """Return the roots; one where one follows from another, or too many have the same fault."""
    faults = [candidate.cause.fault for candidate, _ in found]
    kept: list[tuple[Candidate, Root]] = []
    for candidate, root in found:
        # What several groups of one job show (routing, the cut of stages) is the model's.
        most = 2 if candidate.entity.type == "group" else MOST_ROOTS
        many = faults.count(candidate.cause.fault) >= most
        same = [
            n
            for n, (other, _) in enumerate(kept)
            if other.cause is candidate.cause and (many or _in_one_rack(other, candidate, topology))
        ]
        if same:
            first, held = kept[same[0]]
            others = _same_fault(first, held.ranking, knowledge.weights.certain)
            kept[same[0]] = (first, replace(_joined(held, root), others=others))
        else:
            kept.append((candidate, root))
    rows = [root for _, root in kept]
    for row in [row for row in rows if _effects(row) == {"stops"}]:
        before = next((other for other in rows if _leads_to(other, row)), None)
        if before is not None:
            rows = [
                _joined(other, row) if other is before else other
                for other in rows
                if other is not row
            ]
    return rows


def _same_fault(root: Candidate, ranked: Ranking, certain: float) -> tuple[Entity, ...]:
    """Return the other places at which the root's fault beats unknown for certain, best first.

    A device beside the host that it is part of is no place of its own.
    """
    found = [root.entity]
    for row in ranked.candidates:
        named = row.cause is root.cause and row.score > ranked.unknown.score + certain
        if named and not any(overlap(row.entity, held) for held in found):
            found.append(row.entity)
    return tuple(found[1:])


def _effects(root: Root) -> set[Effect]:
    return {_effect(symptom) for symptom in root.symptoms}


def _leads_to(root: Root, stop: Root) -> bool:
    """Return whether corrupted values are why the job stopped soon after."""
    if "corrupts" not in _effects(root):
        return False
    after = stop.symptoms[0].onset[0] - root.symptoms[0].onset[0]
    return -1.0 <= after <= TOGETHER_SECONDS and stop.symptoms[0].entity.type == "job"


def _joined(root: Root, other: Root) -> Root:
    held = {id(symptom) for symptom in root.symptoms}
    more = (symptom for symptom in other.symptoms if id(symptom) not in held)
    return replace(root, symptoms=(*root.symptoms, *more))


def _with_left_over(
    result: list[Root],
    symptoms: Sequence[Finding],
    index: FindingIndex,
    view: JobView,
    knowledge: Catalogue,
) -> list[Root]:
    """Give symptoms without a root of their own to the nearest one in time, else to unknown."""
    alone: list[Finding] = []
    onsets = [{held.onset[0] for held in root.symptoms} for root in result]
    for symptom in symptoms:
        near = [
            (abs(begun - symptom.onset[0]), number)
            for number, held in enumerate(onsets)
            for begun in held
        ]
        distance, number = min(near, default=(float("inf"), 0))
        if distance > TOGETHER_SECONDS:
            alone.append(symptom)
            continue
        root = result[number]
        result[number] = replace(root, symptoms=(*root.symptoms, symptom))
        onsets[number].add(symptom.onset[0])
    alone.sort(key=lambda symptom: (symptom.onset[0], symptom.kind, symptom.entity))
    groups: list[list[Finding]] = []
    for symptom in alone:
        stopped = [group for group in groups if _effect(group[0]) == _effect(symptom) == "stops"]
        if stopped:  # a job stops only once: ranks end long after the stall that ends them
            stopped[0].append(symptom)
        elif groups and symptom.onset[0] - groups[-1][-1].onset[0] <= TOGETHER_SECONDS:
            groups[-1].append(symptom)
        else:
            groups.append([symptom])
    result += [Root(ranking(index, group, view, knowledge), tuple(group)) for group in groups]
    return result
