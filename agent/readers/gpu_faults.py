"""What this node's devices said was wrong with them, counted; and the state they are in."""

from ...vocabulary.samples import Sample
from ..verdicts import Verdicts


class GpuFaults:
    """Passes on what the agent's verdicts say, and has them written to the disk."""

    name = "gpu_faults"

    def __init__(self, *, period: float, verdicts: Verdicts) -> None:
        self.period = period
        self._verdicts = verdicts

    def supported(self) -> tuple[bool, str]:
        """Tell that there is always something to say: of no device, nothing."""
        return True, ""

    def read(self, now: float) -> list[Sample]:
        """Return fault counters and states; raises OSError when they cannot be kept."""
        self._verdicts.keep(now)
        return self._verdicts.samples(now)
