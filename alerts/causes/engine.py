"""Findings of one job in, explanations out: one for each root cause and scope.

Greedy explaining-away: the best-supported root is taken, what it explains is discounted, what is
left is scored again. Symptoms of ranks that merely wait are thereby explained, not accused. The
same findings give the same answer, to the byte, in whatever order they come.

Method: facts on root causes 5.2; the weights stand in catalogue.toml and faults/.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ...vocabulary import findings as kinds
from ...vocabulary.findings import Finding
from ...vocabulary.incidents import Evidence, RootCause
from ...vocabulary.topology import Topology
from . import explaining_away
from .catalogue import Catalogue, catalogue
from .hypotheses import root_cause
from .index import FindingIndex
from .ranking import ENGINE, ranking
from .view import JobView

__all__ = ["ENGINE", "OTHERS", "Explanation", "explain", "explanations"]

OTHERS = "others"
"""Family of the entry that counts other entities with the same fault."""

MOST_NAMED = 3
"""So many of them are named."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """One root cause with the symptoms that it explains, at least one."""

    cause: RootCause
    symptoms: tuple[Finding, ...]


def explain(
    findings: Sequence[Finding],
    topology: Topology,
    *,
    observed: frozenset[str],
    clock_skew: float = 0.0,
    knowledge: Catalogue | None = None,
) -> RootCause:
    """Return the ranked causes of all that was found as if it had one root, provisional.

    `findings` holds at least one symptom; the others are evidence. `observed`: names of the metrics
    and events that some source of the job reports; `clock_skew` in seconds.
    """
    knowledge = knowledge or catalogue()
    view = JobView(topology, observed, clock_skew)
    index = FindingIndex(findings, topology)
    return root_cause(ranking(index, index.symptoms, view, knowledge), view, knowledge)


def explanations(
    findings: Sequence[Finding],
    topology: Topology,
    *,
    observed: frozenset[str],
    clock_skew: float = 0.0,
    knowledge: Catalogue | None = None,
) -> tuple[Explanation, ...]:
    """Return the root causes of what was found, best supported first; none without a symptom."""
    if not any(kinds.catalogue()[finding.kind].symptom for finding in findings):
        return ()
    knowledge = knowledge or catalogue()
    view = JobView(topology, observed, clock_skew)
    return tuple(
        Explanation(_with_others(root_cause(root.ranking, view, knowledge), root), root.symptoms)
        for root in explaining_away.roots(findings, view, knowledge)
    )


def _with_others(cause: RootCause, root: explaining_away.Root) -> RootCause:
    """Name other entities with the same fault in an entry of the first hypothesis, weight 0."""
    if not root.others:
        return cause
    first, *rest = cause.hypotheses
    named = ", ".join(entity.id for entity in root.others[:MOST_NAMED])
    more = f" and {len(root.others) - MOST_NAMED} more" if len(root.others) > MOST_NAMED else ""
    window = first.evidence[0].window
    row = Evidence(
        relation="supports",
        family=OTHERS,
        entity=first.entity,
        signal="catalogue",
        window=window,
        observed=float(len(root.others)),
        expected=0.0,
        weight=0.0,
        text=f"the same on {named}{more}",
    )
    first = replace(first, evidence=(*first.evidence, row))
    return replace(cause, hypotheses=(first, *rest))
