"""What an object must have to be a detector, and the kinds of findings that it brings along.

A detector of somebody else's package is looked at before anything calls it: what is wrong comes as
sentences that begin with "it" or with the kind.
"""

from ..vocabulary import findings
from ..vocabulary.entities import ENTITY_TYPES
from ..vocabulary.findings import FindingKind
from .contract import Detector

_CONTRACT = f"{Detector.__module__}.{Detector.__qualname__}"
_FORM = "FindingKind (rankscope.vocabulary.findings)"


def missing(detector: object) -> list[str]:
    """Return what an object lacks to be a detector; empty where it is one."""
    members = ("evaluate", "next_due", "cadence_seconds")
    if absent := [member for member in members if not hasattr(detector, member)]:
        absence = " and no ".join(absent)
        return [f"it is not a Detector: it has no {absence} (inherit from {_CONTRACT})"]
    found: list[str] = []
    name, kinds = getattr(detector, "name", None), getattr(detector, "kinds", None)
    if name is None:
        found.append("it has no name")
    elif not isinstance(name, str):
        found.append(f"its name {name!r} is not text")
    if kinds is None:
        found.append("it has no kinds")
    elif not _texts(kinds):
        found.append(f'its kinds {kinds!r} are no tuple of names, as ("job.slow",) is')
    if getattr(type(detector), "evaluate", None) is Detector.evaluate:
        found.append("it has no evaluate")
    return found


def add_kinds(detector: object) -> list[str]:
    """Add a detector's own kinds of findings to the catalogue; return what is wrong with them.

    None is added where anything is.
    """
    kinds: object = getattr(detector, "finding_kinds", ())
    if not isinstance(kinds, tuple | list):
        return [f"its finding_kinds is a {type(kinds).__name__}, not a tuple of {_FORM}"]
    found: list[str] = []
    described: list[FindingKind] = []
    for kind in kinds:
        if isinstance(kind, FindingKind):
            found += _malformed(kind)
            described.append(kind)
        else:
            found.append(
                f"its finding_kinds holds {kind!r}, a {type(kind).__name__}: list a {_FORM} instead"
            )
    if not found:
        try:
            findings.add(described)
        except ValueError as error:
            found.append(f"its finding_kinds: {error}")
    return found


def _malformed(kind: FindingKind) -> list[str]:
    found = [
        f"the kind {kind.kind} has {name} {held!r}, not a tuple of names"
        for name, held in (("entities", kind.entities), ("signals", kind.signals))
        if not _texts(held)
    ]
    if not found and (other := sorted(set(kind.entities) - set(ENTITY_TYPES))):
        allowed = ", ".join(ENTITY_TYPES)
        found.append(f"the kind {kind.kind} is about a {', '.join(other)}; there are {allowed}")
    if kind.effect not in findings.EFFECTS:
        allowed = ", ".join(findings.EFFECTS)
        found.append(f"the kind {kind.kind} has the effect {kind.effect!r}; there are {allowed}")
    return found


def _texts(value: object) -> bool:
    return isinstance(value, tuple | list) and all(isinstance(one, str) for one in value)
