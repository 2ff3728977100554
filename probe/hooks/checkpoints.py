"""The time that `torch.save` takes, which is how most loops write their checkpoints.

Replaces `torch.save` where it is looked up: torch has no hook on it. `watch.checkpoint()` tells
more exactly what belongs to a checkpoint; a save inside it counts once.
"""

import threading
import time
from typing import Any

from ..patches import Function
from .seat import Seat


def install(seat: Seat) -> None:
    """Time every outermost save in the thread that trains."""
    inside = False

    def timed(original: Function) -> Function:
        def save(*args: Any, **kwargs: Any) -> Any:
            nonlocal inside
            timeline = seat.timeline
            if inside or timeline.saving or seat.away():
                return original(*args, **kwargs)
            if threading.get_ident() != timeline.thread:
                return original(*args, **kwargs)  # an asynchronous writer: nobody waits for it
            inside = True
            seat.phases.save_begins()
            began = time.perf_counter()
            try:
                return original(*args, **kwargs)
            finally:
                inside = False
                seat.open.checkpoint += time.perf_counter() - began
                seat.phases.save_ends()

        return save

    seat.patches.replace(seat.torch, "save", timed)
