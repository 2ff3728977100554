"""DistributedDataParallel: that it is there, and the wait for buffers at the start of a forward.

Replaces `DistributedDataParallel._pre_forward` and `_sync_buffers`: a module hook would be
pickled with the model, and the broadcast of buffers (batch norm) is a wait for rank 0 that would
otherwise count as this rank's own work. Both are private; without them this hook stays away.
"""

import time
from typing import Any

from ..patches import BowOutError, Function
from .seat import Seat


def install(seat: Seat) -> None:
    """See replicas run forward, and time their buffer broadcasts."""
    parallel = getattr(getattr(seat.torch.nn, "parallel", None), "DistributedDataParallel", None)
    if parallel is None:
        raise BowOutError("torch.nn.parallel.DistributedDataParallel is not there")

    def seen(original: Function) -> Function:
        def _pre_forward(self: Any, *args: Any, **kwargs: Any) -> Any:
            if not seat.away() and not seat.replicated:
                seat.replicated = True
                if seat.model is None:
                    seat.model = self
            return original(self, *args, **kwargs)

        return _pre_forward

    def timed(original: Function) -> Function:
        def _sync_buffers(self: Any, *args: Any, **kwargs: Any) -> Any:
            if seat.away() or seat.device is not None:
                return original(self, *args, **kwargs)
            began = time.perf_counter()
            try:
                return original(self, *args, **kwargs)
            finally:
                seat.open.comm += time.perf_counter() - began

        return _sync_buffers

    seat.patches.replace(parallel, "_pre_forward", seen)
    seat.patches.replace(parallel, "_sync_buffers", timed)
