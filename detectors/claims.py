"""Findings that rest on what nobody could check: events whose senders only claim a rank."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from ..vocabulary import events
from ..vocabulary.findings import Finding
from ..vocabulary.samples import CLAIMED, Event
from .window import JobWindow


def is_claimed(event: Event) -> bool:
    """Return whether nobody could check that an event is of the rank that it names."""
    return CLAIMED.items() <= event.attributes.items()


def marked(window: JobWindow, findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return findings of a window, those marked whose signal is an event that was only claimed.

    What a metric shows is evaluated whoever sent it. One event of the ranks in question that was
    checked is enough.
    """
    return tuple(_marked(window, finding) for finding in findings)


def _marked(window: JobWindow, finding: Finding) -> Finding:
    if finding.signal not in events.catalogue():
        return finding
    told = _about(finding, window.named(finding.signal))
    if not told or not all(map(is_claimed, told)):
        return finding
    return replace(finding, claimed=True, text=f"{finding.text} (claimed, not checked)")


def _about(finding: Finding, told: Sequence[Event]) -> Sequence[Event]:
    """Return the events of the ranks that a finding is about, of all where it names none."""
    ranks = finding.ranks or finding.entity.ranks
    return [event for event in told if event.attributes.get("rank") in ranks] or told
