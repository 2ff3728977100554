"""Gradients: their norm before the update, and whether this rank's own were finite.

Sampled so that the checks stay below a share of the time (`budgets`), at every step for a while
after a value that was not finite. After a reduction every rank has the same NaN; only the local
check, on one small parameter near the input whose gradient comes last, shows whose it was. A
NaN that arises in another layer and does not flow back to that one is not seen by it.
"""

import math
import time
from typing import Any

from . import layers
from .context import HookContext, reference

_NEAR_INPUT = 8
"""Parameters looked at for a small one: the first ones are nearest to the input."""
_SMALL = 65_536
"""Elements: below this a check costs less than asking whether to make it."""


def check_norm(context: HookContext, optimizer: Any) -> None:
    """Compute the norm of all gradients of an optimizer; none where this rank has a part of one."""
    # A fused optimizer unscales inside its own update: its gradients are still multiplied.
    if getattr(optimizer, "grad_scale", None) is not None:
        return
    began = time.perf_counter()
    torch = context.torch
    grads = [
        grad
        for group in optimizer.param_groups
        for grad in (parameter.grad for parameter in group["params"])
        if grad is not None
    ]
    if grads and all(
        type(grad) is torch.Tensor
        and grad.layout is torch.strided
        and grad.device == grads[0].device
        for grad in grads
    ):
        reader = context.reader(grads[0])
        if reader is not None:
            reader.mark("checking")
        with torch.no_grad():
            half = grads[0].dtype in (torch.float16, torch.bfloat16)
            norms = torch._foreach_norm(grads, 2.0, *([torch.float32] if half else []))  # noqa: SLF001
            norm = torch.linalg.vector_norm(torch.stack(norms))
            keep_norm(context, norm, grads)
        if context.layers is not None and layers.is_suspicious(context, norm):
            looked_at = (one for group in optimizer.param_groups for one in group["params"])
            context.layers.look(context, looked_at)
        if reader is not None:
            reader.mark("checked")
            context.norm_budget.spent(reader.check_seconds)
            reader.check_seconds = 0.0
    context.norm_budget.spent(time.perf_counter() - began)


def keep_norm(
    context: HookContext, norm: Any, grads: list[Any] | None = None, *, scope: str | None = None
) -> None:
    """Keep a norm for this step; where it is not finite, count the elements that are not."""
    if not isinstance(norm, context.torch.Tensor):
        return
    if type(norm) is not context.torch.Tensor:
        norm, scope = held_whole(norm), "global"
        if norm is None:
            return  # this rank has a part of it: reading the whole would start a collective
    if scope is None:
        scope = "global" if context.replicated else "" if context.distributed() else "local"
    if norm.device.type == "cpu":
        value = float(norm.detach().item())
        context.open.set("training.grad_norm", value, scope=scope)
        if not math.isfinite(value):
            context.alarm()
            count = sum(_non_finite(context, grad) for grad in grads or ())
            of = "grad_local" if scope == "local" else "grad_reduced"
            context.open.set("training.nonfinite", float(count), of=of)
    elif (reader := context.reader(norm)) is not None:
        reader.keep("training.grad_norm", norm, scope=scope)


def held_whole(norm: Any) -> Any:
    """Return the plain tensor of a distributed one that every rank holds whole, else None.

    Behind `fully_shard` `clip_grad_norm_` gives one that it has reduced already (torch 2.13), but
    for the largest element (`norm_type=inf`), of which each rank holds its own part.
    """
    placements = getattr(norm, "placements", ())
    if not placements or not all(one.is_replicate() for one in placements):
        return None
    return norm.detach().to_local()


def watch_local(context: HookContext, optimizer: Any) -> None:
    """Hang a hook on one small early parameter: its gradient before any reduction.

    It is the one call of a backward pass into the probe: the check, where it is due, and where
    the wait for peers begins (`backward`). It stays: to add and remove one costs more than all
    that it does.
    """
    parameter = _small_early(context, optimizer)
    if parameter is None:
        return
    budget, compiling, clock = context.local_budget, context.compiling, time.perf_counter

    def look(grad: Any) -> None:
        if compiling():
            return
        try:
            context.gradient_seen()
            if context.sketch is not None:
                context.sketch.add(context.torch, grad)
            if (budget.insisted or clock() >= budget.next) and budget.due():
                _look(context, grad)
        except Exception:  # noqa: BLE001  the edge of the job
            context.failed()

    # Said to be unserializable, it is left out silently when the parameter is saved or copied.
    hook = context.torch.utils.hooks.unserializable_hook(look)
    handle = parameter.register_hook(hook)
    context.gradient_hooked = True
    context.sketched = reference(parameter)
    before, context.gradient_hook = context.gradient_hook, handle
    if before is not None:
        before.remove()
    context.undo.append(handle.remove)


def _small_early(context: HookContext, optimizer: Any) -> Any:
    model = context.model
    if model is not None:
        parameters = list(model.parameters())
    else:
        parameters = [each for group in optimizer.param_groups for each in group["params"]]
    early = [
        each
        for each in parameters[:_NEAR_INPUT]
        if each.requires_grad and each.is_leaf and each.is_floating_point() and each.numel()
    ]
    smallest = min(early, key=lambda each: each.numel(), default=None)
    return next((each for each in early if each.numel() <= _SMALL), smallest)


def _look(context: HookContext, grad: Any) -> None:
    if type(grad) is not context.torch.Tensor or grad.layout is not context.torch.strided:
        return
    began = time.perf_counter()
    with context.torch.no_grad():
        if grad.device.type == "cpu":
            count = _non_finite(context, grad)
            if count:
                context.open.set("training.nonfinite", float(count), of="grad_local")
                context.alarm()
        elif (reader := context.reader(grad)) is not None:
            largest = context.torch.linalg.vector_norm(grad, math.inf)
            reader.keep("training.nonfinite", largest, of="grad_local")
    context.local_budget.spent(time.perf_counter() - began)


def _non_finite(context: HookContext, grad: Any) -> int:
    """Return how many elements of a CPU tensor are NaN or infinite."""
    if math.isfinite(grad.sum().item()):
        return 0  # one pass; a sum that overflows is looked at again
    return int(grad.numel() - int(context.torch.isfinite(grad).sum().item()))
