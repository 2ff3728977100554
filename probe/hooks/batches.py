"""The wait for the next batch, where the loop uses torch's own DataLoader.

Replaces `_BaseDataLoaderIter.__next__`: torch has no hook there, and it is the one place where
the training thread waits for data, whatever the loop looks like. A call from another thread (a
prefetcher) is no wait of the training thread and is left alone.
"""

import threading
import time
from typing import Any

from ..patches import BowOutError, Function
from .seat import Seat


def install(seat: Seat) -> None:
    """Time every `next` on a DataLoader's iterator."""
    loader = getattr(getattr(seat.torch.utils, "data", None), "dataloader", None)
    iterator = getattr(loader, "_BaseDataLoaderIter", None)
    if iterator is None:
        raise BowOutError("torch.utils.data.dataloader._BaseDataLoaderIter is not there")
    timeline = seat.timeline

    def timed(original: Function) -> Function:
        def __next__(self: Any) -> Any:  # noqa: N807  the name it replaces
            if seat.away() or timeline.waiting or threading.get_ident() != timeline.thread:
                return original(self)
            timeline.waiting = True
            began = time.perf_counter()
            try:
                return original(self)
            finally:
                timeline.waiting = False
                _waited(seat, time.perf_counter() - began)

        return __next__

    seat.patches.replace(iterator, "__next__", timed)


def _waited(seat: Seat, seconds: float) -> None:
    try:
        seat.timeline.begin_first(seconds)
        step = seat.timeline.open
        step.data += seconds
        step.data_known = True
        if seat.device is not None:
            seat.device.poll()
            seat.device.mark("begin")
        model = seat.model
        if model is not None and not getattr(model, "training", True):
            seat.phases.enter("eval")
    except Exception:  # noqa: BLE001  the edge of the job
        seat.failed()
