"""NVIDIA devices through their library: one reader a subject, all fed by one worker process."""

from ...vocabulary.samples import Sample
from ..nvml.supervisor import WorkerSupervisor

_FIRST_WORD_SECONDS = 5.0
_ANSWERING = (("hw.vendor", "nvidia"), ("state", "answering"))
_FAILED = (("hw.vendor", "nvidia"), ("state", "failed"))
_ASK_AGAIN_SECONDS = 10.0
"""Drivers may be loaded minutes after the node is up; whether to try, the supervisor decides."""


class GpuSubject:
    """Passes on what the worker reported about one subject (see agent/nvml/subjects)."""

    ask_again = _ASK_AGAIN_SECONDS

    def __init__(self, name: str, *, period: float, supervisor: WorkerSupervisor) -> None:
        self.name = name
        self.period = period
        self._supervisor = supervisor

    def supported(self) -> tuple[bool, str]:
        """Return whether NVIDIA's library is here; waits for its first word."""
        return self._supervisor.status(wait=_FIRST_WORD_SECONDS)

    def read(self, now: float) -> list[Sample]:
        """Return the last values of each device, unless they are older than three periods."""
        return self._supervisor.samples(self.name, since=now - 3 * self.period)

    def notes(self) -> dict[str, str]:
        """Return functions without an answer on any device, and why."""
        reasons: dict[str, str] = {}
        for by_function in self._supervisor.notes().values():
            reasons.update(by_function)
        return reasons


class GpuWatch:
    """Looks after the worker every second, and reports which devices answer."""

    name = "gpu_watch"
    period = 1.0
    ask_again = _ASK_AGAIN_SECONDS

    def __init__(self, *, supervisor: WorkerSupervisor) -> None:
        self._supervisor = supervisor

    def supported(self) -> tuple[bool, str]:
        """Return whether NVIDIA's library is here."""
        return self._supervisor.status(wait=_FIRST_WORD_SECONDS)

    def read(self, now: float) -> list[Sample]:
        """Check the worker; return how many devices answer."""
        self._supervisor.check()
        answering = self._supervisor.answering(now)
        if not answering:
            return []
        count = sum(answering.values())
        return [
            Sample("hw.gpu.count", count, now, _ANSWERING),
            Sample("hw.gpu.count", len(answering) - count, now, _FAILED),
        ]
