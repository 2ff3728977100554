"""Findings that rest on what nobody could check: whose senders only claim a rank."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

from ..vocabulary import events, metrics
from ..vocabulary.findings import Finding
from ..vocabulary.samples import CLAIMED, Event
from .window import JobWindow

ENDS = ("process.exit", "host.oom_kill")
QUIET_SECONDS, QUIET_STEPS = 30.0, 10.0
"""So long, or so many usual steps, no step must have ended since ends that were only claimed."""
AGAIN_SECONDS = 5.0
"""After so long it is looked whether one has."""


def is_claimed(event: Event) -> bool:
    """Return whether nobody could check that an event is of the rank that it names."""
    return CLAIMED.items() <= event.attributes.items()


def marked(window: JobWindow, findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return findings of a window, those marked that rest on what was only claimed.

    That is an event that was; one of the ranks in question that was checked is enough, and ends are
    believed once no step of the job ends any more, which nobody can feign of others. And it is all
    that processes report of ranks which are only claimed beside others that were checked.
    """
    return tuple(_marked(window, finding) for finding in findings)


def due(window: JobWindow, findings: Iterable[Finding]) -> float:
    """Return when time alone could show that what was claimed of ends is so; inf: never."""
    waits = any(finding.claimed and finding.signal in ENDS for finding in findings)
    return window.now + AGAIN_SECONDS if waits else math.inf


def _marked(window: JobWindow, finding: Finding) -> Finding:
    if not (_of_claimed_ranks(window, finding) or _of_claimed_events(window, finding)):
        return finding
    return replace(finding, claimed=True, text=f"{finding.text} (claimed, not checked)")


def _of_claimed_ranks(window: JobWindow, finding: Finding) -> bool:
    if not window.claimed_ranks:
        return False  # as nearly always
    ranks = finding.ranks or finding.entity.ranks
    metric = metrics.catalogue().get(finding.signal)
    if not ranks or (metric is not None and metric.observed):
        return False
    kind = events.catalogue().get(finding.signal)
    return not (kind is not None and kind.observed) and window.claimed_ranks.issuperset(ranks)


def _of_claimed_events(window: JobWindow, finding: Finding) -> bool:
    if finding.signal not in events.catalogue():
        return False
    told = _about(finding, window.named(finding.signal))
    if not told or not all(map(is_claimed, told)):
        return False
    return not (finding.signal in ENDS and _stands_since(window, told))


def _about(finding: Finding, told: Sequence[Event]) -> Sequence[Event]:
    """Return the events of the ranks that a finding is about, of all where it names none."""
    ranks = finding.ranks or finding.entity.ranks
    return [event for event in told if event.attributes.get("rank") in ranks] or told


def _stands_since(window: JobWindow, told: Sequence[Event]) -> bool:
    """Return whether the job made no step since these events; False where it never made any."""
    last, usual = window.features.pace
    newest = max(event.at for event in told)
    quiet = max(QUIET_SECONDS, QUIET_STEPS * usual)
    return last <= newest + usual and window.now - newest >= quiet
