"""Where the processes of a job's ranks ran, and when they were seen to live."""

from dataclasses import dataclass


@dataclass(slots=True)
class RankWhereabouts:
    """Of one rank: "" and None where nothing says it. first, last: s since the epoch."""

    host: str = ""
    pid: int | None = None
    hw_id: str | None = None
    first: float | None = None
    last: float | None = None

    def lives(self, at: float) -> None:
        """Note that it was alive at a time."""
        self.first = at if self.first is None else min(self.first, at)
        self.last = at if self.last is None else max(self.last, at)
