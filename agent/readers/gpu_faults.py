"""What this node's devices reported as wrong, counted; and the state they are in."""

import logging

from ...vocabulary.samples import Sample
from ..device_faults import FaultTracker
from ..health import AgentHealth

_log = logging.getLogger(__name__)


class GpuFaults:
    """Passes on the agent's open faults, and has them written to the disk."""

    name = "gpu_faults"

    def __init__(self, *, period: float, fault_tracker: FaultTracker, health: AgentHealth) -> None:
        self.period = period
        self._fault_tracker = fault_tracker
        self._health = health
        self._failing = ""

    def supported(self) -> tuple[bool, str]:
        """Return true: without devices there is nothing to report."""
        return True, ""

    def read(self, now: float) -> list[Sample]:
        """Return fault counters and states, also while they cannot be kept (a full disk)."""
        failing = ""
        try:
            self._fault_tracker.keep(now)
        except OSError as error:
            failing = error.strerror or str(error)
            self._health.count("reader_failures", self.name, "state")
        if failing and failing != self._failing:
            _log.warning("faults cannot be kept over a restart: %s; see node.state", failing)
        self._failing = failing
        return self._fault_tracker.samples(now)
