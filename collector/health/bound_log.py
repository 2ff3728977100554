"""What was cut or left out because there is too much of it: counted, logged, shown."""

import threading
from dataclasses import dataclass

import structlog

from ...vocabulary.clock import Clock
from .health import CollectorHealth

_LOG = structlog.get_logger(__name__)
LOG_EVERY_SECONDS = 600.0
_NAMED = 100
"""Characters of a job or host that the log shows."""

_MEANINGS = {
    "text": ("texts or names are longer than is taken", "evaluation.max_text_bytes"),
    "jobs": ("jobs are left out: there are too many", "evaluation.max_jobs"),
    "attempts": (
        "attempts are left out: a job has too many",
        "evaluation.max_attempts_of_job",
    ),
    "hosts": ("hosts are left out: there are too many", "evaluation.max_hosts"),
    "ranks": ("ranks of a job are left out: it has too many", "evaluation.max_ranks_of_job"),
    "event_bytes": ("older events are let go of", "evaluation.max_event_bytes_of_one"),
    "sender_jobs": ("a sender names too many jobs", "intake.max_jobs_of_sender"),
    "sender_hosts": ("a sender names too many hosts", "intake.max_hosts_of_sender"),
}
"""By bound: what it means, and the setting."""


@dataclass(slots=True)
class _PassedBound:
    """When a bound was last passed, and last logged, and what was not logged since."""

    at: float
    logged_at: float
    of: str
    unlogged: int = 0


class BoundLog:
    """Takes note of what passed a bound; may be called from any thread."""

    def __init__(self, *, health: CollectorHealth, clock: Clock) -> None:
        self._health = health
        self._clock = clock
        self._lock = threading.Lock()
        self._passed: dict[str, _PassedBound] = {}

    def passed(self, bound: str, of: str, count: int = 1) -> None:
        """Count what passed a bound; log the first, and then how many every ten minutes."""
        self._health.bounded.labels(bound).inc(count)
        of, now = of[:_NAMED], self._clock.now()
        with self._lock:
            held = self._passed.get(bound)
            if held is not None and now - held.logged_at < LOG_EVERY_SECONDS:
                held.at, held.of = now, of
                held.unlogged += count
                return
            count += 0 if held is None else held.unlogged
            self._passed[bound] = _PassedBound(now, now, of)
        means, setting = _MEANINGS[bound]
        _LOG.warning(means, bound=bound, of=of, count=count, setting=setting)

    def warnings(self) -> list[str]:
        """Return what an operator has to know of the last ten minutes."""
        now = self._clock.now()
        with self._lock:
            return [
                f"{means} (the last of {held.of!r}); the bound is {setting}"
                for bound, (means, setting) in _MEANINGS.items()
                if (held := self._passed.get(bound)) is not None
                and now - held.at < LOG_EVERY_SECONDS
            ]
