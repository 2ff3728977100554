"""What torch's allocator holds, at the end of a step: the same phase of every step it looks at."""

import time

from .. import devices
from ..budgets import TimeBudget
from .context import HookContext

_SHARE = 0.0005
"""The books are read on the host in some 50 us, so at short steps not at every one."""


class AllocatorReadings:
    """Reads the allocator's books once the job uses a CUDA device."""

    def __init__(self, context: HookContext) -> None:
        self._seat = context
        self._budget = TimeBudget(_SHARE)

    def close(self) -> None:
        """Add the figures to the step that is about to end."""
        device = self._seat.device
        if device is None or not self._budget.due():
            return
        began = time.perf_counter()
        allocated, reserved, retries = devices.memory(self._seat.torch, device.index)
        step = self._seat.open
        step.set("training.memory.allocated", allocated)
        step.set("training.memory.reserved", reserved)
        step.set("training.memory.retries", retries)
        self._budget.spent(time.perf_counter() - began)
