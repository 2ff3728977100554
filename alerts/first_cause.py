"""The first cause of an open incident: provisional, then stable, and when it gives way.

A provisional cause gives way at once. A stable one gives way to a cause that leads and lasts (an
unknown one to any that is named and lasts), and is given up when its own evidence has been gone for
a while: evidence has an age.
"""

import math
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from functools import cache

from ..vocabulary import faults
from ..vocabulary.ids import Fault
from ..vocabulary.incidents import Hypothesis, RootCause
from .causes import active
from .causes.active import CheckAnswer
from .causes.calibration import overlap
from .causes.catalogue import cause_of

STABLE_SECONDS = 10.0
"""The first cause must hold for so long before it is called stable."""

MARGIN = 0.5
"""How far another first cause must lead (nats) before it replaces a stable one."""

EVIDENCE_SECONDS = 20.0
"""A stable cause is given up when for so long it has not beaten unknown on current evidence."""

NOTHING_NEW_SECONDS = 300.0
"""The same where the other cause rests on nothing that the stable one has not explained as well:
evidence that comes and goes is no sign that what it showed is over. A cause that was supported for
longer is given up after as long: detectors compare with the past, and take in what lasts."""

RootKey = tuple[Fault, str, str]
"""Fault, and type and id of its entity."""


def key(cause: RootCause) -> RootKey:
    """Return what identifies the root that an explanation names first."""
    return _root(cause.hypotheses[0])


def _root(row: Hypothesis) -> RootKey:
    return row.fault, row.entity.type, row.entity.id


def gives_way(fault: Fault) -> bool:
    """Return whether a fault gives way to one that becomes visible at the same place."""
    cause = cause_of(fault)
    return fault == faults.UNKNOWN or (cause is not None and cause.gives_way)


@cache
def _contradicting(fault: Fault) -> Mapping[str, float]:
    """Return what a finding of each kind weighs against a fault, by the catalogue."""
    cause = cause_of(fault)
    return {} if cause is None else {row.finding: row.present for row in cause.contradicts}


def _against(row: Hypothesis) -> float:
    """Return the weight of what was found against a hypothesis, zero or less."""
    return sum(t.weight for t in row.evidence if t.relation == "contradicts" and t.kind)


def named(cause: RootCause) -> str:
    """Return the first cause in words."""
    first = cause.hypotheses[0]
    return f"{first.fault} ({first.entity})"


@dataclass(slots=True)
class FirstCause:
    """The root cause an incident shows, since when, and until when its evidence was there."""

    cause: RootCause
    since: float
    supported_at: float
    rival_since: float | None = None
    why: str = "the first ranking of the first evidence"
    """Why the held cause is the first one, or became stable."""
    explained: set[str] = field(default_factory=set[str])
    """Kinds of findings that have supported the held cause."""
    answers: AbstractSet[CheckAnswer] = frozenset()
    """What checks said by the last explanation that named this cause first."""

    def __post_init__(self) -> None:
        """Note what supports the cause."""
        self.explained |= _explained(self.cause.hypotheses[0])

    def update(
        self,
        found: RootCause,
        now: float,
        *,
        ages: bool,
        checked: bool = True,
        answers: AbstractSet[CheckAnswer] = frozenset(),
    ) -> str | None:
        """Take the explanation of `now`; return what to write on the timeline.

        None where nothing material changed, "" where it did and needs no entry. `ages`: the
        symptoms last only as long as their cause, so that evidence that is gone counts. `checked`:
        not all of them are only claimed; else it stays provisional, and nothing acts on it.
        `answers`: what checks said until now.
        """
        if self._supported(found):
            self.supported_at = now
        if key(found) != key(self.cause):
            return self._rival(found, now, ages=ages)
        self.rival_since = None
        # What somebody asked a node for is an answer, whichever way it turned out, and of whichever
        # cause: one that rules the second out settles the first.
        held_faults = {row.fault for row in self.cause.hypotheses}
        answered = any(active.bears_on(one, held_faults) for one in answers - self.answers)
        self.answers = answers
        self.explained |= _explained(found.hypotheses[0])
        lasts = now - self.since >= STABLE_SECONDS
        settled = self.cause.status != "stable" and lasts and checked
        held, first = self.cause.hypotheses[0], found.hypotheses[0]
        nearer = answered or _rivals(found) > _rivals(self.cause) + MARGIN
        if self.cause.status == "stable" and first.score < held.score + MARGIN and not nearer:
            return None
        better = nearer or _shape(first) != _shape(held) or first.score > held.score + MARGIN
        if not better and not settled:
            return None
        stable = settled or self.cause.status == "stable"
        self.cause = replace(found, status="stable" if stable else "provisional")
        if settled:
            self.why = f"it was ranked first for {STABLE_SECONDS:.0f} s"
        return f"stable: {named(self.cause)}" if settled else ""

    def over(self, shown: AbstractSet[str]) -> bool:
        """Return whether the held cause ended with its own symptom: these kinds are left."""
        cause = cause_of(self.cause.hypotheses[0].fault)
        return (
            cause is not None and bool(cause.over_without) and shown.isdisjoint(cause.over_without)
        )

    def _supported(self, found: RootCause) -> bool:
        """Return whether the held cause still beats unknown on the current evidence."""
        if key(found) == key(self.cause):
            return True
        held = key(self.cause)
        return any(
            (row.fault, row.entity.type, row.entity.id) == held and row.score > found.unknown.score
            for row in found.hypotheses
        )

    def _rival(self, found: RootCause, now: float, *, ages: bool) -> str | None:
        if self.cause.status == "stable":
            held = self.cause.hypotheses[0]
            ended = _follows(found.hypotheses[0], held)
            # What happened in the end is a fact; what led to it may have been a guess.
            if ended and held.confidence != "low":
                return None
            lasts = EVIDENCE_SECONDS
            if not self._brings(found.hypotheses[0]):
                lasts = max(NOTHING_NEW_SECONDS, self.supported_at - self.since)
            aged = ages and now - self.supported_at >= lasts
            # Unknown has no evidence to defend: what beats it now, and lasts, is better.
            leads = ended or (
                (
                    held.fault == faults.UNKNOWN != found.hypotheses[0].fault
                    or found.hypotheses[0].score >= self._standing(found) + MARGIN
                )
                and not _says_less(found.hypotheses[0], held)
            )
            if not leads and not aged:
                self.rival_since = None
                return None
            if self.rival_since is None:
                self.rival_since = now
            if not aged and not ended and now - self.rival_since < STABLE_SECONDS / 2:
                return None
            self.why = self._why_given_up(found, now, aged=aged and not leads)
        else:
            self.why = f"further evidence: {_strongest(found.hypotheses[0])}"
        self.cause, self.since, self.supported_at, self.rival_since = found, now, now, None
        self.explained = _explained(found.hypotheses[0])
        return f"first cause is now {named(found)}"

    def _brings(self, row: Hypothesis) -> bool:
        """Return whether a hypothesis rests on what the held one has not explained."""
        held = self.cause.hypotheses[0]
        if not overlap(row.entity, held.entity):
            return True
        return not _says_less(row, held) and not _rests_on(row) <= self.explained

    def _standing(self, found: RootCause) -> float:
        """Return the score of the held cause less what has come to contradict it since.

        Evidence that is gone for a while does not count against it, what was found since does: what
        the catalogue lists against the held cause, and what supports the other one there.
        """
        held = self.cause.hypotheses[0]
        now = next((row for row in found.hypotheses if _root(row) == _root(held)), None)
        if now is not None:
            return held.score + min(_against(now) - _against(held), 0.0)
        known = {row.kind for row in held.evidence if row.relation == "contradicts"}
        against = _contradicting(held.fault)
        return held.score + sum(
            against[kind]
            for kind in {
                row.kind
                for row in found.hypotheses[0].evidence
                if row.relation == "supports" and overlap(row.entity, held.entity)
            }
            if kind in against and kind not in known
        )

    def _why_given_up(self, found: RootCause, now: float, *, aged: bool) -> str:
        """Return why a stable cause gives way to another."""
        held = self.cause.hypotheses[0]
        if aged:
            gone = now - self.supported_at
            return f"nothing has supported {held.fault} for {gone:.0f} s"
        return f"it leads {held.fault}: {_strongest(found.hypotheses[0])}"


def _follows(row: Hypothesis, held: Hypothesis) -> bool:
    """Return whether a hypothesis is what the held one ends in."""
    cause = cause_of(held.fault)
    ends = cause is not None and row.fault in cause.ends_in
    return ends and (row.entity.host == held.entity.host or overlap(row.entity, held.entity))


def _says_less(row: Hypothesis, held: Hypothesis) -> bool:
    """Return whether a hypothesis is unknown, or one slow member of the group of the held one.

    Unknown gains where evidence is missing, which is no evidence; that a member is slow is how an
    uneven group shows.
    """
    if row.fault == faults.UNKNOWN:
        return held.fault != faults.UNKNOWN
    member = held.entity.type == "group" and overlap(row.entity, held.entity)
    return member and gives_way(row.fault) and not gives_way(held.fault)


def _explained(row: Hypothesis) -> set[str]:
    """Return the kinds of findings that a hypothesis explains."""
    return {term.kind for term in row.evidence if term.relation == "supports" and term.kind}


def _rests_on(row: Hypothesis) -> set[str]:
    """Return the kinds of findings that support a hypothesis, readings that count once once."""
    return {term.kind for term in row.evidence if term.weight > 0} & _explained(row)


def _rivals(cause: RootCause) -> float:
    """Return the score of the best hypothesis that comes after the first one."""
    return max((row.score for row in cause.hypotheses[1:]), default=-math.inf)


def _strongest(first: Hypothesis) -> str:
    """Return the text of what supports a hypothesis most, other than how frequent it is."""
    rows = [row for row in first.evidence if row.relation == "supports" and row.family != "prior"]
    if not rows:
        return "none that names a cause"
    return max(rows, key=lambda row: (row.weight, row.text)).text


def _shape(first: Hypothesis) -> tuple[object, ...]:
    """Return what makes two explanations differ to a reader: evidence, not decimals."""
    evidence = sorted((e.relation, e.family, e.entity.id, e.signal) for e in first.evidence)
    return first.confidence, tuple(evidence)
