"""Alerts of others, taken from an Alertmanager: context in the timelines of incidents, no findings.

They say nothing about who is still reporting, and open nothing: a host that an alert names may be
silent, and a job may not be known. An open incident notes those that fire on its jobs or their
hosts, and their ends.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from ..vocabulary.samples import Event
from ..vocabulary.times import rfc3339

EVENT = "alert"
"""Name of the event; see the event catalogue."""
MOST = 2000
"""Alerts that are held, those received last."""
MOST_NOTED = 20
"""Entries of one incident's timeline."""
BEFORE_SECONDS = 900.0
"""An alert that ended so long before an incident began has nothing to do with it."""
UNREPEATED_SECONDS = 90_000.0
"""A day and an hour after an alert was last sent it no longer counts as firing. An Alertmanager
repeats what fires, every four hours by default, and never sends the end of an alert that ended
while it was silenced or inhibited, or that it forgot as it was killed (0.25)."""

_LONGEST_TEXT = 200


@dataclass(frozen=True, slots=True)
class TimelineNote:
    """One entry for a timeline; `key` is the same for the same news."""

    key: str
    text: str
    kind: str = "alert"


@dataclass(slots=True)
class _OutsideAlerts:
    firing: Event
    last_received: float
    resolved: Event | None = None

    def begins_anew(self, event: Event, received_at: float) -> bool:
        """Return whether what fires began after this was last sent, whose end was not sent."""
        return self.last_received < event.at < received_at


@dataclass(slots=True)
class OutsideAlerts:
    """The alerts of others by fingerprint, the last received at the end."""

    held: dict[str, _OutsideAlerts] = field(default_factory=dict)

    def take(self, event: Event, received_at: float) -> None:
        """Take an alert event; what was received before is the same news."""
        key = str(event.attributes.get("fingerprint", ""))
        row = self.held.pop(key, None)
        if event.attributes.get("status") == "resolved":
            if row is None:
                return
            row.resolved = event
        elif row is None or row.resolved is not None or row.begins_anew(event, received_at):
            row = _OutsideAlerts(event, received_at)
        row.last_received = received_at
        self.held[key] = row
        if len(self.held) > MOST:
            del self.held[next(iter(self.held))]

    def notes(self, job: str, hosts: Collection[str], opened_at: float) -> Iterator[TimelineNote]:
        """Yield what an incident of a job on these hosts, begun at `opened_at`, has to do with."""
        short = {_short(host) for host in hosts}
        for key, row in self.held.items():
            resource = row.firing.resource
            if resource.job != job and not (resource.host and _short(resource.host) in short):
                continue
            ended = row.resolved
            if ended is not None and ended.at < opened_at - BEFORE_SECONDS:
                continue
            if ended is None and row.last_received < opened_at - UNREPEATED_SECONDS:
                continue
            since = rfc3339(row.firing.at)
            yield TimelineNote(f"{key} {since}", _text(row.firing, f"fires since {since}"))
            if ended is not None:
                yield TimelineNote(
                    f"{key} {since} ended", _text(ended, f"ended {rfc3339(ended.at)}")
                )


def _text(event: Event, what: str) -> str:
    name, text = event.attributes.get("name", ""), event.attributes.get("text", "")
    where = event.resource.host or event.resource.job
    said = f": {text}" if text else ""
    return f"alert {name} on {where} {what}{said}"[:_LONGEST_TEXT]


def _short(host: str) -> str:
    """Return a host's name without its domain; an address stays as it is."""
    first = host.partition(".")[0]
    return host if first.isdigit() else first
