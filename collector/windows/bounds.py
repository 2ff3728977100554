"""Bounds on what windows hold of jobs and hosts, and notes of what was left out because of them.

Part of the pipeline, so that a replay leaves out the same.
"""

from dataclasses import dataclass, field
from typing import Literal

BoundName = Literal["jobs", "attempts", "hosts", "ranks", "event_bytes"]


@dataclass(frozen=True, slots=True)
class WindowBounds:
    """The most jobs and hosts in all, attempts and ranks of a job, and bytes of held events.

    attempts: from so many on the older ones of a job are let go of. events_of_one: bytes of the
    events of one attempt, or of one host; events: of all together.
    """

    jobs: int = 10_000
    hosts: int = 200_000
    attempts: int = 16
    ranks: int = 1 << 18
    events_of_one: int = 4 << 20
    events: int = 256 << 20


@dataclass(slots=True)
class BoundNotes:
    """What was left out since it was last looked: by bound, how much, and of whom the last was."""

    found: dict[BoundName, tuple[int, str]] = field(default_factory=dict)

    def add(self, bound: BoundName, of: str, count: int = 1) -> None:
        """Note that so much of a job or host was left out."""
        self.found[bound] = (self.found.get(bound, (0, ""))[0] + count, of)

    def take(self) -> dict[BoundName, tuple[int, str]]:
        """Return all notes, and hold none of them any longer."""
        found, self.found = self.found, {}
        return found
