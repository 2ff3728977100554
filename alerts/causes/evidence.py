"""Rows of evidence, one for each term of a score: what was observed, or looked for in vain."""

from ...vocabulary import findings as kinds
from ...vocabulary.entities import Entity
from ...vocabulary.findings import Finding, FindingKind
from ...vocabulary.incidents import Evidence, Relation
from .catalogue import CatalogueCause

Window = tuple[float, float]


def of_prior(cause: CatalogueCause, entity: Entity, weight: float, window: Window) -> Evidence:
    """Return the row of a cause's share of incidents, learnt on this site or published."""
    return Evidence(
        relation="supports" if weight > 0 else "contradicts",
        family="prior",
        entity=entity,
        signal="catalogue",
        window=window,
        observed=cause.learnt.value if cause.learnt else cause.share,
        expected=None,
        weight=weight,
        text=f"prior: {cause.learnt.text if cause.learnt else f'{cause.share:.1%} of incidents'}",
    )


def of_finding(relation: Relation, finding: Finding, weight: float) -> Evidence:
    return Evidence(
        relation=relation,
        family=kinds.catalogue()[finding.kind].family,
        entity=finding.entity,
        signal=finding.signal,
        window=finding.window,
        observed=finding.observed,
        expected=finding.expected,
        weight=weight,
        text=finding.text,
        kind=finding.kind,
        quality="claimed" if finding.claimed else "",
    )


def not_found(kind: FindingKind, entity: Entity, window: Window, weight: float) -> Evidence:
    """Return the row of a finding that a source could have shown and did not."""
    text = f"expected, not found: {kind.help[0].lower()}{kind.help[1:]}"
    return _nothing("contradicts", kind, entity, window, weight, text)


def not_observable(kind: FindingKind, entity: Entity, window: Window) -> Evidence:
    """Return the row of a finding that no source could have shown; it weighs nothing."""
    text = f"not observable: no source reports {kind.sources()}"
    return _nothing("missing", kind, entity, window, 0.0, text)


def _nothing(
    relation: Relation,
    kind: FindingKind,
    entity: Entity,
    window: Window,
    weight: float,
    text: str,
) -> Evidence:
    return Evidence(
        relation=relation,
        family=kind.family,
        entity=entity,
        signal=kind.signals[0],
        window=window,
        observed=None,
        expected=None,
        weight=weight,
        text=text,
    )
