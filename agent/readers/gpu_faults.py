"""What this node's devices said was wrong with them, counted; and the state they are in."""

import logging

from ...vocabulary.samples import Sample
from ..health import Health
from ..verdicts import Verdicts

_log = logging.getLogger(__name__)


class GpuFaults:
    """Passes on what the agent's verdicts say, and has them written to the disk."""

    name = "gpu_faults"

    def __init__(self, *, period: float, verdicts: Verdicts, health: Health) -> None:
        self.period = period
        self._verdicts = verdicts
        self._health = health
        self._failing = ""

    def supported(self) -> tuple[bool, str]:
        """Tell that there is always something to say: of no device, nothing."""
        return True, ""

    def read(self, now: float) -> list[Sample]:
        """Return fault counters and states, also while they cannot be kept (a full disk)."""
        failing = ""
        try:
            self._verdicts.keep(now)
        except OSError as error:
            failing = error.strerror or str(error)
            self._health.count("reader_failures", self.name, "state")
        if failing and failing != self._failing:
            _log.warning("faults cannot be kept over a restart: %s; see node.state", failing)
        self._failing = failing
        return self._verdicts.samples(now)
