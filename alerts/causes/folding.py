"""Roots that are one: of one host, one rack, one fault at many places, a stop and its reason."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ...vocabulary import findings as kinds
from ...vocabulary.entities import Entity
from ...vocabulary.findings import Effect, Finding
from ...vocabulary.topology import JobTopology
from . import scoring
from .calibration import overlap
from .catalogue import CauseCatalogue
from .index import FindingIndex
from .ranking import CandidateCause, CauseRanking

MOST_ROOTS = 4
"""Faults of one job at one second. More roots of one fault are no coincidence: they are one."""

TOGETHER_SECONDS = 120.0
"""A stop so soon after corrupted values comes from them; what heats or loses power in one rack
does so in that time."""


FILLS = "host.memory_low"
"""What a host shows whose memory fills, before anything came of it."""

SINCE_START_SECONDS = 60.0
"""What hosts have from the start (`since_start`) is found on all of them within so long. One that
begins later is something new."""


@dataclass(frozen=True, slots=True)
class FoldedRoot:
    """One root: the ranking that it leads, and the symptoms that it explains.

    `others`: entities with the same fault that are folded into it.
    """

    ranking: CauseRanking
    symptoms: tuple[Finding, ...]
    others: tuple[Entity, ...] = ()


Named = tuple[CandidateCause, FoldedRoot]
"""A root and the candidate that it is named for."""


def effect(symptom: Finding) -> Effect:
    return kinds.catalogue()[symptom.kind].effect


def folded(
    found: Sequence[Named], topology: JobTopology, knowledge: CauseCatalogue
) -> list[FoldedRoot]:
    """Return the roots; one where one follows from another, or too many have the same fault."""
    found = _at_one_host(found, topology)
    faults = [candidate.cause.fault for candidate, _ in found]
    kept: list[Named] = []
    for candidate, root in found:
        # What several groups of one job show (routing, the cut of stages) is the model's.
        most = 2 if candidate.entity.type == "group" else MOST_ROOTS
        many = faults.count(candidate.cause.fault) >= most
        for number, (other, held) in enumerate(kept):
            pair = ((other, held), (candidate, root))
            if other.cause is not candidate.cause:
                one = _of_one_sign(pair, topology)
            elif candidate.cause.since_start:
                apart = abs(held.symptoms[0].onset[0] - root.symptoms[0].onset[0])
                same = [row for row, _ in kept if row.cause is candidate.cause]
                one = pair if apart <= SINCE_START_SECONDS or len(same) >= MOST_ROOTS else None
            else:
                shared = (
                    _together(other, candidate, topology)
                    or _of_one_code(*pair)
                    or _of_one_slowness(*pair)
                )
                one = pair if many or shared else None
            if one is not None:
                kept[number] = _at_both(*one, knowledge)
                break
        else:
            kept.append((candidate, root))
    rows = _with_their_ends(kept, topology)
    for row in [row for row in rows if _effects(row) == {"stops"}]:
        before = next((other for other in rows if _leads_to(other, row)), None)
        if before is not None:
            rows = [
                joined(other, row) if other is before else other
                for other in rows
                if other is not row
            ]
    return rows


def _with_their_ends(kept: Sequence[Named], topology: JobTopology) -> list[FoldedRoot]:
    """Return the roots; one that has ended in another at the same place is the beginning of that.

    Memory that grew until the kernel ended a process is one story, named for its end. It is named
    for its beginning where the end says less: a job that gave up without a step, as a host was not
    reached; a host that fills since what grows on another one does, and has lost nothing yet.
    """
    rows = {number: root for number, (_, root) in enumerate(kept)}
    for number, (candidate, _) in enumerate(kept):
        for end, (other, _) in enumerate(kept):
            if end not in rows or other.cause.fault not in candidate.cause.ends_in:
                continue
            pair = kept[number], kept[end]
            fills = _fills(kept[end]) and _apart_by(*pair) <= TOGETHER_SECONDS
            if fills or _at_one_place(candidate.entity, other.entity, topology):
                begins = fills or other.entity.type == "job" != candidate.entity.type
                told, gone = (number, end) if begins else (end, number)
                rows[told] = joined(rows[told], rows.pop(gone))
                break
    return list(rows.values())


def _at_one_place(one: Entity, other: Entity, topology: JobTopology) -> bool:
    host = topology.host_of_entity(one)
    return overlap(one, other) or (host is not None and host == topology.host_of_entity(other))


def _at_one_host(found: Sequence[Named], topology: JobTopology) -> list[Named]:
    """Return the roots; those of one fault on two parts of a host are one of the host.

    What they share there (cooling, power) fails once, rather than two parts in the same minute.
    Only where the fault can be a host's, and the host is a candidate that beats unknown.
    """
    kept: list[Named] = []
    for candidate, root in found:
        for number, (other, held) in enumerate(kept):
            shared = _shared_host(other, candidate, held.ranking, topology)
            if shared is not None:
                rest = (row for row in held.ranking.candidates if row is not shared)
                ranked = replace(held.ranking, candidates=(shared, *rest))
                kept[number] = (shared, joined(replace(held, ranking=ranked), root))
                break
        else:
            kept.append((candidate, root))
    return kept


def _shared_host(
    one: CandidateCause, other: CandidateCause, ranked: CauseRanking, topology: JobTopology
) -> CandidateCause | None:
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


def _together(one: CandidateCause, other: CandidateCause, topology: JobTopology) -> bool:
    """Return whether two roots share what cools or feeds them: one host, or one leaf switch."""
    host, beside = (topology.host_of_entity(row.entity) for row in (one, other))
    if not one.cause.of_a_rack or host is None or beside is None:
        return False
    switch = topology.switches.get(host)
    return host == beside or (switch is not None and switch == topology.switches.get(beside))


def _of_one_code(one: Named, other: Named) -> bool:
    """Return whether two processes have the same fault since the same time: they run one code.

    So do the processes of hosts whose memory fills since the same time, whoever shows it.
    """
    processes = one[0].entity.type == other[0].entity.type == "process"
    alike = processes or (_fills(one) and _fills(other))
    return alike and _apart_by(one, other) <= TOGETHER_SECONDS


def _fills(row: Named) -> bool:
    """Return whether all that a root shows is a host whose memory fills."""
    candidate, root = row
    found = scoring.support(candidate.cause, candidate.entity, root.ranking.index)
    return {finding.kind for finding in found} == {FILLS}


def _apart_by(one: Named, other: Named) -> float:
    """Return how far apart two roots began (s)."""
    (first, held), (second, root) = one, other
    return abs(begun(first, held.ranking.index) - begun(second, root.ranking.index))


def _of_one_slowness(one: Named, other: Named) -> bool:
    """Return whether all that two roots show is whose time is longer, since the same time.

    Two devices do not become slow in one minute by chance, without another sign of either: what the
    ranks share (experts that became popular) shows later.
    """
    return _apart_by(one, other) <= TOGETHER_SECONDS and all(
        kinds.catalogue()[found.kind].timing
        for candidate, row in (one, other)
        for found in scoring.support(candidate.cause, candidate.entity, row.ranking.index)
    )


def _of_one_sign(pair: tuple[Named, Named], topology: JobTopology) -> tuple[Named, Named] | None:
    """Return two roots, the one with the sign first, where the other is what it is taken for.

    Clocks are low before the heat is reported that is why: at another device of the host, or at
    another host of the rack, that began to suffer at about the same time. None for no such pair.
    """
    for first, other in (pair, pair[::-1]):
        cause, taken = first[0], other[0]
        if taken.cause.fault in cause.cause.taken_for and _together(cause, taken, topology):
            return (first, other) if _apart_by(first, other) <= TOGETHER_SECONDS else None
    return None


def begun(candidate: CandidateCause, index: FindingIndex) -> float:
    """Return when the first finding that supports a candidate began at the latest (epoch s)."""
    found = scoring.support(candidate.cause, candidate.entity, index)
    return min((row.onset[1] for row in found), default=0.0)


def _at_both(one: Named, other: Named, knowledge: CauseCatalogue) -> Named:
    """Return the first of two roots with the places and symptoms of the other one."""
    (first, held), (candidate, root) = one, other
    more = _same_fault(first, held.ranking, knowledge.weights.certain)
    others = _apart(first.entity, (*held.others, candidate.entity, *root.others, *more))
    return first, replace(joined(held, root), others=others)


def _same_fault(root: CandidateCause, ranked: CauseRanking, certain: float) -> list[Entity]:
    """Return the places at which the root's fault beats unknown for certain, best first."""
    return [
        row.entity
        for row in ranked.candidates
        if row.cause is root.cause and row.score > ranked.unknown.score + certain
    ]


def _apart(first: Entity, places: Sequence[Entity]) -> tuple[Entity, ...]:
    """Return the places beside the first one that do not overlap.

    A device beside the host that it is part of is no place of its own.
    """
    found = [first]
    for place in dict.fromkeys(places):  # candidates name the same ones again and again
        if not any(place == held or overlap(place, held) for held in found):
            found.append(place)
    return tuple(found[1:])


def _effects(root: FoldedRoot) -> set[Effect]:
    return {effect(symptom) for symptom in root.symptoms}


def _leads_to(root: FoldedRoot, stop: FoldedRoot) -> bool:
    """Return whether corrupted values are why the job stopped soon after."""
    if "corrupts" not in _effects(root):
        return False
    after = stop.symptoms[0].onset[0] - root.symptoms[0].onset[0]
    return -1.0 <= after <= TOGETHER_SECONDS and stop.symptoms[0].entity.type == "job"


def joined(root: FoldedRoot, other: FoldedRoot) -> FoldedRoot:
    """Return a root with the symptoms of another one as well."""
    held = {id(symptom) for symptom in root.symptoms}
    more = (symptom for symptom in other.symptoms if id(symptom) not in held)
    return replace(root, symptoms=(*root.symptoms, *more))
