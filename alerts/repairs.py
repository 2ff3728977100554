"""Devices that are still gone when their job is well again or over: their incidents stay open.

A job that goes on without a device, or ends, repairs nothing, and who reads "resolved" puts the
next job on it. So the incident stays open until the device gives readings again, for
LONGEST_SECONDS at most, or until a person resolves it. Meanwhile it costs no job anything, and what
happens to the job is compared with it as with an incident that is over. One whose device nobody
ever read is resolved with its job: nobody would see it return. So is a host that is lost: the
scheduler knows of it, and machines that are rented never return.
"""

from collections.abc import Callable, Iterator

from ..vocabulary.entities import Entity
from ..vocabulary.ids import IncidentId
from .causes.catalogue import cause_of
from .lifecycle import IncidentChange, TrackedIncident

LONGEST_SECONDS = 86_400.0
"""What is not seen for a day was replaced by another, or is read by nobody any more."""

CURRENT_SECONDS = 120.0
"""A device works whose newest reading is no older, and newer than what was wrong with it."""

Seen = Callable[[Entity], float | None]
"""When a device last gave a reading that only one that works gives; -inf while it counts as failed,
None where it never gave any."""


def unread(_device: Entity) -> float | None:
    return None


class AwaitedRepairs:
    """The incidents whose device is waited for, by id."""

    def __init__(self) -> None:
        self.waiting: dict[IncidentId, TrackedIncident] = {}

    def needed(self, incident: TrackedIncident, seen: Seen, now: float) -> bool:
        """Return whether the device that an incident is about is gone at `now`."""
        cause = None if incident.first is None else cause_of(incident.root[0])
        if cause is None or not cause.awaits_repair:
            return False
        at = seen(_device(incident))
        return at is not None and not _works(incident, at, now)

    def take(self, incident: TrackedIncident) -> None:
        """Wait for the device of an incident, if that is what it is open for."""
        if incident.awaited_at is not None:
            self.waiting[incident.id] = incident

    def ended(self, seen: Seen, now: float) -> Iterator[tuple[IncidentChange, TrackedIncident]]:
        """Yield the incidents that are over: their device works again, or is waited for no more."""
        for incident in list(self.waiting.values()):
            if incident.awaited_at is None:  # it returned, or a person has resolved it
                del self.waiting[incident.id]
                continue
            device = _device(incident)
            at = seen(device)
            if at is not None and _works(incident, at, now):
                text = f"{device} gives readings again"
            elif now - incident.awaited_at >= LONGEST_SECONDS:
                hours = LONGEST_SECONDS / 3600
                text = f"{device} has given no readings for {hours:g} h: it is waited for no more"
            else:
                continue
            del self.waiting[incident.id]
            notify = incident.notices.severity is not None
            yield incident.resolve(now, text, at=now, notify=notify), incident


def _device(incident: TrackedIncident) -> Entity:
    assert incident.first is not None  # noqa: S101  only incidents with a first cause wait
    return incident.first.cause.hypotheses[0].entity


def _works(incident: TrackedIncident, at: float, now: float) -> bool:
    wrong_until = max(part.last_active for part in incident.parts.values())
    return at > wrong_until and now - at <= CURRENT_SECONDS
