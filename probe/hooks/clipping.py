"""The gradient norm that the loop computes anyway, to clip by it.

Replaces `torch.nn.utils.clip_grad_norm_` where it is looked up: its result is the norm before
clipping, at every step and at no cost, which no hook of torch tells.
"""

from typing import Any

from ..patches import Function
from . import gradients
from .seat import Seat


def install(seat: Seat) -> None:
    """Keep what clip_grad_norm_ returns."""

    def kept(original: Function) -> Function:
        def clip_grad_norm_(*args: Any, **kwargs: Any) -> Any:
            norm = original(*args, **kwargs)
            if not seat.away():
                try:
                    gradients.keep_norm(seat, norm)
                    seat.clipped = True
                except Exception:  # noqa: BLE001  the edge of the job
                    seat.failed()
            return norm

        return clip_grad_norm_

    utils = seat.torch.nn.utils
    seat.patches.replace(utils, "clip_grad_norm_", kept)
