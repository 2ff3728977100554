"""The joint test: a second root needs evidence that the first one cannot produce.

Whose time is longer says where something slows a job and not what: any root that slows those ranks
brings it about, in each group that they are members of. So a root that rests on such findings alone
(`timing` of their kinds), about ranks of another root, is that other one seen again.
"""

from collections.abc import Iterable, Sequence
from functools import cache

from ...vocabulary import findings as kinds
from ...vocabulary.findings import Finding
from ...vocabulary.incidents import Hypothesis
from ...vocabulary.topology import JobTopology
from . import scoring
from .folding import TOGETHER_SECONDS, Named, begun, joined
from .index import FindingIndex
from .ranking import CandidateCause

MOST = 0.6
"""Of the ranks of a group that stand on a root this share stand out where that root slows them."""


def tested(found: Sequence[Named], topology: JobTopology) -> list[Named]:
    """Return the roots that pass the test beside all others; what others showed goes to these."""
    kept = list(found)
    for row in reversed(found):
        others = [other for other in kept if other is not row]
        first = next(
            (other for other in others if _is_seen_again(row, other, found, topology)), None
        )
        if first is not None:
            candidate, root = first
            kept = [
                (candidate, joined(root, row[1])) if other is first else other
                for other in kept
                if other is not row
            ]
    return kept


def by_time_alone(answer: Hypothesis) -> bool:
    """Return whether all that supports an answer says whose time is longer."""
    told = {
        row.family
        for row in answer.evidence
        if row.relation == "supports" and row.weight > 0 and row.family not in scoring.UNCAPPED
    }
    return bool(told) and told.isdisjoint(_other_families())


@cache
def _other_families() -> frozenset[str]:
    """Return the families of findings of which one says more than whose time is longer."""
    return frozenset(row.family for row in kinds.catalogue().values() if not row.timing)


def rather(
    root: CandidateCause,
    candidates: Sequence[CandidateCause],
    index: FindingIndex,
    topology: JobTopology,
    *,
    least: float,
) -> CandidateCause:
    """Return what a group is uneven by: the root itself, or a candidate that shows why.

    That is one with a sign that is more than somebody's time, of at least that score, on a part of
    the group that is as slow as the group shows: a host without CPU time makes each group uneven
    that it has a member of. What else it is, it may be both; one root is enough.
    """
    if root.entity.type != "group":
        return root
    evidence = scoring.support(root.cause, root.entity, index)
    for row in candidates:
        if row.score <= least or row.entity.type in ("job", "code", "group"):
            continue
        signs = scoring.support(row.cause, row.entity, index)
        if all(kinds.catalogue()[sign.kind].timing for sign in signs):
            continue
        if _brings_all(evidence, row, begun(row, index), topology):
            return row
    return root


def _is_seen_again(row: Named, other: Named, order: Sequence[Named], topology: JobTopology) -> bool:
    """Return whether a root is another one seen again; of two that may be, the later named is."""
    if not _produced(_evidence(row), other, topology):
        return False
    if _place(other, order) < _place(row, order):
        return True
    return not _produced(_evidence(other), row, topology)


def _place(row: Named, order: Sequence[Named]) -> int:
    """Return the place at which a root was named, also once it has taken symptoms."""
    return next(number for number, (candidate, _) in enumerate(order) if candidate is row[0])


def _evidence(row: Named) -> list[Finding]:
    candidate, root = row
    found = [
        *root.symptoms,
        *scoring.support(candidate.cause, candidate.entity, root.ranking.index),
    ]
    return list({id(finding): finding for finding in found}.values())


def _produced(evidence: Iterable[Finding], root: Named, topology: JobTopology) -> bool:
    """Return whether a root brings all of that evidence about."""
    candidate, held = root
    return _brings_all(evidence, candidate, begun(candidate, held.ranking.index), topology)


def _brings_all(
    evidence: Iterable[Finding], root: CandidateCause, since: float, topology: JobTopology
) -> bool:
    """Return whether a root that began at a time brings all of that evidence about."""
    if "slows" not in root.cause.effects:
        return False
    ranks = _reach(root, topology)
    return all(
        finding.onset[0] <= since + TOGETHER_SECONDS and _brings(ranks, finding)
        for finding in evidence
    )


def _reach(root: CandidateCause, topology: JobTopology) -> frozenset[int]:
    """Return the ranks that a root may slow: of what is the model's those of all such groups."""
    groups = (group for group in topology.groups if group.kind in root.cause.only_groups)
    ranks = {rank for group in groups for rank in group.ranks}
    return frozenset(ranks or root.entity.ranks)


def _brings(ranks: frozenset[int], finding: Finding) -> bool:
    if not kinds.catalogue()[finding.kind].timing:
        return False
    if finding.entity.type == "job":
        return True
    there = [rank for rank in finding.entity.ranks if rank in ranks]
    shown = finding.ranks or finding.entity.ranks
    odd = [rank for rank in shown if rank in ranks]
    # Slow for a root of all of them, it would be one member as well as the next.
    return bool(odd) and len(odd) == len(shown) and len(odd) >= MOST * len(there)
