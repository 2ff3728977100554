"""Findings of one job in, explanations out: one for each root cause and scope.

Greedy explaining-away: the best-supported root is taken, what it explains is discounted, what is
left is scored again. Symptoms of ranks that merely wait are thereby explained, not accused. The
same findings give the same answer, to the byte, in whatever order they come.

The weights stand in catalogue.toml and faults/.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ...vocabulary import findings as kinds
from ...vocabulary.entities import Entity
from ...vocabulary.findings import Finding
from ...vocabulary.incidents import Evidence, RootCause
from ...vocabulary.ranks import RankSet
from ...vocabulary.topology import JobTopology
from . import active, explaining_away
from .active import CheckAnswer
from .catalogue import CauseCatalogue, catalogue
from .hypotheses import root_cause
from .index import FindingIndex
from .ranking import ENGINE, ranking
from .view import JobView

__all__ = [
    "ENGINE",
    "OTHERS",
    "RootExplanation",
    "explain",
    "explanations",
    "others_of",
    "ranks_at",
]

OTHERS = "others"
"""Family of the entries that name other entities with the same fault; each holds their number."""

MOST_NAMED = 32
"""So many of them are named: the hosts of a rack."""


@dataclass(frozen=True, slots=True)
class RootExplanation:
    """One root cause with the symptoms that it explains, at least one; `answers` of checks."""

    cause: RootCause
    symptoms: tuple[Finding, ...]
    answers: frozenset[CheckAnswer] = frozenset()


def explain(
    findings: Sequence[Finding],
    topology: JobTopology,
    *,
    observed: frozenset[str],
    clock_skew: float = 0.0,
    interval: float = 0.0,
    knowledge: CauseCatalogue | None = None,
) -> RootCause:
    """Return the ranked causes of all that was found as if it had one root, provisional.

    `findings` holds at least one symptom; the others are evidence. `observed`: names of the metrics
    and events that some source of the job reports; `clock_skew` in seconds, `interval` that between
    two reports of its hosts.
    """
    knowledge = knowledge or catalogue()
    view = JobView(topology, observed, clock_skew, interval)
    index = FindingIndex(findings, topology)
    return root_cause(ranking(index, index.symptoms, view, knowledge), view, knowledge)


def explanations(
    findings: Sequence[Finding],
    topology: JobTopology,
    *,
    observed: frozenset[str],
    clock_skew: float = 0.0,
    interval: float = 0.0,
    knowledge: CauseCatalogue | None = None,
) -> tuple[RootExplanation, ...]:
    """Return the root causes of what was found, best supported first; none without a symptom."""
    if not any(kinds.catalogue()[finding.kind].symptom for finding in findings):
        return ()
    knowledge = knowledge or catalogue()
    view = JobView(topology, observed, clock_skew, interval)
    answers = active.answers(findings)
    return tuple(
        RootExplanation(
            _with_others(root_cause(root.ranking, view, knowledge, root.others), root),
            root.symptoms,
            answers,
        )
        for root in explaining_away.roots(findings, view, knowledge)
    )


def ranks_at(cause: RootCause) -> RankSet:
    """Return the ranks at the first hypothesis: those on its entity, and where the same is found.

    Of a rack whose cooling fails they are those of all its hosts.
    """
    first = cause.hypotheses[0]
    return RankSet(rank for place in (first.entity, *others_of(cause)) for rank in place.ranks)


def others_of(cause: RootCause) -> list[Entity]:
    """Return the further places at which the first hypothesis is named."""
    return [row.entity for row in cause.hypotheses[0].evidence if row.family == OTHERS]


def _with_others(cause: RootCause, root: explaining_away.FoldedRoot) -> RootCause:
    """Name other entities with the same fault in entries of the first hypothesis, weight 0."""
    if not root.others:
        return cause
    first, *rest = cause.hypotheses
    named = root.others[:MOST_NAMED]
    beyond = len(root.others) - len(named)
    rows = (
        Evidence(
            relation="supports",
            family=OTHERS,
            entity=entity,
            signal="catalogue",
            window=first.evidence[0].window,
            observed=float(len(root.others)),
            expected=0.0,
            weight=0.0,
            text=f"the same on {entity.id}"
            + (f" and {beyond} more" if number == 0 < beyond else ""),
        )
        for number, entity in enumerate(named)
    )
    first = replace(first, evidence=(*first.evidence, *rows))
    return replace(cause, hypotheses=(first, *rest))
