"""Causes of what was found where every source reports."""

from rankscope.alerts.causes import engine
from rankscope.alerts.policy import IncidentPolicy
from rankscope.vocabulary import findings as kinds

EVERYTHING = frozenset(s for kind in kinds.catalogue().values() for s in kind.signals)
"""Every signal that a finding can rest on."""


def explain(findings, topology, *, observed=EVERYTHING, **more):
    """Explain what was found as if it had one root; every signal is reported."""
    return engine.explain(findings, topology, observed=observed, **more)


def named(cause):
    """Return the first cause, and type and id of its entity."""
    first = cause.hypotheses[0]
    return first.fault, first.entity.type, first.entity.id


ALL_AT_ONCE = IncidentPolicy(unnamed_minutes=0.0, observes=False)
"""All that is found is an incident, whatever it has cost."""
