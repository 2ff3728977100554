"""How long the logs of a job have shown no step, against the pauses that they make anyway.

A rank without a probe gives no other sign of whether it works: its process is there either way.
Logs are written every so many steps, in blocks, and not during evaluations: what is long is
measured by the longest pause of late.
"""

from collections import deque
from dataclasses import dataclass, field

SHORTEST_SECONDS = 12.0
"""As long as a probe may be silent."""
_TIMES = 3.0
_FEWEST = 5
_KEPT = 64
_MOST_JOBS = 256

Attempt = tuple[str, int | None]
"""Job and attempt."""


@dataclass(slots=True)
class _Job:
    last: float
    pauses: deque[float] = field(default_factory=lambda: deque(maxlen=_KEPT))


class LogPauses:
    """The newest pauses of every job of this node; for one thread. Times are seconds."""

    def __init__(self) -> None:
        self._jobs: dict[Attempt, _Job] = {}

    def logged(self, of: Attempt, now: float) -> None:
        """Note that logs of a job showed something of a step."""
        job = self._jobs.get(of)
        if job is None:
            if len(self._jobs) >= _MOST_JOBS:
                del self._jobs[next(iter(self._jobs))]
            self._jobs[of] = _Job(now)
            return
        job.pauses.append(now - job.last)
        job.last = now

    def silent(self, of: Attempt, now: float) -> bool:
        """Return whether it is longer since then than anything this job's logs explain."""
        job = self._jobs.get(of)
        if job is None or len(job.pauses) < _FEWEST:
            return False
        return now - job.last > max(SHORTEST_SECONDS, _TIMES * max(job.pauses))
