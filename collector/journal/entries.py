"""One entry of the journal: a payload and when it was received."""

from dataclasses import dataclass, field

from ...formats.otlp.columns import BodyLayout
from .kinds import PayloadKind


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """A payload with its receive time in nanoseconds since the epoch.

    The time is whole nanoseconds because that is what the file holds: live and replay must
    compute with the very same number. `layout`, where it is known, lets the file hold less.
    """

    kind: PayloadKind
    at_ns: int
    body: bytes
    layout: BodyLayout | None = field(default=None, compare=False)

    @property
    def at(self) -> float:
        """Return the receive time in seconds since the epoch."""
        return self.at_ns / 1_000_000_000  # of two integers: rounded once
