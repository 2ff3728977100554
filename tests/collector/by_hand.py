"""Findings that a test writes by hand."""

from rankscope.detectors.window import JobWindow
from rankscope.vocabulary import findings as kinds
from rankscope.vocabulary.entities import Entity
from rankscope.vocabulary.findings import Finding


def by_hand(window: JobWindow, kind: str, entity: Entity, onset: float) -> Finding:
    """Return a finding of this kind since then."""
    return Finding(
        kind=kind,
        job=window.job,
        attempt=window.attempt,
        entity=entity,
        onset=(onset, onset),
        magnitude=1.5,
        score=3.0,
        detector="by-hand",
        signal=kinds.catalogue()[kind].signals[0],
        window=(onset, onset + 20.0),
        observed=1.5,
        expected=1.0,
        text=f"{kind} on {entity}",
    )
