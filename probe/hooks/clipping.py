"""The gradient norm that the loop computes anyway, to clip by it.

Replaces `torch.nn.utils.clip_grad_norm_` where it is looked up: its result is the norm before
clipping, at every step and at no cost, which no hook of torch provides.
"""

from typing import Any

from ..patches import Function
from . import gradients
from .context import HookContext


def install(context: HookContext) -> None:
    """Keep what clip_grad_norm_ returns."""

    def kept(original: Function) -> Function:
        def clip_grad_norm_(*args: Any, **kwargs: Any) -> Any:
            norm = original(*args, **kwargs)
            if not context.inactive():
                try:
                    gradients.keep_norm(context, norm)
                    context.clipped = True
                except Exception:  # noqa: BLE001  the edge of the job
                    context.failed()
            return norm

        return clip_grad_norm_

    utils = context.torch.nn.utils
    context.patches.replace(utils, "clip_grad_norm_", kept)
