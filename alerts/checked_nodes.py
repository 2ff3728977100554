"""Results of active checks in the timelines of incidents: what is wrong, and what was asked for."""

from collections.abc import Collection, Iterable, Iterator

from ..vocabulary.samples import Event
from .outside import TimelineNote

_BAD = ("slow", "failed")
_LONGEST_TEXT = 200
_BEFORE_SECONDS = 900.0


def notes(
    events: Iterable[Event], hosts: Collection[str], opened_at: float
) -> Iterator[TimelineNote]:
    """Yield bad results of these hosts about an incident's time, and all that were run for one.

    A node that checks itself every few minutes and passes is no news.
    """
    for event in events:
        said = event.attributes
        verdict = said.get("verdict")
        if verdict not in _BAD and "incident" not in said:
            continue
        host = event.resource.host
        if host not in hosts or event.at < opened_at - _BEFORE_SECONDS:
            continue
        check, device = said.get("check", ""), said.get("device", "")
        text = f"check {check} of {device} on {host}: {verdict}: {said.get('reason', '')}"
        key = f"check {host} {device} {check} {event.at:.3f}"
        yield TimelineNote(key, text[:_LONGEST_TEXT], "check")
