"""Gradients by parameter, in steps whose gradient norm is not finite or far above the usual one.

Looked at where the loop clips (before it multiplies them), or where the probe computes a norm
itself: at other moments nobody knows that the step is suspicious. On the CPU alone: on a device the
norm of a step is known a step later, when its gradients are gone.
"""

import math
import time
from collections.abc import Iterable
from typing import Any

from ..budgets import LAYERS_SHARE, TimeBudget
from ..patches import Function, UnsupportedLibraryError
from ..step_record import LayerGradient
from .context import HookContext

TIMES, FEWEST = 3.0, 16
"""Times the usual norm from which on a step is looked at, after so many norms."""
_SLOWLY = 0.05


class LayerGradients:
    """Judges the norms of the steps, in their order."""

    def __init__(self) -> None:
        self._budget = TimeBudget(LAYERS_SHARE)
        self._usual = 0.0
        self._norms = 0

    def suspicious(self, norm: float) -> bool:
        """Return whether a norm is worth a look, and keep it where it is usual."""
        if math.isfinite(norm) and (self._norms < FEWEST or norm <= TIMES * self._usual):
            share = max(_SLOWLY, 1 / (self._norms + 1))
            self._usual += (norm - self._usual) * share
            self._norms += 1
            return False
        return self._budget.due()

    def look(self, context: HookContext, parameters: Iterable[Any]) -> None:
        """Keep norm and largest element of each gradient for the step in progress."""
        began = time.perf_counter()
        torch, model = context.torch, context.model
        named = model.named_parameters() if model is not None else ()
        names = {id(parameter): name for name, parameter in named}
        found: list[LayerGradient] = []
        with torch.no_grad():
            for place, parameter in enumerate(parameters):
                grad = parameter.grad
                if type(grad) is not torch.Tensor or grad.layout is not torch.strided:
                    continue
                if grad.device.type != "cpu" or not grad.numel():
                    return
                # Squares of what single precision holds fit into double precision.
                norm = float(torch.linalg.vector_norm(grad, 2.0, dtype=torch.float64))
                bad = 0 if math.isfinite(norm) else int((~torch.isfinite(grad)).sum())
                largest = float(torch.linalg.vector_norm(grad, math.inf))
                name = names.get(id(parameter), f"parameter-{place}")
                found.append(LayerGradient(name, norm, largest, bad))
        context.open.layers = found
        self._budget.spent(time.perf_counter() - began)


def install(context: HookContext) -> None:
    """Look at the gradients of suspicious steps before torch clips them.

    Replaces `torch.nn.utils.clip_grad._clip_grads_with_norm_`, which is private: when the public
    function returns, gradients are multiplied already, by zero where their norm is infinite.
    """
    context.layers = LayerGradients()
    module = getattr(context.torch.nn.utils, "clip_grad", None)
    if module is None:
        raise UnsupportedLibraryError("torch.nn.utils.clip_grad is not there")

    def seen(original: Function) -> Function:
        def _clip_grads_with_norm_(
            parameters: Any, max_norm: Any, total_norm: Any, *args: Any, **kwargs: Any
        ) -> Any:
            if not context.inactive():
                try:
                    if isinstance(parameters, list) and is_suspicious(context, total_norm):
                        context.layers.look(context, parameters)
                except Exception:  # noqa: BLE001  the edge of the job
                    context.failed()
            return original(parameters, max_norm, total_norm, *args, **kwargs)

        return _clip_grads_with_norm_

    context.patches.replace(module, "_clip_grads_with_norm_", seen)


def is_suspicious(context: HookContext, norm: Any) -> bool:
    """Tell whether a norm is worth a look at its gradients: a tensor on the CPU, and unusual."""
    if type(norm) is not context.torch.Tensor or norm.device.type != "cpu":
        return False
    return bool(context.layers.suspicious(float(norm)))
