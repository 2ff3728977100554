"""Optimizer updates: the ruler of steps where the loop does not mark them itself.

Uses torch's own global hooks, `register_optimizer_step_pre_hook` and `..._post_hook`. With
several optimizers the first one seen is the ruler; should it stop while another goes on, that one
takes over.
"""

import sys
import time
from typing import Any

from ..patches import BowOutError
from . import gradients, scaling
from .seat import Seat

_TAKES_OVER = 20
"""Updates of another optimizer in a row, without one of the ruler."""


def install(seat: Seat) -> None:
    """Time every update; end a step with each of the ruler's."""
    # torch.optim hides the module that holds them behind nothing but its classes' __module__.
    kind = getattr(seat.torch.optim, "Optimizer", None)
    module = sys.modules.get(getattr(kind, "__module__", ""))
    before = getattr(module, "register_optimizer_step_pre_hook", None)
    after = getattr(module, "register_optimizer_step_post_hook", None)
    if before is None or after is None:
        raise BowOutError("torch.optim.optimizer has no global step hooks")
    outer: Any = None
    began = 0.0
    strangers = 0

    def begins(optimizer: Any, _args: Any, _kwargs: Any) -> None:
        nonlocal outer, began, strangers
        if seat.away():
            return
        try:
            # One inside another is part of it; the same again means that its last update raised.
            if outer is not None and outer is not optimizer:
                return
            outer = optimizer
            if not seat.timeline.begun:
                seat.timeline.begin_first()
            if seat.ruler is not optimizer:
                strangers += 1
                if seat.ruler is None or strangers > _TAKES_OVER:
                    seat.ruler = optimizer
                    gradients.watch_local(seat, optimizer)
            if seat.ruler is optimizer:
                strangers = 0
                gradients.check_norm(seat, optimizer)
            if seat.device is not None:
                seat.device.mark("optimizer")
            began = time.perf_counter()
        except Exception:  # noqa: BLE001  the edge of the job
            seat.failed()

    def ends(optimizer: Any, _args: Any, _kwargs: Any) -> None:
        nonlocal outer
        if seat.away() or outer is not optimizer:
            return
        try:
            outer = None
            seat.updated = True
            seat.timeline.open.optimizer += time.perf_counter() - began
            if seat.device is not None:
                seat.device.mark("stepped")
            if seat.is_ruler(optimizer):
                seat.update_ended()
        except Exception:  # noqa: BLE001  the edge of the job
            seat.failed()

    seat.undo.append(before(begins).remove)
    seat.undo.append(after(ends).remove)
    if seat.ruler is not None:
        gradients.watch_local(seat, seat.ruler)


def close(seat: Seat) -> None:
    """Add to the step that is about to end what only its end shows; called by the watch."""
    ruler = seat.ruler
    if ruler is not None:
        rate = ruler.param_groups[0].get("lr")
        if type(rate) is float:
            seat.timeline.open.said["training.learning_rate", ""] = (rate, "")
    if seat.scaler is not None:
        scaling.note_scale(seat, seat.scaler())
    seat.clipped = False
    if seat.device is not None:
        seat.device.poll()
        seat.open.late = seat.device.close()
