"""Optimizer updates: they end the steps where the loop does not mark them itself.

Uses torch's own global hooks, `register_optimizer_step_pre_hook` and `..._post_hook`. With
several optimizers the first one seen is the step optimizer, whose updates are the steps; should it
stop while another goes on, that one takes over.
"""

import sys
from typing import Any

from ..patches import UnsupportedError
from ..timeline import Span
from . import gradients, scaling
from .context import HookContext

_TAKES_OVER = 20
"""Updates of another optimizer in a row, without one of the step optimizer."""


def install(context: HookContext) -> None:
    """Time every update; end a step with each of the step optimizer's."""
    # torch.optim hides the module that holds them behind nothing but its classes' __module__.
    kind = getattr(context.torch.optim, "Optimizer", None)
    module = sys.modules.get(getattr(kind, "__module__", ""))
    before = getattr(module, "register_optimizer_step_pre_hook", None)
    after = getattr(module, "register_optimizer_step_post_hook", None)
    if before is None or after is None:
        raise UnsupportedError("torch.optim.optimizer has no global step hooks")
    outer: Any = None
    span: Span | None = None
    strangers = 0

    def begins(optimizer: Any, args: Any, kwargs: Any) -> None:
        nonlocal outer, span, strangers
        if context.inactive():
            return
        try:
            # One inside another is part of it; the same again means that its last update raised.
            if outer is not None and outer is not optimizer:
                return
            outer = optimizer
            if not context.timeline.begun:
                context.timeline.begin_first()
            if context.step_optimizer is not optimizer:
                strangers += 1
                if context.step_optimizer is None or strangers > _TAKES_OVER:
                    context.step_optimizer = optimizer
                    gradients.watch_local(context, optimizer)
            if context.step_optimizer is optimizer:
                strangers = 0
                gradients.check_norm(context, optimizer)
            if context.device is not None:
                context.device.mark("optimizer")
            if len(args) > 1 or kwargs.get("closure") is not None:
                context.timeline.work_begins()  # the closure runs forward and backward in here
            span = Span(context.open)
        except Exception:  # noqa: BLE001  the edge of the job
            context.failed()

    def ends(optimizer: Any, _args: Any, _kwargs: Any) -> None:
        nonlocal outer
        if context.inactive() or outer is not optimizer:
            return
        try:
            outer = None
            context.updated = True
            if span is not None:
                context.open.optimizer += span.seconds(context.open)
            if context.device is not None:
                context.device.mark("stepped")
            if context.is_step_optimizer(optimizer):
                context.update_ended()
            else:
                context.timeline.work_begins()
        except Exception:  # noqa: BLE001  the edge of the job
            context.failed()

    context.undo.append(before(begins).remove)
    context.undo.append(after(ends).remove)
    if context.step_optimizer is not None:
        gradients.watch_local(context, context.step_optimizer)


def close(context: HookContext) -> None:
    """Add to the step that is about to end what only its end shows; called by the watch."""
    step_optimizer = context.step_optimizer
    if step_optimizer is not None:
        rate = step_optimizer.param_groups[0].get("lr")
        if type(rate) is float:
            context.timeline.open.values["training.learning_rate", ""] = (rate, "")
    if context.local_check is not None:
        context.local_check.rest()
    if context.scaler is not None:
        scaling.note_scale(context, context.scaler())
    context.clipped = False
    if context.device is not None:
        context.device.poll()
        context.open.residual = True
        context.open.late = context.device.close()
