"""How many jobs a sender of datagrams may name: a node runs few, and each costs the collector."""

_REMEMBER_SECONDS = 600.0


class JobQuota:
    """The jobs that each sender named lately; who names too many is refused further ones."""

    def __init__(self, most: int) -> None:
        """`most`: jobs of one sender within ten minutes."""
        self._most = most
        self._named: dict[str, dict[str, float]] = {}
        """By sender: when each job was named last (s), the longest ago first."""

    def admits(self, sender: str, job: str, now: float) -> bool:
        """Note that a sender named a job; return whether it may."""
        jobs = self._named.setdefault(sender, {})
        if job not in jobs and len(jobs) >= self._most:
            oldest = next(iter(jobs))
            if now - jobs[oldest] < _REMEMBER_SECONDS:
                return False
            del jobs[oldest]
        jobs.pop(job, None)
        jobs[job] = now
        self._forget(now)
        return True

    def _forget(self, now: float) -> None:
        """Forget a sender that is silent; one at a time keeps up with those that come."""
        sender = next(iter(self._named))
        jobs = self._named.pop(sender)
        if now - next(reversed(jobs.values())) < _REMEMBER_SECONDS:
            self._named[sender] = jobs
