"""Optimizer updates: they end the steps where the loop does not mark them itself.

Uses torch's own global hooks, `register_optimizer_step_pre_hook` and `..._post_hook`. With
several optimizers the first one seen is the step optimizer, whose updates are the steps; should it
stop while another goes on, that one takes over.
"""

import ctypes
import sys
import time
from collections.abc import Callable
from typing import Any

from .. import gradient_sketch, weights
from ..gradient_sketch import GradientSketch
from ..patches import UnsupportedLibraryError
from ..step_record import StepState
from . import gradients, scaling
from .context import TAKES_OVER, HookContext, reference


def install(context: HookContext) -> None:
    """Time every update; end a step with each of the step optimizer's."""
    # torch.optim hides the module that holds them behind nothing but its classes' __module__.
    kind = getattr(context.torch.optim, "Optimizer", None)
    module = sys.modules.get(getattr(kind, "__module__", ""))
    before = getattr(module, "register_optimizer_step_pre_hook", None)
    after = getattr(module, "register_optimizer_step_post_hook", None)
    if before is None or after is None:
        raise UnsupportedLibraryError("torch.optim.optimizer has no global step hooks")
    timeline, compiling, clock = context.timeline, context.compiling, time.perf_counter
    checks = context.norm_budget
    outer: Any = None
    began = counted = 0.0
    strangers = 0

    def begins(optimizer: Any, args: Any, kwargs: Any) -> None:
        nonlocal outer, began, counted, strangers
        if not context.active:
            return
        if compiling():
            context.traced_update = True
            return
        try:
            # One inside another is part of it; the same again means that its last update raised.
            if outer is not None and outer is not optimizer:
                if context.is_step_optimizer(outer):
                    context.inner_optimizer = reference(optimizer)
                return
            outer = optimizer
            if not timeline.begun:
                timeline.begin_first()
            known = context.step_optimizer_reference()
            if known is not optimizer:
                context.several_optimizers = known is not None
                strangers += 1
                if known is None or strangers > TAKES_OVER:
                    context.step_optimizer = known = optimizer
                    _note_first(context, optimizer)
                    gradients.watch_local(context, optimizer)
            if known is optimizer:
                strangers = 0
                asked = checks.insisted or clock() >= checks.next
                if asked and not context.clipped and checks.due():
                    gradients.check_norm(context, optimizer)
            if context.device is not None:
                context.device.mark("optimizer")
            if len(args) > 1 or kwargs.get("closure") is not None:
                timeline.work_begins()  # the closure runs forward and backward in here
            counted, began = timeline.open.counted, clock()
        except Exception:  # noqa: BLE001  the edge of the job
            context.failed()

    def ends(optimizer: Any, _args: Any, _kwargs: Any) -> None:
        nonlocal outer
        if outer is not optimizer:  # nothing began: it is detached, or torch traces this
            return
        try:
            outer = None
            context.updated = True
            step = timeline.open
            own = clock() - began - (step.counted - counted)
            if own > 0.0:
                step.optimizer += own
                step.counted += own
            if context.device is not None:
                context.device.mark("stepped")
            if context.step_optimizer_reference() is not optimizer:
                timeline.work_begins()
            elif not timeline.explicit:
                context.traced_update = False
                context.visible_updates = TAKES_OVER
                context.steps.end_step()
        except Exception:  # noqa: BLE001  the edge of the job
            context.failed()

    context.undo.append(before(begins).remove)
    context.undo.append(after(ends).remove)
    if context.step_optimizer is not None:
        gradients.watch_local(context, context.step_optimizer)


def _note_first(context: HookContext, optimizer: Any) -> None:
    """Keep a digest of the weights before the first update of a job of several processes.

    Ranks that begin with the very same weights are replicas, though no wrapper says so.
    """
    if context.timeline.batches.on and context.distributed() and context.replica() is None:
        context.first_weights = weights.whole(
            weights.summed(context.torch, _named(context, optimizer))
        )


def closer(context: HookContext, on_device: Callable[[], None]) -> Callable[[], None]:
    """Return what adds to a step that is about to end what only its end shows.

    Called by the watch; `on_device` is called first where the job computes on a device.
    """
    timeline = context.timeline

    def close() -> None:
        device = context.device
        if device is not None:
            on_device()
        step, step_optimizer = timeline.open, context.step_optimizer_reference()
        if step_optimizer is not None:
            rate = step_optimizer.param_groups[0].get("lr")
            if type(rate) is float:
                step.values["training.learning_rate", ""] = (rate, "")
            if timeline.batches.due(timeline.index + 1):
                step.state = _state(context, step_optimizer)
            # Of one pass a step there is nothing to add up.
            several = timeline.batches.passes > 1 and timeline.batches.due(timeline.index + 2)
            context.sketch = GradientSketch() if several else None
        if context.scaler is not None:
            scaling.note_scale(context, context.scaler())
        context.clipped = False
        device = context.device  # the scale may be the first tensor on one
        if device is not None:
            device.poll()
            step.residual = True
            step.late = device.close()

    return close


def _state(context: HookContext, optimizer: Any) -> StepState:
    inner = context.inner_optimizer()
    kept = optimizer.state or (inner.state if inner is not None else {})
    first = next(iter(kept.values()), None)
    count: Any = first.get("step") if isinstance(first, dict) else None
    if isinstance(count, context.torch.Tensor):
        count = count.item() if count.device.type == "cpu" else None
    random = context.torch.get_rng_state()
    found = StepState(
        # Nothing kept although updates were made: it begins anew at its next one.
        updates=0 if not kept else -1 if count is None else int(count),
        random=ctypes.string_at(random.data_ptr(), random.numel()),
        moments=weights.moments(context.torch, kept),
    )
    _add_weights(context, optimizer, found)
    _add_sketch(context, found)
    return found


def _add_weights(context: HookContext, optimizer: Any, found: StepState) -> None:
    torch, replica = context.torch, context.replica()
    if replica is not None:
        found.weights, found.replicas = weights.take(torch, replica)
    elif context.distributed():
        named = _named(context, optimizer)
        found.weights, found.replicas = weights.of_shards(torch, named)
        if context.first_weights and not found.weights:
            found.weights = weights.summed(torch, named)
            found.began_with = context.first_weights
            found.gradients = weights.whole(
                weights.summed(
                    torch, ((n, p.grad) for n, p in named if p.grad is not None), weights.FEW
                )
            )


def _add_sketch(context: HookContext, found: StepState) -> None:
    sketch, parameter = context.sketch, context.sketched()
    if sketch is None or sketch.passes < 2 or parameter is None or context.several_optimizers:
        return
    used = gradient_sketch.sums(context.torch, parameter.grad)
    if used is not None:
        texts = map(gradient_sketch.text, (sketch.total, sketch.newest, used))
        found.passes, found.sketch = sketch.passes, tuple(texts)


def _named(context: HookContext, optimizer: Any) -> list[tuple[str, Any]]:
    """Return the parameters of an optimizer by name, by their place where nobody knows names."""
    model = context.model
    names = {id(one): name for name, one in model.named_parameters()} if model is not None else {}
    parameters = [one for group in optimizer.param_groups for one in group["params"]]
    return [(names.get(id(one), f"parameter-{n}."), one) for n, one in enumerate(parameters)]
