"""What a replay went through beside its incidents: how much it read, and when people are notified.

The replays of a log's partitions share one, so that it is that of the whole log.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ...vocabulary.times import rfc3339
from ..intake.payloads import DecodedPayload


@dataclass(frozen=True, slots=True)
class ReplayNotice:
    """One moment at which people are notified of an incident, before silences and routes."""

    at: float
    kind: str
    severity: str

    @property
    def time(self) -> str:
        """Return its time as documents write it."""
        return rfc3339(self.at)


@dataclass(slots=True)
class ReplayResult:
    """`accepted`: samples and events that were applied. `cut_off`: what was said of cut files.

    notices: by id of the incident.
    """

    accepted: int = 0
    cut_off: list[str] = field(default_factory=list)
    notices: dict[str, list[ReplayNotice]] = field(default_factory=dict)

    def count(self, decoded: DecodedPayload) -> None:
        """Count what was applied; what people did is no telemetry."""
        if decoded.action is None:
            self.accepted += decoded.accepted

    def note(self, changes: Sequence[Any], now: float) -> None:
        """Note which changes of incidents people are notified of."""
        for change in changes:
            if change.notify:
                notice = ReplayNotice(now, change.kind, change.incident.severity)
                self.notices.setdefault(change.incident.id, []).append(notice)
